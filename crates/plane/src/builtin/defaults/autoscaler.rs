//! Horizontal pod autoscalers: a metric, and rules where there are some.

use serde_json::{Value, json};

use super::{Fields, has, set};

pub(super) fn spec(spec: &mut Fields) {
    let target = json!({ "type": "Utilization", "averageUtilization": 80 });
    let cpu = json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]);
    if spec.get("metrics").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        spec.insert("metrics".to_owned(), cpu);
    }
    if let Some(behavior) = spec.get_mut("behavior").and_then(Value::as_object_mut) {
        let pods = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
        let double = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
        rules(behavior, "scaleUp", json!([pods, double.clone()]));
        rules(behavior, "scaleDown", json!([double]));
    }
}

/// The window of scaling down is a flag of the controller's, so nothing is filled in there.
fn rules(behavior: &mut Fields, direction: &str, policies: Value) {
    if !has(behavior, direction) {
        behavior.insert(direction.to_owned(), json!({}));
    }
    let Some(rules) = behavior.get_mut(direction).and_then(Value::as_object_mut) else { return };
    set(rules, "selectPolicy", "Max");
    set(rules, "policies", policies);
    if direction == "scaleUp" {
        set(rules, "stabilizationWindowSeconds", 0);
    }
}
