//! The kinds of patches, each as the API server applies it to the object that is stored. What comes out is not decoded
//! yet: it may still have unknown fields, values of wrong types, and nulls.

mod json;
mod merge;
mod strategic;

use serde_json::{Map, Value};

use crate::api::error::ApiError;
use crate::api::request::PatchKind;
use crate::api::resource::Gvr;
use crate::builtin::decode::json_kind;

/// The object with the patch applied.
pub(crate) fn apply(kind: PatchKind, resource: &Gvr, current: &Value, patch: &Value) -> Result<Value, ApiError> {
    match kind {
        PatchKind::Json => json::apply(current, patch),
        PatchKind::Merge => merge::apply(current, patch),
        PatchKind::StrategicMerge => strategic::apply(resource, current, patch),
        PatchKind::Apply => Err(ApiError::new(
            500,
            "InternalError",
            "Internal error occurred: server-side apply is no patch of this kind",
        )),
    }
}

type Object = Map<String, Value>;

/// The error for a patch that does not apply to the object.
fn rejected() -> ApiError {
    let message = "the server rejected our request due to an error in our request";
    ApiError { details: Some(Value::Object(Map::new())), ..ApiError::new(422, "Invalid", message) }
}

fn bad_request(message: impl Into<String>) -> ApiError {
    ApiError::new(400, "BadRequest", message)
}

/// That the patch should have been an object.
fn not_an_object(patch: &Value) -> String {
    format!("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", json_kind(patch))
}

#[cfg(test)]
pub(crate) mod tests;
