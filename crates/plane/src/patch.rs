//! To be written.

use serde_json::Value;

use crate::call::PatchKind;
use crate::error::ApiError;
use crate::resource::Gvr;

pub fn apply(kind: PatchKind, _resource: &Gvr, current: &Value, patch: &Value) -> Result<Value, ApiError> {
    let mut out = current.clone();
    match kind {
        PatchKind::Json => {
            let patch: json_patch::Patch =
                serde_json::from_value(patch.clone()).map_err(|e| ApiError::new(400, "BadRequest", e.to_string()))?;
            json_patch::patch(&mut out, &patch).map_err(|e| ApiError::new(422, "Invalid", e.to_string()))?;
        }
        _ => json_patch::merge(&mut out, patch),
    }
    Ok(out)
}
