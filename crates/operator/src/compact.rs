//! Values that are kept for every object and rarely read: as compressed JSON, which takes a tenth of the memory of the types of the
//! Kubernetes API.

use std::fmt;
use std::marker::PhantomData;
use std::sync::LazyLock;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What most values have in common: the JSON of a typical HPA and of a typical ScaledObject. A part of a value that is found here takes
/// three bytes.
static DICTIONARY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    #[derive(Deserialize, Serialize)]
    struct Typical(HorizontalPodAutoscaler, ScaledObject);
    let typical: Typical = serde_json::from_str(include_str!("compact/typical.json")).expect("the file is valid");
    to_json(&typical)
});

/// A value as compressed JSON. Equal values are equal in this form, too: maps of the Kubernetes API are sorted.
#[derive(Clone)]
pub struct Compact<T> {
    compressed: Box<[u8]>,
    value: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> Compact<T> {
    pub fn new(value: &T) -> Self {
        let compressed = compress_prepend_size_with_dict(&to_json(value), &DICTIONARY);
        Self { compressed: compressed.into_boxed_slice(), value: PhantomData }
    }

    /// Reads the value. Each call does so again.
    pub fn read(&self) -> T {
        serde_json::from_slice(&self.json()).expect("what was written can be read")
    }
}

impl<T> Compact<T> {
    fn json(&self) -> Vec<u8> {
        decompress_size_prepended_with_dict(&self.compressed, &DICTIONARY).expect("what was compressed is decompressed")
    }
}

impl<T> PartialEq for Compact<T> {
    fn eq(&self, other: &Self) -> bool {
        self.compressed == other.compressed
    }
}

impl<T> fmt::Debug for Compact<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.json()))
    }
}

fn to_json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("types of the Kubernetes API can be written as JSON")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::autoscaling::v2::MetricSpec;
    use serde_json::json;

    use super::*;

    fn spec(value: &str) -> MetricSpec {
        let target = json!({ "type": "AverageValue", "averageValue": value });
        let external = json!({ "metric": { "name": "m", "selector": { "matchLabels": { "b": "2", "a": "1" } } }, "target": target });
        serde_json::from_value(json!({ "type": "External", "external": external })).unwrap()
    }

    #[test]
    fn a_value_is_read_as_it_was_and_compared_without_being_read() {
        let (one, same, other) = (spec("5"), spec("5"), spec("6"));
        assert_eq!(Compact::new(&one).read(), one);
        assert_eq!(Compact::new(&one), Compact::new(&same));
        assert_ne!(Compact::new(&one), Compact::new(&other));
    }

    #[test]
    fn an_object_takes_a_third_of_its_json() {
        let object: ScaledObject = serde_json::from_value(json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {
                "name": "checkout", "namespace": "shop", "generation": 3, "resourceVersion": "82714",
                "uid": "5f0c6a52-9d1e-4d0b-8a53-0f6a2f6f2b1d", "creationTimestamp": "2026-05-06T07:08:09Z",
                "finalizers": ["finalizer.keda.sh"], "labels": { "scaledobject.keda.sh/name": "checkout" },
            },
            "spec": {
                "scaleTargetRef": { "name": "checkout" }, "maxReplicaCount": 40,
                "triggers": [{ "type": "kafka", "metadata": { "topic": "orders", "consumerGroup": "checkout", "lagThreshold": "50" } }],
            },
            "status": {
                "scaleTargetKind": "apps/v1.Deployment", "originalReplicaCount": 2, "hpaName": "keda-hpa-checkout",
                "scaleTargetGVKR": { "group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments" },
                "externalMetricNames": ["s0-kafka-orders"], "lastActiveTime": "2026-05-07T01:02:03Z",
                "conditions": [
                    { "type": "Ready", "status": "True", "reason": "ScaledObjectReady",
                      "message": "ScaledObject is defined correctly and is ready for scaling" },
                    { "type": "Active", "status": "True", "reason": "ScalerActive",
                      "message": "Scaling is performed because triggers are active" },
                    { "type": "Fallback", "status": "False", "reason": "NoFallbackFound",
                      "message": "No fallbacks are active on this scaled object" },
                    { "type": "Paused", "status": "False" },
                    { "type": "HPAActive", "status": "True", "reason": "HPAActive", "message": "HPA is actively scaling" },
                ],
            },
        }))
        .unwrap();
        let compact = Compact::new(&object);
        let (taken, json) = (compact.compressed.len(), compact.json().len());
        assert!(taken * 3 < json, "{taken} bytes of {json}");
    }
}
