//! Trigger types: those that KEDA has and Kedge does not, and those that nobody has.

use kedge_api::trigger::Trigger;
use kedge_scalers::Registry;

use super::trigger_path;
use crate::finding::{Finding, Rule, Severity};
use crate::nearest::nearest;

pub static TYPE_UNSUPPORTED: Rule = Rule {
    id: "trigger-type-unsupported",
    severity: Severity::Warning,
    about: "KEDA has this trigger type, but Kedge does not yet: the object will not be ready",
    counted_as: None,
};

pub static TYPE_UNKNOWN: Rule = Rule {
    id: "trigger-type-unknown",
    severity: Severity::Warning,
    about: "there is no such trigger type: the object will not be ready",
    counted_as: None,
};

pub fn check(triggers: &[Trigger]) -> Vec<Finding> {
    let lacking = triggers.iter().enumerate().filter(|(_, trigger)| !Registry::supports(&trigger.r#type));
    lacking.map(|(index, trigger)| warn(index, &trigger.r#type)).collect()
}

fn warn(index: usize, kind: &str) -> Finding {
    let known: Vec<_> = Registry::kinds().collect();
    let path = trigger_path(index).key("type");
    if KEDA.binary_search(&kind).is_ok() {
        let problem = format!("the trigger type {kind:?} of KEDA is not supported yet, and this trigger will not work");
        let remedy = format!("Kedge has {}; `external` can ask anything", known.join(", "));
        return Finding::new(&TYPE_UNSUPPORTED, path, problem, remedy);
    }
    // KEDA: the words of its operator for this.
    let problem = format!("no scaler found for type: {kind:?}");
    let remedy = match nearest(kind, KEDA.iter().copied()) {
        Some(near) => format!("write {near}"),
        None => format!("use one of {}", known.join(", ")),
    };
    Finding::new(&TYPE_UNKNOWN, path, problem, remedy)
}

/// Every trigger type of KEDA v2.21, in order.
const KEDA: &[&str] = &[
    "activemq",
    "apache-kafka",
    "arangodb",
    "artemis-queue",
    "aws-cloudwatch",
    "aws-dynamodb",
    "aws-dynamodb-streams",
    "aws-kinesis-stream",
    "aws-sqs-queue",
    "azure-app-insights",
    "azure-blob",
    "azure-data-explorer",
    "azure-eventhub",
    "azure-log-analytics",
    "azure-monitor",
    "azure-pipelines",
    "azure-queue",
    "azure-servicebus",
    "beanstalkd",
    "cassandra",
    "clickhouse",
    "couchdb",
    "cpu",
    "cron",
    "datadog",
    "dynatrace",
    "elastic-forecast",
    "elasticsearch",
    "etcd",
    "external",
    "external-mock",
    "external-push",
    "forgejo-runner",
    "gcp-cloudtasks",
    "gcp-pubsub",
    "gcp-spanner",
    "gcp-stackdriver",
    "gcp-storage",
    "github-runner",
    "graphite",
    "huawei-cloudeye",
    "ibmmq",
    "influxdb",
    "kafka",
    "kubernetes-resource",
    "kubernetes-workload",
    "liiklus",
    "loki",
    "memory",
    "metrics-api",
    "mongodb",
    "mssql",
    "mysql",
    "nats-jetstream",
    "new-relic",
    "nsq",
    "opensearch",
    "openstack-metric",
    "openstack-swift",
    "postgresql",
    "predictkube",
    "prometheus",
    "pulsar",
    "rabbitmq",
    "redis",
    "redis-cluster",
    "redis-cluster-streams",
    "redis-sentinel",
    "redis-sentinel-streams",
    "redis-streams",
    "selenium-grid",
    "solace-direct-messaging",
    "solace-event-queue",
    "solarwinds",
    "solr",
    "splunk",
    "splunk-observability",
    "sumologic",
    "temporal",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_holds_what_kedge_has() {
        assert!(KEDA.is_sorted());
        for kind in Registry::kinds() {
            assert!(KEDA.contains(&kind), "{kind}");
        }
    }

    #[test]
    fn a_type_is_supported_or_missing_or_unknown() {
        let rows = [
            ("cron", None, ""),
            ("kafka", Some(&TYPE_UNSUPPORTED), "`external` can ask anything"),
            ("telepathy", Some(&TYPE_UNKNOWN), "use one of cpu, cron"),
            ("Cron", Some(&TYPE_UNKNOWN), "write cron"),
            (" kafka", Some(&TYPE_UNKNOWN), "write kafka"),
            ("promethues", Some(&TYPE_UNKNOWN), "write prometheus"),
            ("", Some(&TYPE_UNKNOWN), "use one of"),
        ];
        for (kind, rule, remedy) in rows {
            let trigger = Trigger { r#type: kind.to_owned(), ..super::super::tests::cron() };
            let found = check(&[trigger]);
            assert_eq!(found.first().map(|finding| finding.rule), rule, "{kind}");
            assert!(found.iter().all(|finding| finding.remedy.contains(remedy)), "{kind}: {found:?}");
        }
    }
}
