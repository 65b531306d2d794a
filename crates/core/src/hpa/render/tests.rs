//! Rendered HPAs for given ScaledObjects.

use serde_json::{Value, json};

use super::*;

fn object(value: Value) -> ScaledObject {
    let mut whole = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": { "name": "web", "namespace": "shop", "uid": "u-1" },
        "spec": { "scaleTargetRef": { "name": "web" }, "triggers": [{ "type": "cron", "metadata": {} }] },
    });
    merge(&mut whole, value);
    serde_json::from_value(whole).unwrap()
}

fn merge(whole: &mut Value, part: Value) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (key, value) in part {
                merge(whole.entry(key).or_insert(Value::Null), value);
            }
        }
        (whole, part) => *whole = part,
    }
}

fn external(name: &str) -> MetricSpec {
    serde_json::from_value(json!({
        "type": "External",
        "external": { "metric": { "name": name }, "target": { "type": "AverageValue", "averageValue": "1" } },
    }))
    .unwrap()
}

fn cpu() -> MetricSpec {
    serde_json::from_value(json!({
        "type": "Resource",
        "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 60 } },
    }))
    .unwrap()
}

fn deployment() -> TargetKind {
    TargetKind { api_version: "apps/v1".to_owned(), kind: "Deployment".to_owned() }
}

fn rendered(value: Value, metrics: Vec<MetricSpec>) -> Value {
    serde_json::to_value(render(&object(value), &deployment(), metrics, "1.2.3").unwrap()).unwrap()
}

#[test]
fn a_minimal_object_gives_kedas_minimal_hpa() {
    assert_eq!(
        rendered(json!({}), vec![external("s0-cron-x")]),
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {
                "name": "keda-hpa-web", "namespace": "shop",
                "labels": {
                    "app.kubernetes.io/name": "keda-hpa-web", "app.kubernetes.io/version": "1.2.3",
                    "app.kubernetes.io/part-of": "web", "app.kubernetes.io/managed-by": "keda-operator",
                    "scaledobject.keda.sh/name": "web",
                },
                "ownerReferences": [{
                    "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": "u-1",
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "spec": {
                "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" },
                "minReplicas": 1, "maxReplicas": 100,
                "metrics": [{
                    "type": "External",
                    "external": {
                        "metric": { "name": "s0-cron-x", "selector": { "matchLabels": { "scaledobject.keda.sh/name": "web" } } },
                        "target": { "type": "AverageValue", "averageValue": "1" },
                    },
                }],
            },
        })
    );
}

#[test]
fn metrics_are_in_the_order_of_their_types_then_of_the_triggers() {
    let hpa = rendered(json!({}), vec![cpu(), external("s1-b"), external("s2-a")]);
    let kinds: Vec<&Value> = hpa["spec"]["metrics"].as_array().unwrap().iter().map(|metric| &metric["type"]).collect();
    assert_eq!(kinds, ["External", "External", "Resource"]);
    assert_eq!(hpa["spec"]["metrics"][0]["external"]["metric"]["name"], "s1-b");
}

#[test]
fn labels_names_and_annotations_follow_the_object() {
    let hpa = rendered(
        json!({
            "metadata": {
                "labels": { "team": "core", "cost": "x", "app.kubernetes.io/part-of": "mine" },
                "annotations": { "scaledobject.keda.sh/hpa-excluded-labels": "cost", "note": "hello" },
            },
            "spec": { "minReplicaCount": 3, "maxReplicaCount": 9, "advanced": { "horizontalPodAutoscalerConfig": { "name": "db-hpa" } } },
        }),
        vec![external("m")],
    );
    assert_eq!(hpa["metadata"]["name"], "db-hpa");
    assert_eq!(hpa["metadata"]["labels"]["team"], "core");
    assert_eq!(hpa["metadata"]["labels"]["app.kubernetes.io/part-of"], "mine");
    assert_eq!(hpa["metadata"]["labels"].get("cost"), None);
    assert_eq!(hpa["metadata"]["annotations"]["note"], "hello");
    assert_eq!((&hpa["spec"]["minReplicas"], &hpa["spec"]["maxReplicas"]), (&json!(3), &json!(9)));
}

