//! How metrics appear in the status.

use k8s_openapi::api::autoscaling::v2::{
    ContainerResourceMetricSource, ContainerResourceMetricStatus, ExternalMetricSource, ExternalMetricStatus,
    MetricStatus, MetricValueStatus, ObjectMetricSource, ObjectMetricStatus, PodsMetricSource, PodsMetricStatus,
    ResourceMetricSource, ResourceMetricStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource as api;

use crate::milli::Milli;
use crate::quantity::Quantity;

pub(super) fn external(source: &ExternalMetricSource, current: MetricValueStatus) -> MetricStatus {
    let external = ExternalMetricStatus { metric: source.metric.clone(), current };
    MetricStatus { type_: "External".to_owned(), external: Some(external), ..MetricStatus::default() }
}

pub(super) fn object(source: &ObjectMetricSource, current: MetricValueStatus) -> MetricStatus {
    let (metric, described_object) = (source.metric.clone(), source.described_object.clone());
    let object = ObjectMetricStatus { metric, described_object, current };
    MetricStatus { type_: "Object".to_owned(), object: Some(object), ..MetricStatus::default() }
}

pub(super) fn pods(source: &PodsMetricSource, current: MetricValueStatus) -> MetricStatus {
    let pods = PodsMetricStatus { metric: source.metric.clone(), current };
    MetricStatus { type_: "Pods".to_owned(), pods: Some(pods), ..MetricStatus::default() }
}

pub(super) fn resource(source: &ResourceMetricSource, current: MetricValueStatus) -> MetricStatus {
    let resource = ResourceMetricStatus { name: source.name.clone(), current };
    MetricStatus { type_: "Resource".to_owned(), resource: Some(resource), ..MetricStatus::default() }
}

pub(super) fn container_resource(source: &ContainerResourceMetricSource, current: MetricValueStatus) -> MetricStatus {
    let (name, container) = (source.name.clone(), source.container.clone());
    let status = ContainerResourceMetricStatus { name, container, current };
    MetricStatus { type_: "ContainerResource".to_owned(), container_resource: Some(status), ..MetricStatus::default() }
}

pub(super) fn value(amount: Milli) -> MetricValueStatus {
    MetricValueStatus { value: Some(decimal(amount)), ..MetricValueStatus::default() }
}

pub(super) fn average(amount: Milli) -> MetricValueStatus {
    MetricValueStatus { average_value: Some(decimal(amount)), ..MetricValueStatus::default() }
}

/// The average of a resource, and its utilisation where the target is one.
pub(super) fn resource_average(name: &str, amount: Milli, percent: Option<i32>) -> MetricValueStatus {
    let quantity = if name == "memory" { binary(amount) } else { decimal(amount) };
    MetricValueStatus { average_utilization: percent, average_value: Some(quantity), value: None }
}

fn decimal(amount: Milli) -> api::Quantity {
    api::Quantity(Quantity::from_milli(amount.0).canonical())
}

/// With suffixes for powers of 1024, as far as that loses nothing; small amounts and fractions stay decimal.
fn binary(amount: Milli) -> api::Quantity {
    let mut units = amount.0 / 1000;
    if amount.0 % 1000 != 0 || units.unsigned_abs() < 1024 {
        return decimal(amount);
    }
    let mut suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
    let mut suffix = suffixes.next().unwrap_or_default();
    while units % 1024 == 0 {
        let Some(next) = suffixes.next() else { break };
        (units, suffix) = (units / 1024, next);
    }
    api::Quantity(format!("{units}{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_shown_in_powers_of_1024_where_that_is_exact() {
        let rows = [
            ("whole mebibytes", 104_857_600_000, "100Mi"),
            ("whole bytes", 1_025_000, "1025"),
            ("a kibibyte", 1_024_000, "1Ki"),
            ("less than a kibibyte", 512_000, "512"),
            ("part of a byte", 104_857_600_500, "104857600500m"),
        ];
        for (name, milli, text) in rows {
            assert_eq!(binary(Milli(milli)).0, text, "{name}");
        }
    }
}
