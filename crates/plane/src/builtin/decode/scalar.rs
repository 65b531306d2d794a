//! Single values: what each type takes, and how it is written again.

use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::{Engine, alphabet};
use chrono::{DateTime, Utc};
use kedge_core::quantity::{ParseError, Quantity};
use serde_json::{Value, json};

use super::path::Path;
use crate::builtin::types::Shape;

/// Why a value cannot be decoded.
pub(super) enum DecodeError {
    /// Its type is another one: what was found, and what Go wanted where that is not the type itself.
    Mismatch { found: String, wanted: Option<&'static str> },
    /// Something else, in its own words.
    Malformed(String),
}

impl DecodeError {
    /// In Go's words.
    pub(super) fn message(&self, path: &Path, typed: &str) -> String {
        match self {
            Self::Mismatch { found, wanted } => {
                format!("json: cannot unmarshal {found} into Go {} of type {}", path.go(), wanted.unwrap_or(typed))
            }
            Self::Malformed(words) => words.clone(),
        }
    }
}

/// What Go calls a kind of JSON.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn mismatch(value: &Value) -> DecodeError {
    DecodeError::Mismatch { found: kind(value).to_owned(), wanted: None }
}

/// The value as it is written again.
pub(super) fn decode(shape: Shape, value: Value) -> Result<Value, DecodeError> {
    match (shape, &value) {
        (Shape::Any, _) | (Shape::Text, Value::String(_)) | (Shape::Bool, Value::Bool(_)) => Ok(value),
        (Shape::IntOrString, Value::String(_)) | (Shape::Float, Value::Number(_)) => Ok(value),
        (Shape::Int64, Value::Number(number)) if number.is_i64() => Ok(value),
        (Shape::Int32 | Shape::IntOrString, Value::Number(number)) if is_int32(number) => Ok(value),
        (Shape::Int32 | Shape::Int64 | Shape::IntOrString, Value::Number(number)) => {
            Err(DecodeError::Mismatch { found: format!("number {number}"), wanted: int32_of(shape) })
        }
        (Shape::IntOrString, _) => {
            Err(DecodeError::Mismatch { found: kind(&value).to_owned(), wanted: int32_of(shape) })
        }
        (Shape::Quantity, _) => quantity(&value),
        (Shape::Bytes, Value::String(text)) => bytes(text),
        (Shape::Time, Value::String(text)) => time(text),
        (Shape::MicroTime, Value::String(text)) => micro_time(text),
        (Shape::Time | Shape::MicroTime, _) => {
            Err(DecodeError::Mismatch { found: kind(&value).to_owned(), wanted: Some("string") })
        }
        _ => Err(mismatch(&value)),
    }
}

fn is_int32(number: &serde_json::Number) -> bool {
    number.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
}

fn int32_of(shape: Shape) -> Option<&'static str> {
    matches!(shape, Shape::IntOrString).then_some("int32")
}

fn quantity(value: &Value) -> Result<Value, DecodeError> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    let quantity = Quantity::parse(&text).map_err(|error| {
        DecodeError::Malformed(match error {
            ParseError::Suffix { .. } => "unable to parse quantity's suffix".to_owned(),
            ParseError::NoDigits { .. } => "unable to parse numeric part of quantity".to_owned(),
            ParseError::Malformed { .. } => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned()
            }
        })
    })?;
    Ok(json!(quantity.canonical()))
}

/// Go does not mind bits that are left over.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

fn bytes(text: &str) -> Result<Value, DecodeError> {
    match LENIENT.decode(text) {
        Ok(bytes) => Ok(json!(STANDARD.encode(bytes))),
        Err(error) => {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _) => at,
                // The last four characters are not whole.
                _ => text.len() / 4 * 4,
            };
            Err(DecodeError::Malformed(format!("illegal base64 data at input byte {at}")))
        }
    }
}

fn time(text: &str) -> Result<Value, DecodeError> {
    let time = parsed(text).ok_or_else(|| bad_time(text, "2006-01-02T15:04:05Z07:00", text, "2006"))?;
    Ok(json!(time.format("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

/// Exactly six digits of a second are wanted.
fn micro_time(text: &str) -> Result<Value, DecodeError> {
    const LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";
    let time = parsed(text).ok_or_else(|| bad_time(text, LAYOUT, text, "2006"))?;
    let after_seconds = text.get("2006-01-02T15:04:05".len()..).unwrap_or_default();
    let digits = after_seconds.strip_prefix('.').unwrap_or_default();
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    match count {
        0..6 => Err(bad_time(text, LAYOUT, after_seconds, ".000000")),
        6 => Ok(json!(time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string())),
        _ => Err(bad_time(text, LAYOUT, &digits[6..], "Z07:00")),
    }
}

fn parsed(text: &str) -> Option<DateTime<Utc>> {
    Some(DateTime::parse_from_rfc3339(text).ok()?.to_utc())
}

fn bad_time(text: &str, layout: &str, rest: &str, wanted: &str) -> DecodeError {
    DecodeError::Malformed(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {wanted:?}"))
}
