//! `fieldValidation=Strict`: fields that would be dropped are refused.

use serde_json::Value;

use crate::error::ApiError;
use crate::prepare;
use crate::verbs::Ask;

/// Reads what a caller sent, and refuses what nobody knows if that is wished.
pub(crate) fn read(ask: &Ask<'_>, mut object: Value) -> Result<Value, ApiError> {
    let sent = (ask.call.param("fieldValidation") == Some("Strict")).then(|| object.clone());
    prepare::decode(ask.resource, &mut object)?;
    let mut unknown = Vec::new();
    if let Some(sent) = sent {
        note_unknown(&sent, &object, "", &mut unknown);
    }
    if unknown.is_empty() {
        prepare::complete(ask.resource, &mut object);
        return Ok(object);
    }
    let (kind, version) = (&ask.resource.kind, &ask.resource.gvr.version);
    let fields = unknown.iter().map(|field| format!("unknown field {field:?}")).collect::<Vec<_>>().join(", ");
    Err(ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {fields}"
    )))
}

/// Notes what was sent and is not there. What is empty may be left out, and some metadata is never kept.
fn note_unknown(sent: &Value, read: &Value, path: &str, unknown: &mut Vec<String>) {
    match (sent, read) {
        (Value::Object(sent), Value::Object(read)) => {
            for (field, value) in sent.iter().filter(|(_, value)| !prepare::is_empty(value)) {
                let below = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
                match read.get(field) {
                    Some(kept) => note_unknown(value, kept, &below, unknown),
                    None if matches!(below.as_str(), "metadata.managedFields" | "metadata.selfLink") => {}
                    None => unknown.push(below),
                }
            }
        }
        (Value::Array(sent), Value::Array(read)) => {
            for (index, (sent, read)) in sent.iter().zip(read).enumerate() {
                note_unknown(sent, read, &format!("{path}[{index}]"), unknown);
            }
        }
        _ => {}
    }
}
