//! `cpu` and `memory`: metrics that the HPA controller reads by itself. The operator only sets the target.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::{
    ContainerResourceMetricSource, MetricSpec, MetricTarget, ResourceMetricSource,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kedge_core::trigger_class::{Resource, TriggerClass};

use crate::error::ReadError;
use crate::field::{Field, FieldGroup};
use crate::metadata::Reader;
use crate::metadata::convert::{self, ConversionError, Converted};
use crate::scaler::{Activity, BoxFuture, Known, Scaler};
use crate::trigger::{BuildError, FieldError, TriggerConfig};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static CPU: TriggerType = describe(Resource::Cpu, "the CPU time that the pods use");
pub(crate) static MEMORY: TriggerType = describe(Resource::Memory, "the memory that the pods use");

const fn describe(resource: Resource, help: &'static str) -> TriggerType {
    TriggerType {
        name: match resource {
            Resource::Cpu => "cpu",
            Resource::Memory => "memory",
        },
        keda_scaler: "cpuMemoryScaler",
        class: TriggerClass::Resource(resource),
        help,
        docs_page: "cpu-memory.md",
        groups: &[FieldGroup { title: "Parameters", fields: &[VALUE, CONTAINER_NAME, TYPE] }],
        other_parameters: OtherParameters::Ignored,
        activation: None,
        metrics: MetricsOrigin::Trigger,
        cluster_reads: &[],
        build: |_, trigger| Ok(Arc::new(build(trigger)?)),
    }
}

const VALUE: Field = Field::required("value")
    .help("The target: a percentage of the request with `metricType: Utilization`, an amount with `AverageValue`");
/// The container whose resource is measured.
pub const CONTAINER_NAME: Field = Field::optional("containerName").help("Measures this container instead of the pods");
const TYPE: Field = Field::optional("type")
    .removed("'type' was removed in v2.18, 'metricType' takes its place")
    .help("Write `metricType` beside the trigger's `type`");

/// One resource of the pods, or of one of their containers.
#[derive(Debug)]
pub(crate) struct ResourceScaler {
    resource: String,
    container: Option<String>,
    target: Target,
}

#[derive(Clone, Debug, PartialEq)]
enum Target {
    /// Percent of the request.
    Utilization(i32),
    AverageValue(String),
}

/// Builds a scaler for the resource that the trigger type names.
fn build(trigger: &TriggerConfig<'_>) -> Result<ResourceScaler, BuildError> {
    let mut read = Reader::new(trigger);
    read.removed(TYPE, "remove it and write metricType beside the trigger's type");
    let container = read.optional(CONTAINER_NAME, convert::text);
    let target = match trigger.metric_type.unwrap_or_default() {
        "Utilization" => read.required(VALUE, parse_percent).map(Target::Utilization),
        "AverageValue" => read.required(VALUE, parse_quantity).map(Target::AverageValue),
        other => {
            // Also a missing value is worth knowing now.
            read.required(VALUE, convert::text);
            read.error(unknown_metric_type(other));
            None
        }
    };
    read.finish(target.map(|target| ResourceScaler { resource: trigger.trigger_type.to_owned(), container, target }))
}

fn unknown_metric_type(given: &str) -> FieldError {
    let problem = match given {
        "" => "is missing, allowed values are 'Utilization' or 'AverageValue'".to_owned(),
        // KEDA: its words.
        _ => format!("has an unknown metric type: {given}, allowed values are 'Utilization' or 'AverageValue'"),
    };
    FieldError::new("metricType", problem, "write Utilization for percent of the request, AverageValue for an amount")
}

fn parse_percent(value: &str) -> Converted<i32> {
    match value.parse() {
        // KEDA: takes them, and the API server rejects the HPA.
        Ok(..=0) => Err(not_above_zero()),
        Ok(percent) => Ok(percent),
        Err(_) => Err(ConversionError::new("is not a whole percentage", "write plain digits, as in 60, without %")),
    }
}

fn not_above_zero() -> ConversionError {
    ConversionError::new("is not above 0, and no HPA can have such a target", "write what one replica should use")
}

/// The quantity in the spelling that the API server would give it.
fn parse_quantity(value: &str) -> Converted<String> {
    match kedge_core::quantity::Quantity::parse(value) {
        Ok(quantity) if quantity.is_positive() => Ok(quantity.canonical()),
        Ok(_) => Err(not_above_zero()),
        Err(error) => Err(ConversionError::new(format!("is not a quantity: {error}"), "write it as in 500m or 200Mi")),
    }
}

