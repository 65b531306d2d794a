//! The ScaledObjects that are handed over: 50 in five namespaces, each with its own target, in every state that does
//! not change by itself. Two more are deleted during the takeover, each after a handover.

mod builder;

use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use serde_json::{Value, json};

use self::builder::{MemberBuilder, cron, prometheus, workload};

/// The number of ScaledObjects that are handed over.
pub(crate) const FLEET_SIZE: usize = 50;

/// The prefix of the fleet's namespaces; a number follows.
pub(crate) const NAMESPACE_PREFIX: &str = "team-";

/// The `threshold` of every prometheus trigger: a value of 30 means three replicas.
const THRESHOLD: f64 = 10.0;

/// The objects that are deleted during the takeover.
pub(crate) const DELETED: [&str; 2] = ["deleted-one", "deleted-two"];

/// The replicas that the targets of [`DELETED`] are created with.
pub(crate) const ORIGINAL_REPLICAS: i64 = 2;

const AUTHORIZATION: &str = "Bearer takeover";

/// A ScaledObject with its target, and the state that both are expected to have.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) target_kind: &'static str,
    /// The replicas of the target for the current load.
    pub(crate) expected_replicas: i64,
    /// The status of the `Ready` condition.
    pub(crate) expected_ready: &'static str,
    /// Whether its triggers are polled; those of paused objects are not.
    pub(crate) is_polled: bool,
    objects: Vec<Value>,
    responses: Vec<(String, SourceResponse)>,
    /// The `Authorization` header that its source requires.
    authorization: Option<&'static str>,
}

impl Member {
    /// Returns `namespace/name`.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Returns all objects to create.
    pub(crate) fn objects(&self) -> &[Value] {
        &self.objects
    }

    pub(crate) fn set_initial_responses(&self, source: &HttpSource) {
        for (query, response) in &self.responses {
            source.set(query, response.clone());
            if let Some(authorization) = self.authorization {
                source.protect(query, authorization);
            }
        }
    }

    /// Returns the response with the load for this many replicas.
    pub(crate) fn load_for(replicas: u32) -> SourceResponse {
        SourceResponse::Value(f64::from(replicas) * THRESHOLD)
    }
}

/// Builds all members. The metric source is at `url`.
pub(crate) fn build_members(url: &str) -> Vec<Member> {
    let mut builders = Vec::new();
    for (index, replicas) in [1, 1, 2, 2, 3, 3, 3, 5, 5, 10].into_iter().enumerate() {
        let spec = json!({ "minReplicaCount": index % 2, "maxReplicaCount": 20, "pollingInterval": 5 });
        builders.push(with_load(url, &format!("steady-{replicas}-{index}"), replicas).spec(spec));
    }
    for index in 0..8 {
        builders.push(without_load(url, &format!("at-zero-{index}")).spec(json!({ "pollingInterval": 5 + index })));
    }
    builders.extend(inactive(url));
    builders.extend(paused(url));
    builders.extend(with_failing_sources(url));
    builders.extend(with_hpa_configs(url));
    builders.extend(with_formulas(url));
    builders.extend(with_credentials(url));
    builders.extend(with_other_triggers(url));
    let restore = json!({ "advanced": { "restoreToOriginalReplicaCount": true } });
    let deleted = |name: &str| with_load(url, name, 4).initial_replicas(ORIGINAL_REPLICAS).spec(restore.clone());
    builders.extend(DELETED.map(deleted));
    let build = |(index, builder): (usize, MemberBuilder)| builder.build(&format!("{NAMESPACE_PREFIX}{}", index % 5));
    builders.into_iter().enumerate().map(build).collect()
}