#[test]
fn a_pause_of_one_direction_disables_it_and_keeps_the_rest() {
    let paused = json!({ "metadata": { "annotations": { "autoscaling.keda.sh/paused-scale-in": "true" } } });
    let hpa = rendered(paused.clone(), vec![external("m")]);
    assert_eq!(hpa["spec"]["behavior"], json!({ "scaleDown": { "selectPolicy": "Disabled" } }));

    let mut with_rules = paused;
    merge(
        &mut with_rules,
        json!({ "spec": { "advanced": { "horizontalPodAutoscalerConfig": { "behavior": {
            "scaleDown": { "stabilizationWindowSeconds": 60, "selectPolicy": "Min", "tolerance": 1 },
            "scaleUp": { "policies": [{ "type": "Pods", "value": 1, "periodSeconds": 30 }] },
        } } } } }),
    );
    let hpa = rendered(with_rules, vec![external("m")]);
    assert_eq!(
        hpa["spec"]["behavior"],
        json!({
            "scaleDown": { "stabilizationWindowSeconds": 60, "selectPolicy": "Disabled", "tolerance": "1" },
            "scaleUp": { "policies": [{ "type": "Pods", "value": 1, "periodSeconds": 30 }] },
        })
    );
}

#[test]
fn render_errors_name_the_cause() {
    let errors = [
        (vec![], "no metric specs returned from scalers for ScaledObject shop/web"),
        (vec![external("m"), external("m")], "metricName m defined multiple times in ScaledObject web"),
    ];
    for (metrics, expected) in errors {
        assert_eq!(render(&object(json!({})), &deployment(), metrics, "1").unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_long_name_is_cut_to_a_legal_label() {
    let name = format!("{}-.{}", "a".repeat(61), "b".repeat(20));
    assert_eq!(label_value(&name), "a".repeat(61));
}

#[test]
fn a_composite_metric_replaces_the_external_ones_and_comes_last() {
    let modifiers = json!({ "spec": {
        "advanced": { "scalingModifiers": { "formula": "(q + p) / 2", "target": "2.5" } },
        "triggers": [
            { "type": "prometheus", "name": "q", "metadata": {} },
            { "type": "metrics-api", "name": "p", "metadata": {} },
        ],
    } });
    let memory: MetricSpec = serde_json::from_value(json!({
        "type": "ContainerResource",
        "containerResource": { "name": "memory", "container": "main", "target": { "type": "AverageValue", "averageValue": "1Gi" } },
    }))
    .unwrap();
    let composite = |target: &str, metric_type: &str| {
        let mut object = modifiers.clone();
        merge(
            &mut object,
            json!({ "spec": { "advanced": { "scalingModifiers": { "target": target, "metricType": metric_type } } } }),
        );
        crate::formula::settings::parse(&self::object(object).spec, crate::trigger_class::sample_class_of)
            .unwrap()
            .unwrap()
    };
    let metrics = vec![external("s0-q"), cpu(), external("s2-p"), memory];
    let hpa = rendered(modifiers.clone(), with_composite(metrics, &composite("2.5", "AverageValue")));
    let kinds: Vec<&Value> = hpa["spec"]["metrics"].as_array().unwrap().iter().map(|metric| &metric["type"]).collect();
    assert_eq!(kinds, ["ContainerResource", "Resource", "External"]);
    assert_eq!(
        hpa["spec"]["metrics"][2]["external"],
        json!({
            "metric": { "name": "composite-metric", "selector": { "matchLabels": { "scaledobject.keda.sh/name": "web" } } },
            "target": { "type": "AverageValue", "averageValue": "2500m" },
        })
    );
    let value = serde_json::to_value(composite_spec(&composite("2", "Value"))).unwrap();
    assert_eq!(value["external"]["target"], json!({ "type": "Value", "value": "2" }));
}
