//! Refusals, as the API server words them: a `Status` with code, reason, message and details.

use serde_json::{Value, json};

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// As in the causes of a `Status`: `FieldValueInvalid`, `FieldValueRequired`, `FieldValueNotSupported`, …
    pub reason: &'static str,
    /// The path, e.g. `spec.template.spec.containers[0].name`.
    pub field: String,
    /// Without the path: `Invalid value: -1: must be greater than or equal to 0`.
    pub message: String,
}

impl FieldProblem {
    pub fn new(reason: &'static str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, field: field.into(), message: message.into() }
    }

    /// `FieldValueRequired`.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        let colon = if detail.is_empty() { "" } else { ": " };
        Self::new("FieldValueRequired", field, format!("Required value{colon}{detail}"))
    }

    /// `FieldValueInvalid`. The value is shown as Go shows it: strings in quotes, numbers bare.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {detail}"))
    }
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    pub code: u16,
    /// Empty where the API server gives none.
    pub reason: &'static str,
    pub message: String,
    /// The `details` of the `Status`, if there are any.
    pub details: Option<Value>,
}

impl ApiError {
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    /// The body of the answer.
    pub fn status(&self) -> Value {
        let mut status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status["code"] = json!(self.code);
        status
    }
}