/// Builds the namespaces, and a ClusterTriggerAuthentication with its Secret.
pub(crate) fn build_shared_objects() -> Value {
    let mut items: Vec<Value> = (0..5).map(|index| namespace(&format!("{NAMESPACE_PREFIX}{index}"))).collect();
    items.push(secret("cluster-wide", "keda"));
    items.push(authentication("ClusterTriggerAuthentication", "cluster-wide"));
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

fn inactive(url: &str) -> Vec<MemberBuilder> {
    let mut builders = Vec::new();
    for index in 0..3 {
        let with_idle = json!({ "idleReplicaCount": 0, "minReplicaCount": 2, "maxReplicaCount": 6 });
        builders.push(without_load(url, &format!("idle-{index}")).spec(with_idle));
        let with_minimum = json!({ "minReplicaCount": 2, "maxReplicaCount": 6 });
        builders.push(without_load(url, &format!("at-minimum-{index}")).expected_replicas(2).spec(with_minimum));
    }
    // Their load is removed after all objects are settled; the cooldown period is longer than the takeover.
    for index in 0..2 {
        let long_cooldown = json!({ "cooldownPeriod": 3600, "pollingInterval": 5 });
        builders.push(with_load(url, &cooldown_name(index), 1).spec(long_cooldown));
    }
    builders
}

/// Returns the name of an object that stays in its cooldown period.
pub(crate) fn cooldown_name(index: usize) -> String {
    format!("cooling-down-{index}")
}

fn paused(url: &str) -> Vec<MemberBuilder> {
    let at_four = json!({ "autoscaling.keda.sh/paused-replicas": "4" });
    let at_current = json!({ "autoscaling.keda.sh/paused": "true" });
    let scale_in = json!({ "autoscaling.keda.sh/paused-scale-in": "true" });
    vec![
        with_load(url, "paused-at-four-0", 1).annotations(at_four.clone()).expected_replicas(4).not_polled(),
        without_load(url, "paused-at-four-1").annotations(at_four).expected_replicas(4).not_polled(),
        without_load(url, "paused-at-current")
            .annotations(at_current)
            .initial_replicas(3)
            .expected_replicas(3)
            .not_polled(),
        with_load(url, "paused-scale-in", 1).annotations(scale_in).initial_replicas(5).expected_replicas(5),
    ]
}

fn with_failing_sources(url: &str) -> Vec<MemberBuilder> {
    let fallback = json!({ "fallback": { "failureThreshold": 2, "replicas": 6 }, "pollingInterval": 5 });
    let in_fallback = |name: &str| without_load(url, name).failing_source().expected_replicas(6).spec(fallback.clone());
    vec![
        in_fallback("in-fallback-0"),
        in_fallback("in-fallback-1").initial_replicas(2),
        with_load(url, "fallback-unused", 3).spec(fallback.clone()),
        // KEDA: an object whose only source fails is not ready, and keeps its current replicas.
        without_load(url, "failing-source")
            .failing_source()
            .initial_replicas(3)
            .expected_replicas(3)
            .not_ready()
            .spec(json!({ "pollingInterval": 5 })),
    ]
}

fn with_hpa_configs(url: &str) -> Vec<MemberBuilder> {
    let policy = json!({ "type": "Pods", "value": 1, "periodSeconds": 60 });
    let behavior = json!({ "scaleDown": { "stabilizationWindowSeconds": 30, "policies": [policy] } });
    let hpa_config = |name: &str| json!({ "name": format!("hpa-of-{name}"), "behavior": behavior });
    let spec = |name: &str| json!({ "advanced": { "horizontalPodAutoscalerConfig": hpa_config(name) } });
    let transfer = json!({ "scaledobject.keda.sh/transfer-hpa-ownership": "true" });
    let existing = json!({ "advanced": { "horizontalPodAutoscalerConfig": { "name": "existing-hpa" } } });
    vec![
        with_load(url, "named-hpa-0", 4).spec(spec("named-hpa-0")),
        with_load(url, "named-hpa-1", 2).spec(spec("named-hpa-1")),
        with_load(url, "adopted-hpa", 2)
            .initial_replicas(2)
            .annotations(transfer)
            .spec(existing)
            .object(existing_hpa("adopted-hpa")),
    ]
}

fn with_formulas(url: &str) -> Vec<MemberBuilder> {
    let formula = json!({ "advanced": { "scalingModifiers": { "formula": "one + two", "target": "10" } } });
    let with_formula = |index: u32| {
        let name = format!("formula-{index}");
        let (one, two) = (format!("{name}-one"), format!("{name}-two"));
        let triggers = [("one", &one), ("two", &two)].map(|(trigger, query)| {
            let mut prometheus = prometheus(url, query);
            prometheus["name"] = json!(trigger);
            prometheus
        });
        MemberBuilder::new(&name)
            .triggers(triggers)
            .response(&one, Member::load_for(1))
            .response(&two, Member::load_for(index))
            .spec(formula.clone())
            .expected_replicas(i64::from(index) + 1)
    };
    (1..4).map(with_formula).collect()
}

fn with_credentials(url: &str) -> Vec<MemberBuilder> {
    let with_authentication = |name: &str, kind: &str, authentication: &str| {
        let mut trigger = prometheus(url, name);
        trigger["metadata"]["authModes"] = json!("bearer");
        trigger["authenticationRef"] = json!({ "name": authentication, "kind": kind });
        MemberBuilder::new(name)
            .triggers([trigger])
            .response(name, Member::load_for(3))
            .authorization(AUTHORIZATION)
            .expected_replicas(3)
    };
    let namespaced = |name: &str| {
        let kind = "TriggerAuthentication";
        with_authentication(name, kind, name).object(secret(name, "")).object(authentication(kind, name))
    };
    vec![
        namespaced("authenticated-0"),
        namespaced("authenticated-1"),
        with_authentication("authenticated-cluster-wide", "ClusterTriggerAuthentication", "cluster-wide"),
    ]
}

fn with_other_triggers(url: &str) -> Vec<MemberBuilder> {
    let active_cron = cron("0 0 1 1 *", "59 23 31 12 *", 4);
    let inactive_cron = cron("58 23 31 12 *", "59 23 31 12 *", 4);
    let pods = json!({ "type": "kubernetes-workload", "metadata": { "podSelector": "app=counted", "value": "1" } });
    let counted = workload("Deployment", "counted", 3);
    let address = format!("{url}/json/plain-json");
    let plain_json =
        json!({ "type": "metrics-api", "metadata": { "url": address, "valueLocation": "value", "targetValue": "10" } });
    vec![
        MemberBuilder::new("cron-0").triggers([active_cron.clone()]).expected_replicas(4),
        MemberBuilder::new("cron-1").triggers([active_cron.clone()]).expected_replicas(4).initial_replicas(2),
        MemberBuilder::new("cron-inactive").triggers([inactive_cron]).expected_replicas(0),
        MemberBuilder::new("pod-count").triggers([pods]).expected_replicas(3).object(counted),
        MemberBuilder::new("plain-json")
            .triggers([plain_json])
            .response("plain-json", Member::load_for(2))
            .expected_replicas(2),
        with_load(url, "two-triggers", 6).triggers([prometheus(url, "two-triggers"), active_cron]),
        with_load(url, "stateful", 3).target_kind("StatefulSet"),
    ]
}

/// Builds a member whose source returns the load for this many replicas.
fn with_load(url: &str, name: &str, replicas: u32) -> MemberBuilder {
    let builder = MemberBuilder::new(name).triggers([prometheus(url, name)]);
    builder.response(name, Member::load_for(replicas)).expected_replicas(i64::from(replicas))
}

/// Builds a member whose source returns no load.
fn without_load(url: &str, name: &str) -> MemberBuilder {
    with_load(url, name, 0)
}

/// Builds an HPA that a target has before its ScaledObject is created.
fn existing_hpa(target: &str) -> Value {
    let utilization = json!({ "type": "Utilization", "averageUtilization": 80 });
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "existing-hpa" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": target },
            "minReplicas": 1, "maxReplicas": 5,
            "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": utilization } }],
        },
    })
}

fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// Builds a TriggerAuthentication or ClusterTriggerAuthentication that reads the Secret of the same name.
fn authentication(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": kind, "metadata": { "name": name },
        "spec": { "secretTargetRef": [{ "parameter": "bearerToken", "name": name, "key": "token" }] },
    })
}

fn secret(name: &str, namespace: &str) -> Value {
    let token = AUTHORIZATION.trim_start_matches("Bearer ");
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": namespace },
        "stringData": { "token": token },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn fifty_members_with_unique_names_are_handed_over_and_two_more_are_deleted() {
        let members = build_members("http://localhost");
        let deleted = members.iter().filter(|member| DELETED.contains(&member.name.as_str())).count();
        assert_eq!((members.len() - deleted, deleted), (FLEET_SIZE, DELETED.len()));
        let names: BTreeSet<_> = members.iter().map(|member| &member.name).collect();
        assert_eq!(names.len(), members.len());
        let namespaces: BTreeSet<_> = members.iter().map(|member| &member.namespace).collect();
        assert_eq!(namespaces.len(), 5);
    }
}
