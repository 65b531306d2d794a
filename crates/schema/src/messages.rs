//! Field errors worded as the API server words them, and values as Go prints them.

use std::fmt::Write;

use serde_json::Value;

use crate::FieldError;

/// The path of an error without a field.
pub(super) const NOWHERE: &str = "<nil>";

pub(super) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> FieldError {
    invalid_as(field, &shown(value), detail)
}

/// `FieldValueInvalid` with the value rendered already.
pub(super) fn invalid_as(field: impl Into<String>, value: &str, detail: &str) -> FieldError {
    FieldError::new("FieldValueInvalid", field, format!("Invalid value: {value}: {detail}"))
}

/// `FieldValueInvalid` without the value.
pub(super) fn invalid_unshown(field: impl Into<String>, detail: &str) -> FieldError {
    FieldError::new("FieldValueInvalid", field, format!("Invalid value: {detail}"))
}

pub(super) fn type_invalid(field: impl Into<String>, value: &str, detail: &str) -> FieldError {
    FieldError::new("FieldValueTypeInvalid", field, format!("Invalid value: {}: {detail}", quoted(value)))
}

pub(super) fn not_supported<T: AsRef<str>>(field: impl Into<String>, value: &Value, supported: &[T]) -> FieldError {
    let supported: Vec<String> = supported.iter().map(|one| quoted(one.as_ref())).collect();
    let message = format!("Unsupported value: {}: supported values: {}", shown(value), supported.join(", "));
    FieldError::new("FieldValueNotSupported", field, message)
}

pub(super) fn duplicate(field: impl Into<String>, value: &Value) -> FieldError {
    FieldError::new("FieldValueDuplicate", field, format!("Duplicate value: {}", shown(value)))
}

pub(super) fn forbidden(field: impl Into<String>, detail: &str) -> FieldError {
    FieldError::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
}

pub(super) fn too_long(field: impl Into<String>, most: i64) -> FieldError {
    let unit = if most == 1 { "byte" } else { "bytes" };
    FieldError::new("FieldValueTooLong", field, format!("Too long: may not be more than {most} {unit}"))
}

pub(super) fn too_many(field: impl Into<String>, actual: usize, most: i64) -> FieldError {
    let unit = if most == 1 { "item" } else { "items" };
    FieldError::new("FieldValueTooMany", field, format!("Too many: {actual}: must have at most {most} {unit}"))
}

/// The path of a field below a path.
pub(super) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The path of a map entry below a path.
pub(super) fn key(path: &str, name: &str) -> String {
    format!("{path}[{name}]")
}

pub(super) fn index(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// A path for a message; the root is `<nil>`.
pub(super) fn place(path: &str) -> &str {
    if path.is_empty() { NOWHERE } else { path }
}

/// A value as messages render it: strings quoted, numbers bare, all else as JSON.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) if !number.is_i64() => bare(number.as_f64().unwrap_or_default()),
        _ => json(value),
    }
}

/// A number in the shortest form, with an exponent where it is very large or small.
pub(super) fn bare(number: f64) -> String {
    exponential_unless(number, number == 0.0 || (1e-4..1e21).contains(&number.abs()))
}

fn exponential_unless(number: f64, plain: bool) -> String {
    if plain {
        return format!("{number}");
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
            format!("{digits}e{sign}{size:0>2}")
        }
        None => text,
    }
}

/// A string between double quotes, with Go's escapes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        push_escaped(&mut out, character);
    }
    out.push('"');
    out
}

fn push_escaped(out: &mut String, character: char) {
    let written = match character {
        '"' => write!(out, "\\\""),
        '\\' => write!(out, "\\\\"),
        '\u{7}' => write!(out, "\\a"),
        '\u{8}' => write!(out, "\\b"),
        '\u{c}' => write!(out, "\\f"),
        '\n' => write!(out, "\\n"),
        '\r' => write!(out, "\\r"),
        '\t' => write!(out, "\\t"),
        '\u{b}' => write!(out, "\\v"),
        ' ' => write!(out, " "),
        c if c.is_ascii_control() => write!(out, "\\x{:02x}", c as u32),
        c if c.is_control() || c.is_whitespace() || c == '\u{feff}' => write!(out, "\\u{:04x}", c as u32),
        c => write!(out, "{c}"),
    };
    written.expect("a string takes what is written");
}

/// JSON as Go writes it: sorted keys, HTML characters escaped, no fraction of zero.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let fields: Vec<String> =
                keys.iter().map(|key| format!("{}:{}", json_text(key), json(&map[*key]))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::String(text) => json_text(text),
        Value::Number(number) if !number.is_i64() => json_number(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

fn json_number(number: f64) -> String {
    exponential_unless(number, number == 0.0 || (1e-6..1e21).contains(&number.abs()))
}

fn json_text(text: &str) -> String {
    let mut out = Value::from(text).to_string();
    for (sign, escape) in
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")]
    {
        if out.contains(sign) {
            out = out.replace(sign, escape);
        }
    }
    out
}