impl ResourceScaler {
    fn spec(&self) -> MetricSpec {
        let (name, target) = (self.resource.clone(), self.target.spec());
        match &self.container {
            Some(container) => MetricSpec {
                type_: "ContainerResource".to_owned(),
                container_resource: Some(ContainerResourceMetricSource { container: container.clone(), name, target }),
                ..MetricSpec::default()
            },
            None => MetricSpec {
                type_: "Resource".to_owned(),
                resource: Some(ResourceMetricSource { name, target }),
                ..MetricSpec::default()
            },
        }
    }
}

impl Target {
    fn spec(&self) -> MetricTarget {
        match self {
            Self::Utilization(percent) => MetricTarget {
                type_: "Utilization".to_owned(),
                average_utilization: Some(*percent),
                ..MetricTarget::default()
            },
            Self::AverageValue(amount) => MetricTarget {
                type_: "AverageValue".to_owned(),
                average_value: Some(Quantity(amount.clone())),
                ..MetricTarget::default()
            },
        }
    }
}

impl Scaler for ResourceScaler {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(async { Ok(vec![self.spec()]) })
    }

    // KEDA: no values, active; whether that wakes anything is decided over all triggers together.
    fn read<'a>(&'a self, _metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(async { Ok(Known { values: Vec::new(), activity: Activity::Active }) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample::Sample;

    #[test]
    fn specs_are_those_of_keda() {
        let rows = [
            (
                "percent of the request",
                Sample::new("cpu").metric_type("Utilization").with("value", "60"),
                json!({"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 60}}}),
            ),
            (
                "an amount",
                Sample::new("memory").metric_type("AverageValue").with("value", "200Mi"),
                json!({"type": "Resource", "resource": {"name": "memory",
                    "target": {"type": "AverageValue", "averageValue": "200Mi"}}}),
            ),
            (
                "of one container",
                Sample::new("cpu").metric_type("AverageValue").with("value", "500m").with("containerName", "app"),
                json!({"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app",
                    "target": {"type": "AverageValue", "averageValue": "500m"}}}),
            ),
            (
                "a blank container is none",
                Sample::new("cpu").metric_type("Utilization").with("value", " 50 ").with("containerName", ""),
                json!({"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50}}}),
            ),
        ];
        for (name, sample, expected) in rows {
            let spec = build(&sample.trigger()).unwrap().spec();
            assert_eq!(serde_json::to_value(spec).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn errors_come_with_a_remedy() {
        let utilization = |value: &str| Sample::new("cpu").metric_type("Utilization").with("value", value);
        let amount = |value: &str| Sample::new("memory").metric_type("AverageValue").with("value", value);
        let rows: [(&str, Sample, &[&str]); 11] = [
            ("zero percent", utilization("0"), &["`value` \"0\" is not above 0"]),
            ("less than zero", utilization("-1"), &["`value` \"-1\" is not above 0"]),
            ("no amount", amount("0Mi"), &["`value` \"0Mi\" is not above 0"]),
            ("less than no amount", amount("-5m"), &["`value` \"-5m\" is not above 0"]),
            ("no metric type", Sample::new("cpu").with("value", "60"), &["`metricType` is missing, allowed"]),
            ("Value", Sample::new("cpu").metric_type("Value").with("value", "1"), &["unknown metric type: Value,"]),
            ("no value", Sample::new("cpu").metric_type("Utilization"), &["`value` is missing"]),
            ("not even that", Sample::new("cpu"), &["`value` is missing", "`metricType` is missing"]),
            (
                "the removed type",
                Sample::new("memory").metric_type("Utilization").with("value", "60").with("type", "Utilization"),
                &["`type` is refused (scaler memory info: ", "write metricType beside"],
            ),
            (
                "more than 32 bits",
                Sample::new("cpu").metric_type("Utilization").with("value", "2147483648"),
                &["`value` \"2147483648\" is not a whole percentage"],
            ),
            (
                "a bad quantity",
                Sample::new("memory").metric_type("AverageValue").with("value", "200MB"),
                &["`value` \"200MB\" is not a quantity", "200Mi"],
            ),
        ];
        for (name, sample, expected) in rows {
            let text = build(&sample.trigger()).unwrap_err().to_string();
            for part in expected {
                assert!(text.contains(part), "{name}: {text}");
            }
        }
    }

    #[tokio::test]
    async fn a_reading_has_no_values_and_is_active() {
        let scaler = build(&Sample::new("cpu").metric_type("Utilization").with("value", "60").trigger()).unwrap();
        let known = scaler.read("", DateTime::UNIX_EPOCH).await.unwrap();
        assert_eq!(known, Known { values: Vec::new(), activity: Activity::Active });
    }
}
