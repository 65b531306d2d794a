//! Errors, as the API server words them: a `Status` with code, reason, message and details.

use kedge_schema::FieldError;
use serde_json::{Value, json};

use crate::api::resource::GroupResource;

/// A cause in the details of a `Status`.
fn cause(error: &FieldError) -> Value {
    json!({ "reason": error.reason, "message": error.message, "field": error.field })
}

/// `: one` or `: [one, another]`, each error once.
fn listed(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for problem in errors {
        let text = format!("{}: {}", problem.field, problem.message);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [] => String::new(),
        [one] => format!(": {one}"),
        many => format!(": [{}]", many.join(", ")),
    }
}

/// An error response.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    pub code: u16,
    /// Empty where the API server gives none.
    pub reason: &'static str,
    pub message: String,
    /// The `details` of the `Status`, if there are any.
    pub details: Option<Value>,
    /// The list metadata of the `Status`: an expired page holds a new continue token.
    pub metadata: Option<Value>,
}

impl ApiError {
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, metadata: None }
    }

    fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        let mut details = json!({ "kind": resource.plural });
        for (key, text) in [("name", name), ("group", resource.group.as_str())] {
            if !text.is_empty() {
                details[key] = json!(text);
            }
        }
        self.details = Some(details);
        self
    }

    /// There is no such object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} {name:?} not found")).about(resource, name)
    }

    /// There is one of that name already.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{resource} {name:?} already exists")).about(resource, name)
    }

    /// The object is not in the state that the writer expects.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {resource} {name:?}: {why}"))
            .about(resource, name)
    }

    /// The object was modified meanwhile.
    pub fn modified(resource: &GroupResource, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// Forbidden, whatever the object holds.
    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let quoted = if name.is_empty() { String::new() } else { format!(" {name:?}") };
        Self::new(403, "Forbidden", format!("{resource}{quoted} is forbidden: {why}")).about(resource, name)
    }

    /// The request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The revision is compacted.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// Nothing is served under this path.
    pub fn unknown_path() -> Self {
        Self {
            details: Some(json!({})),
            ..Self::new(404, "NotFound", "the server could not find the requested resource")
        }
    }

    /// Something is served under this path, but not this method.
    pub fn method_not_allowed() -> Self {
        Self {
            details: Some(json!({})),
            ..Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        }
    }

    /// The body is of a media type that is not accepted.
    pub fn unknown_format(known: &[&str]) -> Self {
        let known = known.join(", ");
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {known}");
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// An error of the server, or of a webhook that it called.
    pub fn internal(message: &str) -> Self {
        let details = json!({ "causes": [{ "message": message }] });
        Self {
            details: Some(details),
            ..Self::new(500, "InternalError", format!("Internal error occurred: {message}"))
        }
    }

    /// The requested revision is in the future.
    pub fn too_large_version(wanted: u64, current: u64) -> Self {
        let causes = json!([{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }]);
        let details = json!({ "causes": causes, "retryAfterSeconds": 1 });
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        Self { details: Some(details), ..Self::new(504, "Timeout", message) }
    }

    /// The result of a patch cannot be decoded.
    pub fn invalid_patch(made: &str, problem: &str) -> Self {
        let problem = FieldError::invalid("patch", &Value::from(made), problem);
        let mut error = Self::invalid("", "", "", std::slice::from_ref(&problem));
        error.details = Some(json!({ "causes": [cause(&problem)] }));
        error
    }

    /// The object is invalid. The kind is written with its group: `Deployment.apps`.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let causes: Vec<_> = errors.iter().map(cause).collect();
        let mut details = json!({ "kind": kind, "causes": causes });
        for (key, text) in [("name", name), ("group", group)] {
            if !text.is_empty() {
                details[key] = json!(text);
            }
        }
        let message = format!("{qualified} {name:?} is invalid{}", listed(errors));
        Self { details: Some(details), ..Self::new(422, "Invalid", message) }
    }

    /// An error of another server: a `Status`, or plain text.
    pub fn received(code: u16, body: &[u8]) -> Self {
        let Ok(status @ Value::Object(_)) = serde_json::from_slice::<Value>(body) else {
            return Self::new(code, "", String::from_utf8_lossy(body).trim_end());
        };
        let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(code);
        let reason = known_reason(status["reason"].as_str().unwrap_or(""));
        let mut error = Self::new(code, reason, status["message"].as_str().unwrap_or(""));
        error.details = Some(status["details"].clone()).filter(|details| !details.is_null());
        error
    }

    /// The body of the response.
    pub fn status(&self) -> Value {
        let mut status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": self.metadata.as_ref().unwrap_or(&json!({})), "status": "Failure", "message": self.message });
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

/// A reason that another server gave, if it is one of Kubernetes' own.
pub(crate) fn known_reason(reason: &str) -> &'static str {
    const KNOWN: [&str; 17] = [
        "AlreadyExists",
        "BadRequest",
        "Conflict",
        "Expired",
        "Forbidden",
        "Gone",
        "InternalError",
        "Invalid",
        "MethodNotAllowed",
        "NotAcceptable",
        "NotFound",
        "ServerTimeout",
        "ServiceUnavailable",
        "Timeout",
        "TooManyRequests",
        "Unauthorized",
        "UnsupportedMediaType",
    ];
    KNOWN.into_iter().find(|known| *known == reason).unwrap_or("")
}
