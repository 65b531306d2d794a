//! Strict decoding (`fieldValidation`): unknown fields are dropped with a
//! warning, or rejected; an object that cannot be decoded after a patch is an invalid patch.

use serde_json::Value;

use crate::api::error::ApiError;
use crate::api::request::Verb;
use crate::builtin::decode::strict_problem;
use crate::plane::RequestContext;
use crate::registry::strategy;
use crate::registry::write_options::{UnknownFields, unknown_fields};

/// Decodes an object of a request or the result of a patch.
pub(crate) fn read(context: &RequestContext<'_>, mut object: Value) -> Result<Value, ApiError> {
    let sent = object.clone();
    let mut unknown = strategy::read(context.resource, &mut object).map_err(|error| blamed(context, &sent, error))?;
    unknown.sort();
    match unknown_fields(context.call) {
        UnknownFields::Refused if !unknown.is_empty() => {
            let error = strategy::unhandled(context.resource, &context.resource.kind, &strict_problem(&unknown));
            Err(blamed(context, &sent, error))
        }
        UnknownFields::Warned => {
            unknown.iter().for_each(|field| context.warnings.add(format!("unknown field {field:?}")));
            Ok(object)
        }
        _ => Ok(object),
    }
}

/// Rewords a decoding error as an invalid patch where a patch made the object.
fn blamed(context: &RequestContext<'_>, sent: &Value, error: ApiError) -> ApiError {
    match (context.call.verb, error.message.split_once(" cannot be handled as a ")) {
        (Verb::Patch(_), Some((_, rest))) => {
            let problem = rest.split_once(": ").map_or(rest, |(_, problem)| problem);
            ApiError::invalid_patch(&sent.to_string(), problem)
        }
        _ => error,
    }
}
