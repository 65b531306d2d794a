//! Every trigger type of KEDA, with what it cannot do without: `tests/golden/keda-scalers.json` lists type by type the parameters
//! that KEDA requires, and whether they are given by the trigger or by an authentication.

use std::collections::BTreeMap;

use kedge_scalers::{keda, registry};
use kedge_webhooks::violation::Severity;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{lint, workspace};

#[derive(Debug, Deserialize)]
struct Parameter {
    name: String,
    from: Source,
    r#type: String,
    #[serde(default)]
    allowed: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    Metadata,
    Authentication,
    Environment,
}

const REDIS: &[(&str, &str)] =
    &[("address", "redis:6379"), ("addresses", ""), ("host", "redis"), ("hosts", ""), ("port", "6379"), ("ports", "")];

/// Values that are read by Kedge, where any will not do; and what it requires although KEDA's list does not say so.
const VALUES: &[(&str, &[(&str, &str)])] = &[
    ("cpu", &[("value", "50")]),
    ("memory", &[("value", "50")]),
    ("cron", &[("timezone", "UTC"), ("start", "0 8 * * *"), ("end", "0 9 * * *"), ("desiredReplicas", "2")]),
    ("external", &[("scalerAddress", "scaler:6000")]),
    ("external-push", &[("scalerAddress", "scaler:6000")]),
    ("kubernetes-workload", &[("podSelector", "app=web"), ("value", "2")]),
    ("metrics-api", &[("url", "https://shop.example.com/queue"), ("valueLocation", "waiting"), ("targetValue", "5")]),
    (
        "aws-cloudwatch",
        &[
            ("expression", "SELECT MAX(depth) FROM shop"),
            ("targetMetricValue", "5"),
            ("minMetricValue", "0"),
            ("awsRegion", "eu-west-1"),
        ],
    ),
    ("aws-sqs-queue", &[("queueURL", "orders"), ("awsRegion", "eu-west-1")]),
    ("apache-kafka", &[("bootstrapServers", "kafka:9092")]),
    ("kafka", &[("bootstrapServers", "kafka:9092")]),
    ("kubernetes-resource", &[("targetValue", "5")]),
    ("mysql", &[("query", "SELECT 1"), ("queryValue", "5"), ("host", "mysql.shop"), ("port", "3306")]),
    ("nats-jetstream", &[("natsServerMonitoringEndpoint", "nats.queues:8222"), ("account", "$G")]),
    (
        "postgresql",
        &[
            ("host", "db.shop"),
            ("port", "5432"),
            ("userName", "worker"),
            ("dbName", "shop"),
            ("sslmode", "verify-full"),
            ("targetQueryValue", "5"),
        ],
    ),
    ("rabbitmq", &[("host", "amqp://rabbitmq:5672/shop")]),
    ("redis", REDIS),
    ("redis-cluster", REDIS),
    ("redis-cluster-streams", REDIS),
    ("redis-sentinel", REDIS),
    ("redis-sentinel-streams", REDIS),
    ("redis-streams", REDIS),
    ("prometheus", &[("serverAddress", "https://prometheus:9090"), ("query", "up"), ("threshold", "5")]),
];

fn value(kind: &str, parameter: &Parameter) -> String {
    let own = VALUES.iter().find(|(known, _)| *known == kind).and_then(|(_, values)| {
        values.iter().find(|(name, _)| *name == parameter.name).map(|(_, value)| (*value).to_owned())
    });
    let any = match parameter.r#type.as_str() {
        _ if !parameter.allowed.is_empty() => parameter.allowed[0].clone(),
        "string" => "value".to_owned(),
        _ => "1".to_owned(),
    };
    own.unwrap_or(any)
}

/// A ScaledObject with such a trigger, and the authentication that it needs.
fn manifests(kind: &str, parameters: &[Parameter]) -> String {
    let named = |source: Source| parameters.iter().filter(move |parameter| parameter.from == source);
    let mut metadata: Map<String, Value> =
        named(Source::Metadata).map(|one| (one.name.clone(), value(kind, one).into())).collect();
    metadata.extend(named(Source::Environment).map(|one| (format!("{}FromEnv", one.name), "VARIABLE".into())));
    let more = VALUES.iter().filter(|(known, _)| *known == kind).flat_map(|(_, values)| *values);
    more.for_each(|(name, value)| {
        metadata.insert((*name).to_owned(), (*value).into());
    });
    let metric_type = if ["cpu", "memory"].contains(&kind) { "Utilization" } else { "AverageValue" };
    let mut trigger = json!({ "type": kind, "metricType": metric_type, "metadata": metadata });
    let secrets: Vec<Value> = named(Source::Authentication)
        .map(|one| json!({ "parameter": one.name, "name": "credentials", "key": one.name }))
        .collect();
    if !secrets.is_empty() {
        trigger["authenticationRef"] = json!({ "name": "credentials" });
    }
    let object = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" },
        "spec": { "scaleTargetRef": { "name": "web" }, "minReplicaCount": 1, "maxReplicaCount": 5, "triggers": [trigger] },
    });
    let authentication = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "credentials" },
        "spec": { "secretTargetRef": secrets },
    });
    format!("{object}\n---\n{authentication}\n")
}

#[test]
fn every_type_of_keda_is_known_and_those_that_lack_are_named() {
    let text = std::fs::read_to_string(workspace("tests/golden/keda-scalers.json")).unwrap();
    let types: BTreeMap<String, Vec<Parameter>> = serde_json::from_str(&text).unwrap();
    assert!(types.len() > 70, "{}", types.len());
    for kind in types.keys() {
        assert!(keda::has_trigger_type(kind), "{kind}");
    }
    let mut wrong = Vec::new();
    for (kind, parameters) in &types {
        let text = manifests(kind, parameters);
        let report = lint(text.as_bytes());
        let meant = |rule: &str| rule != "secret-in-metadata";
        let reported: Vec<&str> = report
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.rule.severity != Severity::Advice && meant(diagnostic.rule.id))
            .map(|diagnostic| diagnostic.rule.id)
            .collect();
        let expected: &[&str] = if registry::find(kind).is_some() { &[] } else { &["unsupported-trigger-type"] };
        if reported != expected {
            let said: Vec<String> = report.diagnostics.iter().map(|diagnostic| diagnostic.message()).collect();
            wrong.push(format!("{kind}: {said:?}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
