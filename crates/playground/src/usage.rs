//! What pods use, for cpu and memory triggers: all pods of a target share what its dial says. More replicas use less each.

use std::sync::Arc;

use kedge_core::quantity::Quantity;
use kedge_dashboard::Health;
use kedge_plane::serve::resource_metrics::{ContainerUsage, annotated_usage};
use kedge_plane::{Gvr, Plane};
use serde_json::Value;

use crate::dials::{Dials, MEBIBYTE, UsageTrigger, UsageUnit};
use crate::manifests::workload;
use crate::sources::scaled_objects;

/// The usage of a container, for `metrics.k8s.io`; none while its source is broken.
pub(crate) fn usage_of(plane: Plane, dials: Arc<Dials>) -> impl Fn(&Value, &Value) -> Option<ContainerUsage> {
    move |pod, container| {
        let mut usage = annotated_usage(pod, container);
        for object in plane.objects(&scaled_objects(), pod["metadata"]["namespace"].as_str()) {
            let Some(target) = target_of(&plane, &object).filter(|target| selects(target, pod)) else { continue };
            for trigger in object["spec"]["triggers"].as_array().into_iter().flatten() {
                let resource = trigger["type"].as_str().filter(|kind| matches!(*kind, "cpu" | "memory"));
                let Some((resource, found)) = resource.zip(UsageTrigger::read(&object, trigger)) else { continue };
                if found.container.as_deref().is_some_and(|name| container["name"] != name) {
                    continue;
                }
                let setting = dials.get(&found.id);
                if setting.health != Health::Works {
                    return None;
                }
                let amount = share(&found, setting.value / running(&plane, &target), resource, container, pod);
                match resource {
                    "cpu" => usage.cpu = format!("{:.0}n", amount * 1e9),
                    _ => usage.memory = format!("{amount:.0}"),
                }
            }
        }
        Some(usage)
    }
}

/// What a container uses, in cores or bytes, where its pod has this share of the dial.
fn share(trigger: &UsageTrigger, share: f64, resource: &str, container: &Value, pod: &Value) -> f64 {
    let containers = match trigger.container {
        Some(_) => 1,
        None => pod["spec"]["containers"].as_array().map_or(1, Vec::len),
    };
    match trigger.unit {
        UsageUnit::Percent => {
            let request = container["resources"]["requests"][resource].as_str().unwrap_or_default();
            share / 100.0 * Quantity::parse(request).map_or(0.0, |request| request.milli_value() as f64 / 1000.0)
        }
        UsageUnit::Cores => share / containers as f64,
        UsageUnit::Mebibytes => share * MEBIBYTE / containers as f64,
    }
}

/// The workload that an object scales.
fn target_of(plane: &Plane, object: &Value) -> Option<Arc<Value>> {
    let reference = &object["spec"]["scaleTargetRef"];
    let resource = workload(reference["kind"].as_str().unwrap_or("Deployment"))?;
    plane.object(&resource, object["metadata"]["namespace"].as_str(), reference["name"].as_str()?)
}

/// Whether a pod has the labels that a workload selects.
fn selects(target: &Value, pod: &Value) -> bool {
    let wanted = target["spec"]["selector"]["matchLabels"].as_object();
    wanted.is_some_and(|wanted| wanted.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value))
}

/// How many pods share the work, at least one.
fn running(plane: &Plane, target: &Value) -> f64 {
    let pods = plane.objects(&Gvr::new("", "v1", "pods"), target["metadata"]["namespace"].as_str());
    pods.iter().filter(|pod| pod["status"]["phase"] == "Running" && selects(target, pod)).count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_share_is_in_the_unit_of_its_trigger() {
        let pod = json!({ "spec": { "containers": [{ "name": "a" }, { "name": "b" }] } });
        let container = json!({ "name": "a", "resources": { "requests": { "cpu": "200m" } } });
        let object = json!({ "metadata": { "namespace": "shop", "name": "web" } });
        let rows = [
            (json!({ "type": "cpu", "metricType": "Utilization", "metadata": { "value": "60" } }), "cpu", 150.0, 0.3),
            (json!({ "type": "cpu", "metricType": "AverageValue", "metadata": { "value": "1" } }), "cpu", 3.0, 1.5),
            (
                json!({ "type": "memory", "metricType": "AverageValue", "metadata": { "value": "1Mi", "containerName": "a" } }),
                "memory",
                2.0,
                2.0 * MEBIBYTE,
            ),
        ];
        for (trigger, resource, of_pod, expected) in rows {
            let read = UsageTrigger::read(&object, &trigger).unwrap();
            let found = share(&read, of_pod, resource, &container, &pod);
            assert!((found - expected).abs() < 1e-9, "{trigger}: {found}");
        }
    }
}
