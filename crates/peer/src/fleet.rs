//! The ScaledObjects that are handed over: 50 in five namespaces, each with a target of its own, in every state that one can rest in.
//! Two more are deleted on the way, each by the one that did not see them created.

mod draft;

use serde_json::{Value, json};

use self::draft::{Draft, cron, prometheus, workload};
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};

/// How many are handed over.
pub(crate) const SIZE: usize = 50;

/// How the namespaces of the fleet begin; a number follows.
pub(crate) const NAMESPACES: &str = "team-";

/// What is asked for by each replica: a value of 30 is work for three.
const SHARE: f64 = 10.0;

/// The replicas that the targets of [`LEAVING`] had before they were scaled.
pub(crate) const ORIGINAL: i64 = 2;

/// The two that are deleted on the way.
pub(crate) const LEAVING: [&str; 2] = ["leaving-one", "leaving-two"];

const TOKEN: &str = "Bearer take-over";

/// A ScaledObject, its target, and what they are to settle at.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) target_kind: &'static str,
    /// The replicas of its target, as soon as it has settled, and until its value changes.
    pub(crate) settles_at: i64,
    /// What its condition `Ready` says then.
    pub(crate) ready: &'static str,
    /// A paused one is not polled.
    pub(crate) polled: bool,
    objects: Vec<Value>,
    responses: Vec<(String, SourceResponse)>,
    /// The `Authorization` that its source requires.
    authorization: Option<&'static str>,
}

impl Member {
    /// `namespace/name`.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Everything to be created for it.
    pub(crate) fn objects(&self) -> &[Value] {
        &self.objects
    }

    /// Sets the responses of its source as they are at first.
    pub(crate) fn set_up(&self, source: &HttpSource) {
        for (query, response) in &self.responses {
            source.set(query, response.clone());
            if let Some(authorization) = self.authorization {
                source.protect(query, authorization);
            }
        }
    }

    /// The value that is work for this many replicas.
    pub(crate) fn work_for(replicas: u32) -> SourceResponse {
        SourceResponse::Value(f64::from(replicas) * SHARE)
    }
}

/// Everyone.
pub(crate) fn members(url: &str) -> Vec<Member> {
    let mut drafts = Vec::new();
    for (index, replicas) in [1, 1, 2, 2, 3, 3, 3, 5, 5, 10].into_iter().enumerate() {
        let spec = json!({ "minReplicaCount": index % 2, "maxReplicaCount": 20, "pollingInterval": 5 });
        drafts.push(working(url, &format!("steady-{replicas}-{index}"), replicas).spec(spec));
    }
    for index in 0..8 {
        drafts.push(asleep(url, &format!("asleep-{index}")).spec(json!({ "pollingInterval": 5 + index })));
    }
    drafts.extend(resting(url));
    drafts.extend(paused(url));
    drafts.extend(falling_back(url));
    drafts.extend(with_own_hpas(url));
    drafts.extend(with_formulas(url));
    drafts.extend(guarded(url));
    drafts.extend(of_other_sources(url));
    let restored = json!({ "advanced": { "restoreToOriginalReplicaCount": true } });
    drafts.extend(LEAVING.map(|name| working(url, name, 4).before(ORIGINAL).spec(restored.clone())));
    drafts.into_iter().enumerate().map(|(index, draft)| draft.finish(&format!("{NAMESPACES}{}", index % 5))).collect()
}

/// What all of them need: namespaces, and a Secret for those of the whole cluster.
pub(crate) fn shared_objects() -> Value {
    let mut items: Vec<Value> = (0..5).map(|index| namespace(&format!("{NAMESPACES}{index}"))).collect();
    items.push(secret("of-the-cluster", "keda"));
    items.push(json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ClusterTriggerAuthentication", "metadata": { "name": "of-the-cluster" },
        "spec": { "secretTargetRef": [{ "parameter": "bearerToken", "name": "of-the-cluster", "key": "token" }] },
    }));
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

