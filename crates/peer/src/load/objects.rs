//! The ScaledObjects whose requests are counted.

use kedge_test_cluster::http_source::SourceResponse;
use serde_json::{Value, json};

use crate::operators::Peer;

/// A ScaledObject and its target, with one Prometheus trigger for each value.
#[derive(Clone, Debug)]
pub(super) struct LoadObject {
    pub(super) name: String,
    /// What sets it apart, for the reader.
    pub(super) about: &'static str,
    /// The value that each source returns; none for a source that fails.
    values: Vec<Option<f64>>,
    /// The replicas that follow.
    pub(super) replicas: u64,
    /// Fields of the spec.
    spec: Value,
    /// Fields of each trigger.
    trigger: Value,
    annotations: Value,
}

/// All objects. The threshold of every trigger is 10.
pub(super) fn all() -> Vec<LoadObject> {
    let object = |name: &str, about, values: &[Option<f64>], replicas, spec| LoadObject {
        name: name.to_owned(),
        about,
        values: values.to_vec(),
        replicas,
        spec,
        trigger: json!({}),
        annotations: json!({}),
    };
    let minimum = json!({ "minReplicaCount": 1, "pollingInterval": 5 });
    let formula = json!({ "scalingModifiers": { "formula": "t0 + t1", "target": "10" } });
    vec![
        object("minimum-one", "the HPA asks for every poll", &[Some(20.0)], 2, minimum.clone()),
        object("two-triggers", "the same with two sources", &[Some(20.0), Some(5.0)], 2, minimum.clone()),
        object("to-zero", "may scale to zero, and is active", &[Some(20.0)], 2, json!({ "pollingInterval": 5 })),
        object("at-zero", "is scaled to zero", &[Some(0.0)], 0, json!({ "pollingInterval": 5 })),
        object("defaults", "`pollingInterval` not set", &[Some(20.0)], 2, json!({})),
        object(
            "idle",
            "has idle replicas, and is active",
            &[Some(20.0)],
            2,
            json!({ "minReplicaCount": 1, "idleReplicaCount": 0, "pollingInterval": 10 }),
        ),
        object(
            "formula",
            "two sources in a formula",
            &[Some(10.0), Some(10.0)],
            2,
            json!({ "minReplicaCount": 1, "pollingInterval": 10, "advanced": formula }),
        ),
        object(
            "failing",
            "a source that fails, with a fallback",
            &[None],
            3,
            json!({ "minReplicaCount": 1, "pollingInterval": 10, "fallback": { "failureThreshold": 1, "replicas": 3 } }),
        ),
        LoadObject {
            trigger: json!({ "useCachedMetrics": true }),
            ..object(
                "cached",
                "`useCachedMetrics`",
                &[Some(20.0)],
                2,
                json!({ "minReplicaCount": 1, "pollingInterval": 10 }),
            )
        },
        LoadObject {
            annotations: json!({ "autoscaling.keda.sh/paused": "true" }),
            ..object("paused", "is paused", &[Some(20.0)], 1, minimum)
        },
    ]
}

impl LoadObject {
    /// The name of each trigger: `OBJECT/INDEX`.
    pub(super) fn triggers(&self) -> Vec<String> {
        (0..self.values.len()).map(|index| format!("{}/{index}", self.name)).collect()
    }

    /// The queries of an operator, and the responses to them.
    pub(super) fn responses(&self, peer: Peer) -> Vec<(String, SourceResponse)> {
        let response = |value: &Option<f64>| value.map_or_else(SourceResponse::broken, SourceResponse::Value);
        self.triggers()
            .iter()
            .zip(&self.values)
            .map(|(trigger, value)| (query(peer, trigger), response(value)))
            .collect()
    }

    pub(super) fn deployment(&self, namespace: &str) -> Value {
        let labels = json!({ "app": self.name });
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": self.name, "namespace": namespace },
            "spec": {
                "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": "main" }] } },
            },
        })
    }

    pub(super) fn scaled_object(&self, namespace: &str, peer: Peer, url: &str) -> Value {
        let trigger = |(index, name): (usize, &String)| {
            let metadata = json!({ "serverAddress": url, "query": query(peer, name), "threshold": "10" });
            let mut trigger = json!({ "type": "prometheus", "name": format!("t{index}"), "metadata": metadata });
            merge(&mut trigger, &self.trigger);
            trigger
        };
        let triggers: Vec<Value> = self.triggers().iter().enumerate().map(trigger).collect();
        let mut spec = json!({ "scaleTargetRef": { "name": self.name }, "triggers": triggers });
        merge(&mut spec, &self.spec);
        json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": { "name": self.name, "namespace": namespace, "annotations": self.annotations }, "spec": spec,
        })
    }
}

fn query(peer: Peer, trigger: &str) -> String {
    format!("{}/{trigger}", peer.to_string().to_lowercase())
}

fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}
