//! The HPA that belongs to a ScaledObject.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, ExternalMetricSource, HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscaler,
    HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerSpec, MetricIdentifier, MetricSpec, MetricTarget,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kedge_api::ScaledObject;
use kedge_api::names::{self, annotations, labels};
use kedge_api::scaled_object::{HpaBehavior, HpaScalingRules};

use crate::fallback::MetricType;
use crate::formula::settings::Composite;
use crate::milli::Milli;
use crate::owned::{owner_reference, with_labels_of_owner};
use crate::policy::{Direction, Overrides, Policy};
use crate::quantity;

/// The longest value a label can have.
const LABEL_LENGTH_MAX: usize = 63;

/// The kind of the target, as the cluster resolved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetKind {
    pub api_version: String,
    pub kind: String,
}

/// Why no HPA can be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    #[error("no metric specs returned from scalers for ScaledObject {namespace}/{name}")]
    NoMetrics { namespace: String, name: String },
    #[error("metricName {metric} defined multiple times in ScaledObject {name}")]
    MetricTwice { metric: String, name: String },
}

/// The name of the HPA: from the spec, or derived from the object's name.
pub fn hpa_name(object: &ScaledObject) -> String {
    let config = object.spec.advanced.as_ref().and_then(|advanced| advanced.horizontal_pod_autoscaler_config.as_ref());
    match config.and_then(|config| config.name.as_ref()).filter(|name| !name.is_empty()) {
        Some(name) => name.clone(),
        None => format!("{}{}", names::HPA_NAME_PREFIX, object.metadata.name.as_deref().unwrap_or_default()),
    }
}

/// Renders the HPA. `metrics` are those of all triggers, in their order.
pub fn render(
    object: &ScaledObject,
    target: &TargetKind,
    metrics: Vec<MetricSpec>,
    version: &str,
) -> Result<HorizontalPodAutoscaler, RenderError> {
    let policy = Policy::from_spec(&object.spec, object.metadata.annotations.as_ref());
    Ok(HorizontalPodAutoscaler {
        metadata: ObjectMeta {
            name: Some(hpa_name(object)),
            namespace: object.metadata.namespace.clone(),
            labels: Some(render_labels(object, version)),
            annotations: object.metadata.annotations.clone(),
            owner_references: Some(vec![owner_reference("ScaledObject", &object.metadata)]),
            ..ObjectMeta::default()
        },
        spec: HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some(target.api_version.clone()),
                kind: target.kind.clone(),
                name: object.spec.scale_target_ref.name.clone(),
            },
            min_replicas: Some(policy.activation_replicas()),
            max_replicas: policy.max,
            behavior: render_behavior(object, &policy.overrides),
            metrics: Some(render_metrics(object, metrics)?),
        },
        status: None,
    })
}

/// The metric spec of a composite metric.
pub fn composite_spec(composite: &Composite) -> MetricSpec {
    let Milli(target) = composite.target;
    let amount = Some(Quantity(quantity::Quantity::from_milli(target).canonical()));
    let target = match composite.metric_type {
        MetricType::AverageValue => {
            MetricTarget { type_: "AverageValue".to_owned(), average_value: amount, ..MetricTarget::default() }
        }
        MetricType::Value => MetricTarget { type_: "Value".to_owned(), value: amount, ..MetricTarget::default() },
    };
    let metric = MetricIdentifier { name: names::COMPOSITE_METRIC.to_owned(), selector: None };
    MetricSpec {
        type_: "External".to_owned(),
        external: Some(ExternalMetricSource { metric, target }),
        ..MetricSpec::default()
    }
}

/// The metrics of all triggers, with the composite one in place of the external ones. cpu and memory stay, also where they
/// watch one container (KEDA drops these).
pub fn with_composite(metrics: Vec<MetricSpec>, composite: &Composite) -> Vec<MetricSpec> {
    let resources = metrics.into_iter().filter(|metric| metric.external.is_none());
    resources.chain([composite_spec(composite)]).collect()
}

