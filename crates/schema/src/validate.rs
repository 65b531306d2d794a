//! Validation of values by type, format, limits, enums and junctors, in the API server's order and wording.
//!
//! Of alternatives that all fail, the one that failed latest is reported: for that, each outcome counts what matched.

mod number;
mod old_value;

use serde_json::{Map, Value};

pub(super) use old_value::OldValue;

use super::format::Format;
use super::messages::{bare, child, index, invalid, not_supported, place, quoted, too_long, too_many, type_invalid};
use super::node::{Additional, Node};
use crate::FieldError;

/// The result of validating one value.
#[derive(Debug, Default)]
struct Outcome {
    violations: Vec<Violation>,
    matched: usize,
}

/// One error, and the text by which duplicates are recognized.
#[derive(Debug)]
struct Violation {
    error: FieldError,
    text: String,
}

impl Outcome {
    fn violated(violation: Violation) -> Self {
        Self { violations: vec![violation], matched: 0 }
    }

    fn matched() -> Self {
        Self { violations: Vec::new(), matched: 1 }
    }

    fn add(&mut self, violation: Violation) {
        if !self.violations.iter().any(|known| known.text == violation.text) {
            self.violations.push(violation);
        }
    }

    fn merge(&mut self, other: Outcome) {
        other.violations.into_iter().for_each(|violation| self.add(violation));
        self.matched += other.matched;
    }

    fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }
}

impl Violation {
    /// Of the value at a path; the detail begins with the path.
    fn at(path: &str, value: &Value, detail: String) -> Self {
        Self { error: invalid(path, value, &detail), text: detail }
    }

    /// An error without a path.
    fn nowhere(detail: String) -> Self {
        Self::at("", &Value::from(""), detail)
    }

    fn of_type(path: &str, expected: &str, found: &str) -> Self {
        let detail = format!("{path} in body must be of type {expected}: {}", quoted(found));
        Self { error: type_invalid(path, found, &detail), text: detail }
    }

    fn required(path: String) -> Self {
        Self { text: format!("{path} in body is required"), error: FieldError::required(path, "") }
    }
}

/// All errors of a value below a base path, which is empty for the root.
pub(super) fn check(node: &Node, value: &Value, old_value: Option<OldValue<'_>>, base: &str) -> Vec<FieldError> {
    let outcome = check_at(node, value, "", old_value);
    let mut errors: Vec<FieldError> = outcome.violations.into_iter().map(|violation| violation.error).collect();
    for error in &mut errors {
        error.field = match error.field.as_str() {
            "" => place(base).to_owned(),
            field => child(base, field),
        };
    }
    errors
}

/// Ratcheting: errors of a value that has not changed are ignored.
fn check_at(node: &Node, value: &Value, path: &str, old_value: Option<OldValue<'_>>) -> Outcome {
    let mut outcome = check_all(node, value, path, old_value);
    if !outcome.is_valid() && old_value.is_some_and(|old_value| old_value.value == value) {
        outcome.violations.clear();
    }
    outcome
}

fn check_all(node: &Node, value: &Value, path: &str, old_value: Option<OldValue<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    if value.is_null() {
        outcome.merge(check_type(node, value, path));
        outcome.merge(check_enumeration(node, value, path));
        return outcome;
    }
    let mut step = |result: Outcome| {
        outcome.merge(result);
        outcome.matched += 1;
    };
    if !node.types().is_empty() || node.checked_format.is_some() {
        step(check_type(node, value, path));
    }
    step(check_junctors(node, value, path, old_value));
    match value {
        Value::String(text) => check_text(node, text, path).into_iter().for_each(&mut step),
        Value::Number(number) => step(number::check(node, number, path)),
        Value::Array(items) => step(check_items(node, items, path, old_value)),
        _ => {}
    }
    step(check_enumeration(node, value, path));
    if let Value::Object(fields) = value {
        step(check_fields(node, fields, path, old_value));
    }
    outcome.matched += 1;
    outcome
}

