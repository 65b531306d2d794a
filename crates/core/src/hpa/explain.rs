//! Why the HPA controller scaled a target, in words: from the numbers and the conditions that it reports.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerStatus;

use crate::quantity::Quantity;

/// A metric that the HPA controller reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedMetric<'a> {
    pub name: &'a str,
    /// What people call it.
    pub label: &'a str,
    pub target: f64,
    /// Whether the target is for each replica.
    pub is_per_replica: bool,
}

/// A metric as the HPA controller read it.
struct ReadMetric<'a> {
    metric: &'a NamedMetric<'a>,
    value: f64,
}

impl<'a> ReadMetric<'a> {
    /// The metric in the status of an HPA, which has averages over the replicas that there were.
    fn find(metric: &'a NamedMetric<'a>, replicas: i32, status: &HorizontalPodAutoscalerStatus) -> Option<Self> {
        let mut external = status.current_metrics.iter().flatten().filter_map(|one| one.external.as_ref());
        let current = &external.find(|one| one.metric.name.eq_ignore_ascii_case(metric.name))?.current;
        let number = |quantity: &str| Some(Quantity::parse(quantity).ok()?.milli_value() as f64 / 1000.0);
        let value = match metric.is_per_replica {
            true => number(&current.average_value.as_ref()?.0)? * f64::from(replicas),
            false => number(&current.value.as_ref()?.0)?,
        };
        Some(Self { metric, value })
    }

    /// How many replicas it needs, while there are so many.
    fn needs(&self, replicas: i32) -> i32 {
        let ratio = self.value / self.metric.target;
        let needed = if self.metric.is_per_replica { ratio } else { ratio * f64::from(replicas) };
        // An average is rounded up to a thousandth.
        let rounded_up = 0.001 * f64::from(replicas) / self.metric.target;
        (needed - rounded_up).ceil() as i32
    }
}

/// Explains a change of replicas by the HPA controller.
pub fn explain_rescale(
    (from, to): (i32, i32),
    metrics: &[NamedMetric<'_>],
    status: &HorizontalPodAutoscalerStatus,
) -> String {
    let read = metrics.iter().filter_map(|metric| ReadMetric::find(metric, from, status));
    let limit = explain_limit(status);
    match read.max_by_key(|read| read.needs(from)) {
        None => format!("{}{limit}", explain_resources(status)),
        Some(read) => {
            let needs = read.needs(from);
            let is_held = limit.is_empty() && to < from && to > needs;
            let held = if is_held { "; the stabilization window holds the rest" } else { "" };
            format!("{} is at {}, which needs {needs}{limit}{held}", read.metric.label, rounded(read.value))
        }
    }
}

/// cpu and memory, which the HPA controller reads itself.
fn explain_resources(status: &HorizontalPodAutoscalerStatus) -> String {
    let current = status.current_metrics.iter().flatten();
    let utilization = current.filter_map(|metric| {
        let resource = metric.resource.as_ref()?;
        Some(format!("{} is at {} % of its request", resource.name, resource.current.average_utilization?))
    });
    let all: Vec<String> = utilization.collect();
    if all.is_empty() { "its metrics need as many".to_owned() } else { all.join(" and ") }
}

fn explain_limit(status: &HorizontalPodAutoscalerStatus) -> &'static str {
    let conditions = status.conditions.iter().flatten();
    let mut limits = conditions.filter(|one| one.type_ == "ScalingLimited" && one.status == "True");
    match limits.next().and_then(|limit| limit.reason.as_deref()) {
        Some("TooManyReplicas") => "; limited by the maximum",
        Some("TooFewReplicas") => "; limited by the minimum",
        Some("ScaleUpLimit") => "; limited by the scale-up policy",
        Some("ScaleDownLimit") => "; limited by the scale-down policy",
        _ => "",
    }
}

/// To one decimal, where it has any.
fn rounded(value: f64) -> String {
    format!("{value:.1}").trim_end_matches(".0").to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metric(name: &str, is_per_replica: bool) -> NamedMetric<'_> {
        NamedMetric { name, label: name, target: 20.0, is_per_replica }
    }

    #[test]
    fn the_metric_that_needs_the_most_and_the_limit_are_named() {
        let limited = |reason: &str| json!([{ "type": "ScalingLimited", "status": "True", "reason": reason }]);
        let external = |name: &str, field: &str, value: &str| json!({ "type": "External", "external": { "metric": { "name": name }, "current": { field: value } } });
        let (few, many) = (external("few", "averageValue", "2500m"), external("orders", "averageValue", "12050m"));
        let cpu = json!({ "type": "Resource", "resource": { "name": "cpu", "current": { "averageUtilization": 80 } } });
        let (orders, both) = (vec![metric("orders", true)], vec![metric("few", true), metric("orders", true)]);
        let rows = [
            (both, json!([few, many]), json!([]), "orders is at 48.2, which needs 3"),
            (
                orders.clone(),
                json!([many]),
                limited("TooManyReplicas"),
                "orders is at 48.2, which needs 3; limited by the maximum",
            ),
            (
                vec![metric("ratio", false)],
                json!([external("ratio", "value", "30")]),
                json!([]),
                "ratio is at 30, which needs 6",
            ),
            (orders, json!([cpu]), json!([]), "cpu is at 80 % of its request"),
            (vec![], json!([]), json!([]), "its metrics need as many"),
            (
                vec![metric("idle", true)],
                json!([external("idle", "averageValue", "3334m")]),
                json!([]),
                "idle is at 13.3, which needs 1; the stabilization window holds the rest",
            ),
        ];
        for (metrics, current, conditions, expected) in rows {
            let status = json!({ "desiredReplicas": 3, "conditions": conditions, "currentMetrics": current });
            let status = serde_json::from_value(status).unwrap();
            assert_eq!(explain_rescale((4, 3), &metrics, &status), expected);
        }
    }
}
