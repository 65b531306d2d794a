//! What the API server does with objects of its own kinds.

pub(crate) mod format;
pub(crate) mod shape;

use serde_json::Value;

use crate::error::{ApiError, FieldProblem};
use crate::resource::Gvr;

pub fn complete(_resource: &Gvr, _object: &mut Value) {}

pub fn decode(_resource: &Gvr, _object: &mut Value) -> Result<(), ApiError> {
    Ok(())
}

pub fn check(_resource: &Gvr, _new: &Value, _old: Option<&Value>) -> Vec<FieldProblem> {
    Vec::new()
}