fn check_type(node: &Node, value: &Value, path: &str) -> Outcome {
    let types = node.types();
    let (found, found_format) = type_of(value);
    let fits = types.contains(&found) || number::fits(types, value);
    let numeric = types.contains(&"number") || types.contains(&"integer");
    let listed = value.is_string() || value.is_array();
    match value {
        Value::Null if types.is_empty() || types.contains(&"null") || node.nullable => Outcome::matched(),
        Value::Null => Outcome::violated(Violation::of_type(path, &types.join(","), "null")),
        _ if node.checked_format.is_some() && !listed && !fits => {
            Outcome::violated(Violation::of_type(path, &node.format, found_format))
        }
        _ if node.checked_format.is_some() && listed && !numeric => Outcome::matched(),
        _ if fits => Outcome::matched(),
        _ => Outcome::violated(Violation::of_type(path, &types.join(","), found)),
    }
}

/// The type of a value, and what the API server takes for its format.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn check_junctors(node: &Node, value: &Value, path: &str, old_value: Option<OldValue<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    let alternatives =
        |nodes: &[Node]| -> Vec<Outcome> { nodes.iter().map(|node| check_all(node, value, path, old_value)).collect() };
    if !node.any_of.is_empty() {
        outcome.merge(any_of(alternatives(&node.any_of), path));
    }
    if !node.one_of.is_empty() {
        outcome.merge(one_of(alternatives(&node.one_of), path));
    }
    if !node.all_of.is_empty() {
        outcome.merge(all_of(alternatives(&node.all_of), path));
    }
    if node.not.as_ref().is_some_and(|not| check_all(not, value, path, old_value).is_valid()) {
        outcome.add(Violation::nowhere(format!("{} must not validate the schema (not)", quoted(path))));
    }
    outcome.matched += 1;
    outcome
}

fn any_of(results: Vec<Outcome>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if results.iter().any(Outcome::is_valid) {
        outcome.matched = results.iter().find(|result| result.is_valid()).map_or(0, |valid| valid.matched);
    } else {
        outcome.add(Violation::nowhere(format!("{} must validate at least one schema (anyOf)", quoted(path))));
        outcome.merge(best(results));
    }
    outcome
}

fn one_of(results: Vec<Outcome>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let valid = results.iter().filter(|result| result.is_valid()).count();
    let found = match valid {
        0 => "Found none valid".to_owned(),
        _ => format!("Found {valid} valid alternatives"),
    };
    if valid == 1 {
        outcome.matched = results.iter().find(|result| result.is_valid()).map_or(0, |valid| valid.matched);
    } else {
        outcome.add(Violation::nowhere(format!(
            "{} must validate one and only one schema (oneOf). {found}",
            quoted(path)
        )));
    }
    if valid == 0 {
        outcome.merge(best(results));
    }
    outcome
}

fn all_of(results: Vec<Outcome>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let total = results.len();
    let valid = results.iter().filter(|result| result.is_valid()).count();
    results.into_iter().for_each(|result| outcome.merge(result));
    if valid < total {
        let none = if valid == 0 { ". None validated" } else { "" };
        outcome.add(Violation::nowhere(format!("{} must validate all the schemas (allOf){none}", quoted(path))));
    }
    outcome
}

/// The first of those that matched most.
fn best(results: Vec<Outcome>) -> Outcome {
    let most = results.iter().map(|result| result.matched).max().unwrap_or(0);
    results.into_iter().find(|result| result.matched == most).unwrap_or_default()
}

/// One outcome for lengths and pattern, and one for the format if there is one.
fn check_text(node: &Node, text: &str, path: &str) -> Vec<Outcome> {
    let mut outcomes = vec![check_length(node, text, path)];
    if let Some(Format::Text(is_valid)) = node.checked_format {
        let violation = (!is_valid(text)).then(|| Violation::of_type(path, &node.format, text));
        outcomes.push(violation.map(Outcome::violated).unwrap_or_default());
    }
    outcomes
}

fn check_length(node: &Node, text: &str, path: &str) -> Outcome {
    let length = text.chars().count() as i64;
    let value = Value::from(text);
    if let Some(most) = node.max_length.filter(|most| length > *most) {
        let text = format!("{path} in body should be at most {most} chars long");
        return Outcome::violated(Violation { error: too_long(path, most), text });
    }
    if let Some(least) = node.min_length.filter(|least| length < *least) {
        return Outcome::violated(Violation::at(
            path,
            &value,
            format!("{path} in body should be at least {least} chars long"),
        ));
    }
    let Some(pattern) = &node.pattern else { return Outcome::default() };
    let expected = match &pattern.regex {
        Ok(regex) if regex.is_match(text) => return Outcome::default(),
        Ok(_) => pattern.text.clone(),
        Err(error) => format!("{}, but pattern is invalid: {error}", pattern.text),
    };
    Outcome::violated(Violation::at(path, &value, format!("{path} in body should match '{expected}'")))
}

