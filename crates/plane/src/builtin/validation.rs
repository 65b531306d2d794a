//! What the API server refuses of its own kinds, in its words and its order. Checked are the mistakes that are made:
//! names, labels, selectors, containers, ports, replicas, metrics, what must not change. Not checked are the details of
//! volumes, security contexts, affinities and resources.

mod autoscaler;
pub(crate) mod event;
mod metadata;
mod pod;
mod registration;
mod various;
mod workload;

use kedge_schema::FieldError;
use serde_json::Value;

use super::types;
use crate::api::resource::Gvr;

pub(crate) use workload::deployment_status as check_deployment_status;

/// What is wrong with a decoded and completed object of a built-in kind, its metadata included; with the one before it,
/// also what must not have changed. Custom resources have no errors here: see [`kedge_schema::metadata`] for these.
pub(crate) fn check(resource: &Gvr, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let Some(shape) = types::for_resource(resource) else { return Vec::new() };
    let kind = shape.short_name();
    // Events are validated by the group in which they are written.
    let mut errors = if kind == "Event" { Vec::new() } else { metadata::check(kind, new, old) };
    errors.extend(match kind {
        "APIService" => registration::api_service(new),
        "ConfigMap" => various::config_map(new, old),
        "Deployment" => workload::deployment(new, old),
        "HorizontalPodAutoscaler" => autoscaler::check(new, old),
        "Lease" => various::lease(&new["spec"]),
        "Pod" => pod::pod(new, old),
        "PodDisruptionBudget" => various::disruption_budget(&new["spec"]),
        "ReplicaSet" => workload::replica_set(new, old),
        "RoleBinding" | "ClusterRoleBinding" => registration::role_binding(new, old),
        "Secret" => various::secret(new, old),
        "Service" => various::service(&new["spec"]),
        "StatefulSet" => workload::stateful_set(new, old),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => registration::webhooks(new),
        _ => Vec::new(),
    });
    errors
}

type Errors = Vec<FieldError>;

fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> FieldError {
    FieldError::invalid(field, value, detail)
}

fn required(field: impl Into<String>, detail: &str) -> FieldError {
    FieldError::required(field, detail)
}

fn forbidden(field: impl Into<String>, detail: &str) -> FieldError {
    FieldError::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
}

fn duplicate(field: impl Into<String>, value: &Value) -> FieldError {
    FieldError::new("FieldValueDuplicate", field, format!("Duplicate value: {value}"))
}

fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> FieldError {
    unsupported_as(field, &value.to_string(), supported)
}

fn unsupported_as(field: impl Into<String>, value: &str, supported: &[&str]) -> FieldError {
    let supported: Vec<_> = supported.iter().map(|value| format!("{value:?}")).collect();
    let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
    FieldError::new("FieldValueNotSupported", field, message)
}

/// A problem with a value that Go shows in its own order of fields, or with its own names for them.
fn invalid_as(field: impl Into<String>, shown: &str, detail: &str) -> FieldError {
    FieldError::new("FieldValueInvalid", field, format!("Invalid value: {shown}: {detail}"))
}

/// An object with its fields in this order, and under other names where these are given; absent ones are null where
/// they have another name, and left out otherwise.
fn shown(object: &Value, fields: &[(&str, Option<&str>)]) -> String {
    let kept = fields.iter().filter(|(name, other)| other.is_some() || !object[*name].is_null());
    let fields: Vec<_> = kept.map(|(name, other)| format!("\"{}\":{}", other.unwrap_or(name), object[*name])).collect();
    format!("{{{}}}", fields.join(","))
}

/// A label selector as Go shows it.
fn shown_selector(selector: &Value) -> String {
    if selector.is_null() {
        "null".to_owned()
    } else {
        shown(selector, &[("matchLabels", None), ("matchExpressions", None)])
    }
}

/// One problem for each sentence about a value.
fn each(field: &str, value: &Value, sentences: Vec<String>) -> Errors {
    sentences.iter().map(|sentence| invalid(field, value, sentence)).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A number that must not be negative; absent is not.
fn not_negative(value: &Value, field: &str) -> Errors {
    let negative = value.as_i64().is_some_and(|number| number < 0);
    negative.then(|| invalid(field, value, "must be greater than or equal to 0")).into_iter().collect()
}

/// Those fields of an object that must not be negative.
fn none_negative(object: &Value, path: &str, fields: &[&str]) -> Errors {
    fields.iter().flat_map(|field| not_negative(&object[*field], &format!("{path}.{field}"))).collect()
}

/// A field that must stay as it is.
fn immutable(new: &Value, old: &Value, field: &str) -> Option<FieldError> {
    (new != old).then(|| invalid(field, new, "field is immutable"))
}