fn render_labels(object: &ScaledObject, version: &str) -> BTreeMap<String, String> {
    let name = object.metadata.name.clone().unwrap_or_default();
    let labels = [
        (labels::NAME, label_value(&hpa_name(object))),
        (labels::VERSION, version.to_owned()),
        (labels::PART_OF, name.clone()),
        (labels::MANAGED_BY, labels::MANAGED_BY_OPERATOR.to_owned()),
        (labels::SCALED_OBJECT_NAME, name),
    ];
    with_labels_of_owner(labels, &object.metadata, annotations::HPA_EXCLUDED_LABELS)
}

/// A name cut down to what a label can hold.
fn label_value(name: &str) -> String {
    let cut: String = name.chars().take(LABEL_LENGTH_MAX).collect();
    cut.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

fn render_behavior(object: &ScaledObject, overrides: &Overrides) -> Option<HorizontalPodAutoscalerBehavior> {
    let config = object.spec.advanced.as_ref().and_then(|advanced| advanced.horizontal_pod_autoscaler_config.as_ref());
    let given = config.and_then(|config| config.behavior.as_ref());
    let paused = [overrides.scale_in, overrides.scale_out].contains(&Direction::Paused);
    if given.is_none() && !paused {
        return None;
    }
    let HpaBehavior { scale_up, scale_down } = given.cloned().unwrap_or_default();
    Some(HorizontalPodAutoscalerBehavior {
        scale_up: render_rules(scale_up, overrides.scale_out),
        scale_down: render_rules(scale_down, overrides.scale_in),
    })
}

/// The rules of one direction; a pause disables it and keeps the rest.
fn render_rules(given: Option<HpaScalingRules>, direction: Direction) -> Option<HPAScalingRules> {
    let paused = direction == Direction::Paused;
    let rules = given.or_else(|| paused.then(HpaScalingRules::default))?;
    let policies = rules.policies.map(|policies| policies.into_iter().map(render_policy).collect());
    Some(HPAScalingRules {
        policies,
        select_policy: if paused { Some("Disabled".to_owned()) } else { rules.select_policy },
        stabilization_window_seconds: rules.stabilization_window_seconds,
        tolerance: rules.tolerance.map(|tolerance| match tolerance {
            IntOrString::Int(number) => Quantity(number.to_string()),
            IntOrString::String(text) => Quantity(text),
        }),
    })
}

fn render_policy(policy: kedge_api::scaled_object::HpaScalingPolicy) -> HPAScalingPolicy {
    HPAScalingPolicy { type_: policy.r#type, value: policy.value, period_seconds: policy.period_seconds }
}

/// The metrics of all triggers, each external one bound to this object by a selector, in the order of their types.
fn render_metrics(object: &ScaledObject, mut metrics: Vec<MetricSpec>) -> Result<Vec<MetricSpec>, RenderError> {
    let name = object.metadata.name.clone().unwrap_or_default();
    if metrics.is_empty() {
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        return Err(RenderError::NoMetrics { namespace, name });
    }
    let mut seen = BTreeSet::new();
    for external in metrics.iter_mut().filter_map(|metric| metric.external.as_mut()) {
        if !seen.insert(external.metric.name.clone()) {
            return Err(RenderError::MetricTwice { metric: external.metric.name.clone(), name });
        }
        external.metric.selector = Some(LabelSelector {
            match_labels: Some([(labels::SCALED_OBJECT_NAME.to_owned(), name.clone())].into()),
            match_expressions: None,
        });
    }
    // KEDA: ContainerResource, External, Resource; within a type the order of the triggers; and a composite metric last.
    let is_composite = |metric: &MetricSpec| {
        metric.external.as_ref().is_some_and(|external| external.metric.name == names::COMPOSITE_METRIC)
    };
    metrics.sort_by(|a, b| (is_composite(a), &a.type_).cmp(&(is_composite(b), &b.type_)));
    Ok(metrics)
}

#[cfg(test)]
mod tests;