fn check_items(node: &Node, items: &[Value], path: &str, old_value: Option<OldValue<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    for (at, item) in items.iter().enumerate() {
        if let Some(items_node) = &node.items {
            outcome.merge(check_at(
                items_node,
                item,
                &index(path, at),
                old_value.and_then(|old_value| old_value.item(item)),
            ));
        }
    }
    let size = items.len() as i64;
    if let Some(least) = node.min_items.filter(|least| size < *least) {
        outcome.add(Violation::at(
            path,
            &Value::from(size),
            format!("{path} in body should have at least {least} items"),
        ));
    }
    if let Some(most) = node.max_items.filter(|most| size > *most) {
        let text = format!("{path} in body should have at most {most} items");
        outcome.add(Violation { error: too_many(path, items.len(), most), text });
    }
    if node.unique_items && (1..items.len()).any(|at| items[..at].contains(&items[at])) {
        outcome.add(Violation::at(path, &Value::from(""), format!("{path} in body shouldn't contain duplicates")));
    }
    outcome.matched += 1;
    outcome
}

/// Numbers are compared after conversion to the same type.
fn check_enumeration(node: &Node, value: &Value, path: &str) -> Outcome {
    let same = |allowed: &Value| match (value.as_f64(), allowed.as_f64()) {
        (Some(found), Some(_)) if allowed.is_i64() => allowed.as_i64() == Some(value.as_i64().unwrap_or(found as i64)),
        (Some(found), Some(allowed)) => found == allowed,
        _ => !value.is_null() && value == allowed,
    };
    if node.one_of_values.is_empty() || node.one_of_values.iter().any(same) {
        return Outcome::default();
    }
    let allowed = |allowed: &Value| allowed.as_str().map_or_else(|| allowed.to_string(), str::to_owned);
    let supported: Vec<String> = node.one_of_values.iter().map(allowed).collect();
    let text = format!("{path} in body should be one of [{}]", supported.join(" "));
    Outcome::violated(Violation { error: not_supported(path, value, &supported), text })
}

fn check_fields(node: &Node, fields: &Map<String, Value>, path: &str, old_value: Option<OldValue<'_>>) -> Outcome {
    let mut outcome = check_field_count(node, fields, path);
    for (name, value) in fields.iter().filter(|(name, _)| !node.properties.contains_key(*name)) {
        match &node.additional {
            Additional::Nothing => {
                let detail = format!("{path}.{name} in body is a forbidden property");
                outcome.add(Violation::at(path, &Value::from(name.as_str()), detail));
            }
            Additional::Like(like) => {
                outcome.merge(check_at(
                    like,
                    value,
                    &child(path, name),
                    old_value.and_then(|old_value| old_value.field(path, name)),
                ));
            }
            _ => {}
        }
    }
    for (name, property) in &node.properties {
        if let Some(value) = fields.get(name) {
            outcome.merge(check_at(
                property,
                value,
                &child(path, name),
                old_value.and_then(|old_value| old_value.field(path, name)),
            ));
        }
    }
    for name in node.required.iter().filter(|name| !fields.contains_key(*name)) {
        outcome.add(Violation::required(child(path, name)));
    }
    outcome
}

fn check_field_count(node: &Node, fields: &Map<String, Value>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let count = fields.len() as i64;
    if let Some(least) = node.min_properties.filter(|least| count < *least) {
        outcome.add(Violation::at(
            path,
            &Value::from(count),
            format!("{path} in body should have at least {least} properties"),
        ));
    }
    if let Some(most) = node.max_properties.filter(|most| count > *most) {
        let text = format!("{path} in body should have at most {most} properties");
        outcome.add(Violation { error: too_many(path, fields.len(), most), text });
    }
    outcome
}

/// A limit in a message: an integer for integers.
fn limit(limit: f64, value: &Value) -> String {
    if value.is_i64() { (limit as i64).to_string() } else { bare(limit) }
}
