//! The status: how a reconcile rebuilds it, and whether it must be written.

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerStatus, MetricIdentifier, MetricStatus, MetricValueStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource as api;

use crate::quantity::Quantity;
use kedge_api::time::to_time;

/// Whether the status is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusWrite {
    Needed,
    /// It is equal to the old one.
    Spared,
}

/// The replicas in a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusReplicas {
    pub(super) current: i32,
    pub(super) desired: i32,
    pub(super) rescaled_at: Option<DateTime<Utc>>,
}

/// The status with new replicas and metrics. Conditions stay.
pub(super) fn rebuild(
    old: &HorizontalPodAutoscalerStatus,
    shown: StatusReplicas,
    metrics: Option<Vec<MetricStatus>>,
) -> HorizontalPodAutoscalerStatus {
    HorizontalPodAutoscalerStatus {
        conditions: old.conditions.clone(),
        current_metrics: metrics,
        // Zero is left out on the wire.
        current_replicas: Some(shown.current).filter(|current| *current != 0),
        desired_replicas: shown.desired,
        last_scale_time: shown.rescaled_at.map(to_time).or_else(|| old.last_scale_time.clone()),
        // HPA: never set, and removed when another client has set it.
        observed_generation: None,
    }
}

/// Compares by meaning: absent and empty are the same, and quantities count by their value.
pub fn compare(old: &HorizontalPodAutoscalerStatus, new: &HorizontalPodAutoscalerStatus) -> StatusWrite {
    if plain(old) == plain(new) { StatusWrite::Spared } else { StatusWrite::Needed }
}

/// The status in a form in which equal meaning is equal text.
fn plain(status: &HorizontalPodAutoscalerStatus) -> HorizontalPodAutoscalerStatus {
    let conditions = status.conditions.iter().flatten().map(plain_condition).collect();
    let metrics = status.current_metrics.iter().flatten().map(plain_metric).collect();
    HorizontalPodAutoscalerStatus {
        conditions: Some(conditions),
        current_metrics: Some(metrics),
        current_replicas: Some(status.current_replicas.unwrap_or_default()),
        ..status.clone()
    }
}

fn plain_condition(condition: &HorizontalPodAutoscalerCondition) -> HorizontalPodAutoscalerCondition {
    HorizontalPodAutoscalerCondition {
        message: Some(condition.message.clone().unwrap_or_default()),
        reason: Some(condition.reason.clone().unwrap_or_default()),
        ..condition.clone()
    }
}

fn plain_metric(metric: &MetricStatus) -> MetricStatus {
    let mut metric = metric.clone();
    if let Some(external) = &mut metric.external {
        make_plain(Some(&mut external.metric), &mut external.current);
    }
    if let Some(object) = &mut metric.object {
        make_plain(Some(&mut object.metric), &mut object.current);
    }
    if let Some(pods) = &mut metric.pods {
        make_plain(Some(&mut pods.metric), &mut pods.current);
    }
    if let Some(resource) = &mut metric.resource {
        make_plain(None, &mut resource.current);
    }
    if let Some(resource) = &mut metric.container_resource {
        make_plain(None, &mut resource.current);
    }
    metric
}

fn make_plain(metric: Option<&mut MetricIdentifier>, current: &mut MetricValueStatus) {
    if let Some(selector) = metric.and_then(|metric| metric.selector.as_mut()) {
        selector.match_labels.get_or_insert_default();
        selector.match_expressions.get_or_insert_default();
    }
    for quantity in [&mut current.value, &mut current.average_value].into_iter().flatten() {
        *quantity = plain_quantity(quantity);
    }
}

/// Amounts of a status are whole thousandths, so these two numbers identify them.
fn plain_quantity(text: &api::Quantity) -> api::Quantity {
    let spell = |quantity: Quantity| format!("{}m of {}", quantity.milli_value(), quantity.value());
    Quantity::parse(&text.0).map_or_else(|_| text.clone(), |quantity| api::Quantity(spell(quantity)))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::autoscaling::v2::ResourceMetricStatus;

    use super::*;

    fn memory_at(quantity: &str) -> HorizontalPodAutoscalerStatus {
        let average_value = Some(api::Quantity(quantity.to_owned()));
        let current = MetricValueStatus { average_value, ..MetricValueStatus::default() };
        let resource = Some(ResourceMetricStatus { name: "memory".to_owned(), current });
        let metric = MetricStatus { type_: "Resource".to_owned(), resource, ..MetricStatus::default() };
        HorizontalPodAutoscalerStatus {
            current_metrics: Some(vec![metric]),
            ..HorizontalPodAutoscalerStatus::default()
        }
    }

    #[test]
    fn a_status_is_written_only_when_it_differs() {
        let empty = HorizontalPodAutoscalerStatus::default();
        let zeros = HorizontalPodAutoscalerStatus {
            conditions: Some(vec![]),
            current_metrics: Some(vec![]),
            current_replicas: Some(0),
            ..HorizontalPodAutoscalerStatus::default()
        };
        let rows = [
            ("empty lists equal absent ones", empty.clone(), zeros, StatusWrite::Spared),
            ("quantities count by value", memory_at("1Ki"), memory_at("1024"), StatusWrite::Spared),
            ("other quantities are news", memory_at("1Ki"), memory_at("1k"), StatusWrite::Needed),
            ("a metric more is news", empty, memory_at("1Ki"), StatusWrite::Needed),
        ];
        for (name, old, new, expected) in rows {
            assert_eq!(compare(&old, &new), expected, "{name}");
        }
    }
}
