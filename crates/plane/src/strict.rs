//! Reading what a caller sent, and what becomes of that which cannot be read: fields that nobody knows are dropped with a
//! warning, or refused if that is wished; what a patch made of an object is refused as the patch's fault.

use serde_json::Value;

use crate::builtin::decode::strict_problem;
use crate::call::Verb;
use crate::error::ApiError;
use crate::prepare;
use crate::verbs::Ask;
use crate::verbs::write_options::{UnknownFields, unknown_fields};

/// Reads an object that a caller sent or that a patch made.
pub(crate) fn read(ask: &Ask<'_>, mut object: Value) -> Result<Value, ApiError> {
    let sent = object.clone();
    let mut unknown = prepare::read(ask.resource, &mut object).map_err(|refusal| blamed(ask, &sent, refusal))?;
    unknown.sort();
    match unknown_fields(ask.call) {
        UnknownFields::Refused if !unknown.is_empty() => {
            let refusal = prepare::unhandled(ask.resource, &ask.resource.kind, &strict_problem(&unknown));
            Err(blamed(ask, &sent, refusal))
        }
        UnknownFields::Warned => {
            unknown.iter().for_each(|field| ask.warnings.add(format!("unknown field {field:?}")));
            Ok(object)
        }
        _ => Ok(object),
    }
}

/// What makes an object unreadable is, after a patch, wrong with the patch.
fn blamed(ask: &Ask<'_>, sent: &Value, refusal: ApiError) -> ApiError {
    match (ask.call.verb, refusal.message.split_once(" cannot be handled as a ")) {
        (Verb::Patch(_), Some((_, rest))) => {
            let problem = rest.split_once(": ").map_or(rest, |(_, problem)| problem);
            ApiError::invalid_patch(&sent.to_string(), problem)
        }
        _ => refusal,
    }
}