fn resting(url: &str) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for index in 0..3 {
        let idle = json!({ "idleReplicaCount": 0, "minReplicaCount": 2, "maxReplicaCount": 6 });
        drafts.push(asleep(url, &format!("idle-{index}")).spec(idle));
        let least = json!({ "minReplicaCount": 2, "maxReplicaCount": 6 });
        drafts.push(asleep(url, &format!("at-its-minimum-{index}")).settles_at(2).spec(least));
    }
    // Its value is 0 as soon as all have settled: it then waits, for longer than the measurement takes.
    for index in 0..2 {
        let patient = json!({ "cooldownPeriod": 3600, "pollingInterval": 5 });
        drafts.push(working(url, &cooling(index), 1).spec(patient));
    }
    drafts
}

/// The name of an object that is to cool down.
pub(crate) fn cooling(index: usize) -> String {
    format!("cooling-down-{index}")
}

fn paused(url: &str) -> Vec<Draft> {
    let at = json!({ "autoscaling.keda.sh/paused-replicas": "4" });
    let as_is = json!({ "autoscaling.keda.sh/paused": "true" });
    let growing_only = json!({ "autoscaling.keda.sh/paused-scale-in": "true" });
    vec![
        working(url, "paused-at-four-0", 1).annotations(at.clone()).settles_at(4).unpolled(),
        asleep(url, "paused-at-four-1").annotations(at).settles_at(4).unpolled(),
        asleep(url, "paused-as-it-is").annotations(as_is).before(3).settles_at(3).unpolled(),
        working(url, "paused-scale-in", 1).annotations(growing_only).before(5).settles_at(5),
    ]
}

fn falling_back(url: &str) -> Vec<Draft> {
    let fallback = json!({ "fallback": { "failureThreshold": 2, "replicas": 6 }, "pollingInterval": 5 });
    vec![
        asleep(url, "fallen-back-0").broken().settles_at(6).spec(fallback.clone()),
        asleep(url, "fallen-back-1").broken().settles_at(6).before(2).spec(fallback.clone()),
        working(url, "with-a-fallback", 3).spec(fallback),
        // KEDA: an object whose only source does not answer is not ready, and holds what it has.
        asleep(url, "blind").broken().before(3).settles_at(3).not_ready().spec(json!({ "pollingInterval": 5 })),
    ]
}

fn with_own_hpas(url: &str) -> Vec<Draft> {
    let policy = json!({ "type": "Pods", "value": 1, "periodSeconds": 60 });
    let behaviour = json!({ "scaleDown": { "stabilizationWindowSeconds": 30, "policies": [policy] } });
    let named = |name: &str| json!({ "name": format!("hpa-of-{name}"), "behavior": behaviour });
    let config = |name: &str| json!({ "advanced": { "horizontalPodAutoscalerConfig": named(name) } });
    let transfer = json!({ "scaledobject.keda.sh/transfer-hpa-ownership": "true" });
    let own = json!({ "advanced": { "horizontalPodAutoscalerConfig": { "name": "made-by-hand" } } });
    vec![
        working(url, "named-0", 4).spec(config("named-0")),
        working(url, "named-1", 2).spec(config("named-1")),
        working(url, "adopting", 2).before(2).annotations(transfer).spec(own).with(hpa_by_hand("adopting")),
    ]
}

fn with_formulas(url: &str) -> Vec<Draft> {
    let formula = json!({ "advanced": { "scalingModifiers": { "formula": "one + two", "target": "10" } } });
    let draft = |index: u32| {
        let name = format!("formula-{index}");
        let (one, two) = (format!("{name}-one"), format!("{name}-two"));
        let triggers = [("one", &one), ("two", &two)].map(|(trigger, query)| {
            let mut prometheus = prometheus(url, query);
            prometheus["name"] = json!(trigger);
            prometheus
        });
        Draft::new(&name)
            .triggers(triggers)
            .answer(&one, Member::work_for(1))
            .answer(&two, Member::work_for(index))
            .spec(formula.clone())
            .settles_at(i64::from(index) + 1)
    };
    (1..4).map(draft).collect()
}

