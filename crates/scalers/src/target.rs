//! The metric as the HPA takes it: what `metricType` means for external metrics, and how targets are written.

use k8s_openapi::api::autoscaling::v2::{ExternalMetricSource, MetricIdentifier, MetricSpec, MetricTarget};
use k8s_openapi::apimachinery::pkg::api::resource;
use kedge_core::quantity::Quantity;

use crate::field::Field;
use crate::metadata::{Reader, convert};
use crate::trigger::{FieldError, Role, TriggerConfig};

/// How the HPA compares an external metric with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetType {
    AverageValue,
    Value,
}

impl TargetType {
    /// Reads `triggers[].metricType` of a trigger with external metrics.
    pub fn parse(trigger: &TriggerConfig<'_>) -> Result<Self, FieldError> {
        match trigger.metric_type.unwrap_or_default() {
            "" | "AverageValue" => Ok(Self::AverageValue),
            "Value" => Ok(Self::Value),
            "Utilization" => Err(FieldError::new(
                "metricType",
                "'Utilization' metric type is unsupported for external metrics, \
                 allowed values are 'Value' or 'AverageValue'",
                "leave it out for AverageValue",
            )),
            // KEDA passes other texts on, and the API server rejects the HPA; an error here reaches the author sooner.
            other => Err(FieldError::new(
                "metricType",
                format!("{other:?} is unknown"),
                "use AverageValue or Value, or leave it out for AverageValue",
            )),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::AverageValue => "AverageValue",
            Self::Value => "Value",
        }
    }
}

/// The least that a target can be: less is 0 when it is written with three decimals.
pub(crate) const LEAST_TARGET: f64 = 0.0005;

/// The one metric of a scaler: its full name and its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    pub name: String,
    pub target_type: TargetType,
    target: String,
}

impl External {
    /// A metric with a target that is a float: three decimals, and 0 for what cannot be a target.
    pub fn float(name: String, target_type: TargetType, target: f64) -> Self {
        Self { name, target_type, target: kedge_core::quantity::format_float(target) }
    }

    /// A metric with a target that is a whole number.
    pub fn whole(name: String, target_type: TargetType, target: i64) -> Self {
        let target = target.to_string();
        let target = Quantity::parse(&target).map_or(target, |target| target.canonical());
        Self { name, target_type, target }
    }

    /// A metric with the target that a field gives. Where only a formula reads it, it can do without.
    pub(crate) fn parse(
        read: &mut Reader<'_>,
        trigger: &TriggerConfig<'_>,
        name: String,
        field: Field,
        remedy: &str,
    ) -> Option<Self> {
        let target_type = read.take(TargetType::parse(trigger));
        let is_given = read.text(field).is_some();
        match (read.optional(field, convert::float), trigger.role) {
            (None, _) if is_given => None,
            (Some(target), _) if target > 0.0 => Some(Self::float(name, target_type?, target)),
            (_, Role::FormulaInput) => Some(Self::one_each(name, target_type?)),
            (_, Role::Metric) => {
                // KEDA: does not distinguish 0 from nothing, and reports the latter in these words.
                let field = field.name;
                let problem = format!("is absent or not above 0 (no {field} given in metadata)");
                read.error(FieldError::new(field, problem, remedy));
                None
            }
        }
    }

    /// A metric with the whole target that a field gives, or its default.
    pub(crate) fn parse_whole(
        read: &mut Reader<'_>,
        trigger: &TriggerConfig<'_>,
        name: String,
        field: Field,
    ) -> Option<Self> {
        let target_type = read.take(TargetType::parse(trigger));
        let target = read.or_default(field, convert::integer);
        match trigger.role {
            _ if target > 0 => Some(Self::whole(name, target_type?, target)),
            Role::FormulaInput => Some(Self::one_each(name, target_type?)),
            // KEDA renders it, and the API server rejects the HPA; an error here reaches the author sooner.
            Role::Metric => {
                read.error(FieldError::new(field.name, "is not above 0", "write for how much one replica is"));
                None
            }
        }
    }

    /// A metric whose target is one a replica.
    pub fn one_each(name: String, target_type: TargetType) -> Self {
        Self { name, target_type, target: "1".to_owned() }
    }

    pub fn spec(&self) -> MetricSpec {
        let mut target = MetricTarget { type_: self.target_type.name().to_owned(), ..MetricTarget::default() };
        let amount = Some(resource::Quantity(self.target.clone()));
        match self.target_type {
            TargetType::AverageValue => target.average_value = amount,
            TargetType::Value => target.value = amount,
        }
        let metric = MetricIdentifier { name: self.name.clone(), selector: None };
        MetricSpec {
            type_: "External".to_owned(),
            external: Some(ExternalMetricSource { metric, target }),
            ..MetricSpec::default()
        }
    }
}
