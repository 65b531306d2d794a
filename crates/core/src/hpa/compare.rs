//! Whether an HPA must be written: the existing one compared with the rendered one.

use std::collections::BTreeMap;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::names::labels;
use serde_json::Value;

use super::model::defaults::fill_defaults;
use crate::quantity::Quantity;

/// The keys of the labels and annotations of the HPA as last rendered: those that are no longer rendered must be removed. Empty where
/// nothing is known. They are kept for every object, so that all are in one text, with spaces between them: no key has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedKeys {
    labels: Box<str>,
    annotations: Box<str>,
}

impl RenderedKeys {
    pub fn of(rendered: &HorizontalPodAutoscaler) -> Self {
        let keys = |map: &Option<BTreeMap<String, String>>| {
            let keys: Vec<&str> = map.iter().flatten().map(|(key, _)| key.as_str()).collect();
            keys.join(" ").into_boxed_str()
        };
        Self { labels: keys(&rendered.metadata.labels), annotations: keys(&rendered.metadata.annotations) }
    }
}

/// Whether the existing HPA differs from the rendered one in any field that we set. Defaults of the API server, labels and
/// annotations of others, and the version label do not count.
pub fn needs_write(found: &HorizontalPodAutoscaler, rendered: &HorizontalPodAutoscaler, before: &RenderedKeys) -> bool {
    let spec = |hpa: &HorizontalPodAutoscaler| {
        let mut value = serde_json::to_value(fill_defaults(&hpa.spec)).unwrap_or_default();
        normalise_quantities(&mut value);
        value
    };
    let marks = |metadata: &ObjectMeta| metadata.labels.clone().unwrap_or_default();
    let notes = |metadata: &ObjectMeta| metadata.annotations.clone().unwrap_or_default();
    spec(found) != spec(rendered)
        || found.metadata.owner_references != rendered.metadata.owner_references
        || differ(&marks(&found.metadata), &wanted_labels(found, rendered), &before.labels)
        || differ(&notes(&found.metadata), &notes(&rendered.metadata), &before.annotations)
}

/// The labels that the existing HPA must have. The version label alone is no reason to write: otherwise an upgrade, or a migration
/// from KEDA, would rewrite every HPA, and two versions that run at once would do so for ever.
fn wanted_labels(found: &HorizontalPodAutoscaler, rendered: &HorizontalPodAutoscaler) -> BTreeMap<String, String> {
    let mut wanted = rendered.metadata.labels.clone().unwrap_or_default();
    let version = found.metadata.labels.as_ref().and_then(|found| found.get(labels::VERSION));
    if let (Some(version), Some(ours)) = (version, wanted.get_mut(labels::VERSION)) {
        ours.clone_from(version);
    }
    wanted
}

/// Whether a rendered entry is missing or different, or one that is no longer rendered still exists.
fn differ(found: &BTreeMap<String, String>, rendered: &BTreeMap<String, String>, before: &str) -> bool {
    let missing = rendered.iter().any(|(key, value)| found.get(key) != Some(value));
    let left = before.split_ascii_whitespace().any(|key| !rendered.contains_key(key) && found.contains_key(key));
    missing || left
}

/// Writes every quantity in one spelling: `2.500`, `2500m` and `2.5` are the same to the API server.
fn normalise_quantities(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if matches!(key.as_str(), "value" | "averageValue" | "tolerance") => {
                        if let Ok(quantity) = Quantity::parse(text) {
                            *text = Quantity::from_milli(quantity.milli_value()).canonical();
                        }
                    }
                    value => normalise_quantities(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalise_quantities),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hpa(value: Value) -> HorizontalPodAutoscaler {
        let mut whole = json!({
            "metadata": { "name": "h", "labels": { "a": "1" }, "ownerReferences": [{ "apiVersion": "v", "kind": "k", "name": "n", "uid": "u" }] },
            "spec": {
                "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" }, "minReplicas": 1, "maxReplicas": 9,
                "metrics": [{ "type": "External", "external": { "metric": { "name": "m" }, "target": { "type": "AverageValue", "averageValue": "2.500" } } }],
            },
        });
        json_merge(&mut whole, value);
        serde_json::from_value(whole).unwrap()
    }

    fn json_merge(whole: &mut Value, part: Value) {
        match (whole, part) {
            (Value::Object(whole), Value::Object(part)) => {
                part.into_iter().for_each(|(key, value)| json_merge(whole.entry(key).or_insert(Value::Null), value));
            }
            (whole, part) => *whole = part,
        }
    }

    fn external(average: &str) -> Value {
        json!({ "spec": { "metrics": [{ "type": "External", "external": { "metric": { "name": "m" }, "target": { "type": "AverageValue", "averageValue": average } } }] } })
    }

    #[test]
    fn only_fields_that_we_set_count() {
        let paused = json!({ "spec": { "behavior": { "scaleDown": { "selectPolicy": "Disabled" } } } });
        let filled = json!({ "spec": { "behavior": {
            "scaleDown": { "selectPolicy": "Disabled", "policies": [{ "type": "Percent", "value": 100, "periodSeconds": 15 }] },
            "scaleUp": { "stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [
                { "type": "Pods", "value": 4, "periodSeconds": 15 }, { "type": "Percent", "value": 100, "periodSeconds": 15 }] },
        } } });
        let rows = [
            ("the same", json!({}), json!({}), false),
            ("another spelling of a quantity", external("2500m"), json!({}), false),
            ("another quantity", external("2600m"), json!({}), true),
            ("another maximum", json!({ "spec": { "maxReplicas": 50 } }), json!({}), true),
            ("a label of ours changed", json!({ "metadata": { "labels": { "a": "2" } } }), json!({}), true),
            ("a label of another", json!({ "metadata": { "labels": { "b": "2" } } }), json!({}), false),
            ("an owner of another", json!({ "metadata": { "ownerReferences": [] } }), json!({}), true),
            ("defaults that the server filled in", filled.clone(), paused.clone(), false),
            ("a behavior that is no longer rendered", filled, json!({}), true),
            ("a behavior that is missing", json!({}), paused, true),
            (
                "a status",
                json!({ "status": { "desiredReplicas": 3, "currentMetrics": null, "conditions": [] } }),
                json!({}),
                false,
            ),
        ];
        for (name, found, rendered, expected) in rows {
            assert_eq!(needs_write(&hpa(found), &hpa(rendered), &RenderedKeys::default()), expected, "{name}");
        }
    }

    #[test]
    fn the_version_that_wrote_an_hpa_is_no_reason_to_write_it() {
        let of = |version: &str| json!({ "metadata": { "labels": { "app.kubernetes.io/version": version } } });
        let ours = hpa(of("0.1.0"));
        assert!(!needs_write(&hpa(of("2.21.0")), &ours, &RenderedKeys::of(&ours)), "KEDA's");
        assert!(needs_write(&hpa(json!({})), &ours, &RenderedKeys::default()), "one without a version");
        let mut other = of("2.21.0");
        other["metadata"]["labels"]["a"] = json!("2");
        assert!(needs_write(&hpa(other), &ours, &RenderedKeys::default()), "another label differs too");
    }

    #[test]
    fn a_label_that_is_no_longer_rendered_is_removed() {
        let old = hpa(json!({ "metadata": { "labels": { "team": "core" } } }));
        let new = hpa(json!({}));
        assert!(needs_write(&old, &new, &RenderedKeys::of(&old)));
        assert!(!needs_write(&new, &new, &RenderedKeys::of(&old)));
    }
}