fn guarded(url: &str) -> Vec<Draft> {
    let draft = |name: &str, kind: &str, authentication: &str| {
        let mut trigger = prometheus(url, name);
        trigger["metadata"]["authModes"] = json!("bearer");
        trigger["authenticationRef"] = json!({ "name": authentication, "kind": kind });
        Draft::new(name)
            .triggers([trigger])
            .answer(name, SourceResponse::Value(3.0 * SHARE))
            .protected(TOKEN)
            .settles_at(3)
    };
    let own = |name: &str| {
        let authentication = json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": name },
            "spec": { "secretTargetRef": [{ "parameter": "bearerToken", "name": name, "key": "token" }] },
        });
        draft(name, "TriggerAuthentication", name).with(secret(name, "")).with(authentication)
    };
    vec![
        own("guarded-0"),
        own("guarded-1"),
        draft("guarded-by-the-cluster", "ClusterTriggerAuthentication", "of-the-cluster"),
    ]
}

fn of_other_sources(url: &str) -> Vec<Draft> {
    let open = cron("0 0 1 1 *", "59 23 31 12 *", 4);
    let closed = cron("58 23 31 12 *", "59 23 31 12 *", 4);
    let pods = json!({ "type": "kubernetes-workload", "metadata": { "podSelector": "app=counted", "value": "1" } });
    let address = format!("{url}/json/plain-json");
    let plain_json =
        json!({ "type": "metrics-api", "metadata": { "url": address, "valueLocation": "value", "targetValue": "10" } });
    vec![
        Draft::new("cron-0").triggers([open.clone()]).settles_at(4),
        Draft::new("cron-1").triggers([open.clone()]).settles_at(4).before(2),
        Draft::new("cron-closed").triggers([closed.clone()]).settles_at(0),
        Draft::new("counting").triggers([pods]).settles_at(3).with(workload("Deployment", "counted", 3)),
        Draft::new("plain-json").triggers([plain_json]).answer("plain-json", Member::work_for(2)).settles_at(2),
        working(url, "two-triggers", 6).triggers([prometheus(url, "two-triggers"), open]),
        working(url, "stateful", 3).of_kind("StatefulSet"),
    ]
}

/// One whose source has work for this many replicas.
fn working(url: &str, name: &str, replicas: u32) -> Draft {
    let draft = Draft::new(name).triggers([prometheus(url, name)]);
    draft.answer(name, Member::work_for(replicas)).settles_at(i64::from(replicas))
}

/// One whose source has no work.
fn asleep(url: &str, name: &str) -> Draft {
    Draft::new(name).triggers([prometheus(url, name)]).answer(name, Member::work_for(0)).settles_at(0)
}

/// The HPA that a target had before it had a ScaledObject.
fn hpa_by_hand(target: &str) -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "made-by-hand" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": target },
            "minReplicas": 1, "maxReplicas": 5,
            "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 } } }],
        },
    })
}

fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

fn secret(name: &str, namespace: &str) -> Value {
    let token = TOKEN.trim_start_matches("Bearer ");
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
    fn there_are_fifty_of_different_names_and_two_that_leave() {
        let all = members("http://localhost");
        let leaving = all.iter().filter(|member| LEAVING.contains(&member.name.as_str())).count();
        assert_eq!((all.len() - leaving, leaving), (SIZE, LEAVING.len()));
        let names: BTreeSet<_> = all.iter().map(|member| &member.name).collect();
        assert_eq!(names.len(), all.len());
        let namespaces: BTreeSet<_> = all.iter().map(|member| &member.namespace).collect();
        assert_eq!(namespaces.len(), 5);
    }
}
