//! The options of writes: `fieldManager`, `dryRun`, `fieldValidation`.

use kedge_schema::FieldError;
use serde_json::json;

use crate::api::error::ApiError;
use crate::api::request::{Call, PatchKind, Verb};

const MANAGER_BYTES_MAX: usize = 128;

/// What happens to unknown fields. They are never kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    Ignored,
    Warned,
    Refused,
}

/// Rejects unknown options.
pub(crate) fn check(call: &Call) -> Result<(), ApiError> {
    let (kind, mut errors) = match call.verb {
        Verb::Create => ("CreateOptions", Vec::new()),
        Verb::Update => ("UpdateOptions", Vec::new()),
        Verb::Patch(kind) => ("PatchOptions", patch_problems(call, kind)),
        Verb::Delete | Verb::DeleteCollection => ("DeleteOptions", delete_problems(call)),
        Verb::Get | Verb::List | Verb::Watch => return Ok(()),
    };
    errors.extend(manager_problem(call));
    errors.extend(dry_run_problem(call));
    errors.extend(validation_problem(call));
    match errors.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid("meta.k8s.io", kind, "", &errors)),
    }
}

/// As the call requests; a warning by default.
pub(crate) fn unknown_fields(call: &Call) -> UnknownFields {
    match call.param("fieldValidation") {
        Some("Ignore") => UnknownFields::Ignored,
        Some("Strict") => UnknownFields::Refused,
        _ => UnknownFields::Warned,
    }
}

fn patch_problems(call: &Call, kind: PatchKind) -> Vec<FieldError> {
    match (kind, call.param("fieldManager"), call.flag("force")) {
        (PatchKind::Apply, None, _) => vec![FieldError::required("fieldManager", "is required for apply patch")],
        (PatchKind::Apply, ..) | (_, _, None) => Vec::new(),
        (_, _, Some(_)) => vec![FieldError::forbidden("force", "may not be specified for non-apply patch")],
    }
}

fn delete_problems(call: &Call) -> Vec<FieldError> {
    let policy = call.option("propagationPolicy");
    let mut errors = Vec::new();
    let Some(policy) = policy.as_ref().and_then(|policy| policy.as_str()) else { return errors };
    if call.option("orphanDependents").is_some() {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid("propagationPolicy", &json!(policy), detail));
    }
    if !["Foreground", "Background", "Orphan"].contains(&policy) {
        let supported = ["Foreground", "Background", "Orphan", "nil"];
        errors.push(FieldError::unsupported("propagationPolicy", &json!(policy), &supported));
    }
    errors
}

fn manager_problem(call: &Call) -> Option<FieldError> {
    let message = format!("Too long: may not be more than {MANAGER_BYTES_MAX} bytes");
    let too_long = call.param("fieldManager")?.len() > MANAGER_BYTES_MAX;
    too_long.then(|| FieldError::new("FieldValueTooLong", "fieldManager", message))
}

fn dry_run_problem(call: &Call) -> Option<FieldError> {
    let given: Vec<&str> =
        call.params.iter().filter(|(key, _)| key == "dryRun").map(|(_, value)| value.as_str()).collect();
    let unknown = given.iter().any(|value| *value != "All");
    unknown.then(|| FieldError::unsupported("dryRun", &json!(given), &["All"]))
}

fn validation_problem(call: &Call) -> Option<FieldError> {
    let supported = ["", "Ignore", "Strict", "Warn"];
    let given = call.param("fieldValidation").filter(|given| !supported.contains(given))?;
    Some(FieldError::unsupported("fieldValidation", &json!(given), &supported))
}
