//! Validation errors, as `k8s.io/apimachinery/pkg/util/validation/field` has them.

use serde_json::Value;

/// One invalid field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// As in the causes of a `Status`: `FieldValueInvalid`, `FieldValueRequired`, `FieldValueNotSupported`, …
    pub reason: &'static str,
    /// The path, e.g. `spec.template.spec.containers[0].name`.
    pub field: String,
    /// Without the path: `Invalid value: -1: must be greater than or equal to 0`.
    pub message: String,
}

impl FieldError {
    pub fn new(reason: &'static str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, field: field.into(), message: message.into() }
    }

    /// `FieldValueRequired`.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        let colon = if detail.is_empty() { "" } else { ": " };
        Self::new("FieldValueRequired", field, format!("Required value{colon}{detail}"))
    }

    /// `FieldValueInvalid`. The value is rendered as Go does: strings in quotes, numbers bare.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {detail}"))
    }

    /// `FieldValueDuplicate`.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::new("FieldValueDuplicate", field, format!("Duplicate value: {value}"))
    }

    /// `FieldValueInvalid` with the value rendered by the caller: where Go writes its fields in an order of its own.
    pub fn invalid_rendered(field: impl Into<String>, value: &str, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {detail}"))
    }

    /// `FieldValueForbidden`.
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
    }

    /// `FieldValueNotSupported`.
    pub fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let supported: Vec<_> = supported.iter().map(|value| format!("{value:?}")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
        Self::new("FieldValueNotSupported", field, message)
    }
}
