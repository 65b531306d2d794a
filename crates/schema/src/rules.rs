//! The rules of a schema, `x-kubernetes-validations`: CEL expressions over a value and its old value.

mod check;
mod compile;
mod library;
mod path;
mod source;
mod stack;
mod values;

use cel::Context;
use cel::common::types::CelOptional;
use cel::common::value::Val;
use serde_json::{Map, Value};

pub(super) use compile::parse_resource;
pub(super) use path::is_valid as path_is_valid;
use stack::with_deep_stack;

use super::messages::{child, duplicate, forbidden, index, invalid, invalid_unshown, key, place};
use super::node::Node;
use super::rule::Rule;
use super::validate::OldValue;
use crate::FieldError;

/// Deeper rules run on a stack of their own.
const DEPTH_INLINE_MAX: usize = 12;

/// Longer messages of a rule's own making are not shown.
const MESSAGE_BYTES_MAX: usize = 5 * 1024;

/// Whether a value is a resource, whose name rules can access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    Resource,
    Below,
}

/// Whether any node of a schema has rules.
pub(super) fn exist(node: &Node) -> bool {
    !node.rules.is_empty() || node.below().any(exist)
}

/// The levels of the deepest rule.
pub(super) fn depth(node: &Node) -> usize {
    node.rules.iter().map(Rule::depth).chain(node.below().map(depth)).max().unwrap_or(0)
}

/// What an update has changed: rules of unchanged values are not evaluated (ratcheting).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changes<'a> {
    here: Option<OldValue<'a>>,
    nothing_above: bool,
}

impl<'a> Changes<'a> {
    pub(super) fn since(old_value: Option<OldValue<'a>>) -> Self {
        Self { here: old_value, nothing_above: false }
    }

    fn nothing(self, value: &Value) -> bool {
        self.here.map_or(self.nothing_above, |old_value| old_value.value == value)
    }

    fn below(self, value: &Value, step: impl FnOnce(OldValue<'a>) -> Option<OldValue<'a>>) -> Self {
        match self.here {
            Some(old_value) => Self { here: step(old_value), nothing_above: old_value.value == value },
            None => self,
        }
    }
}

/// A value with its schema, path and old value.
#[derive(Clone, Copy)]
pub(super) struct ValueAt<'a> {
    pub(super) node: &'a Node,
    pub(super) root: Root,
    pub(super) value: &'a Value,
    pub(super) old: Option<&'a Value>,
    pub(super) path: &'a str,
}

/// The errors of all rules of a value and of those below it that do not hold.
pub(super) fn check(at: ValueAt<'_>, changes: Changes<'_>, depth: usize) -> Vec<FieldError> {
    if depth > DEPTH_INLINE_MAX { with_deep_stack(|| check_at(at, changes)) } else { check_at(at, changes) }
}

fn check_at(at: ValueAt<'_>, changes: Changes<'_>) -> Vec<FieldError> {
    if at.value.is_null() {
        return Vec::new();
    }
    let at = ValueAt { old: at.old.filter(|old| !old.is_null()), ..at };
    let mut errors = check_here(at, changes);
    match at.value {
        Value::Object(fields) => errors.extend(check_fields(at, fields, changes)),
        Value::Array(items) => errors.extend(check_items(at, items, changes)),
        _ => {}
    }
    errors
}

fn check_fields(at: ValueAt<'_>, fields: &Map<String, Value>, changes: Changes<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, value) in fields {
        let old = at.old.and_then(|old| old.get(name));
        let below = changes.below(at.value, |old_value| old_value.field(at.path, name));
        let named = at.node.properties.get(name).map(|node| (node, child(at.path, name)));
        let additional = at.node.additional.node().map(|node| (node, key(at.path, name)));
        for (node, path) in additional.into_iter().chain(named) {
            errors.extend(check_at(ValueAt { node, root: root_of(node), value, old, path: &path }, below));
        }
    }
    errors
}

fn check_items(at: ValueAt<'_>, items: &[Value], changes: Changes<'_>) -> Vec<FieldError> {
    let Some(node) = at.node.items.as_deref() else { return Vec::new() };
    let mut errors = Vec::new();
    for (position, value) in items.iter().enumerate() {
        let old =
            at.old.and_then(|old| OldValue { value: old, node: at.node }.item(value)).map(|old_value| old_value.value);
        let below = changes.below(at.value, |old_value| old_value.item(value));
        let path = index(at.path, position);
        errors.extend(check_at(ValueAt { node, root: root_of(node), value, old, path: &path }, below));
    }
    errors
}

/// An embedded resource is a root of its own.
pub(super) fn root_of(node: &Node) -> Root {
    if node.embedded { Root::Resource } else { Root::Below }
}

fn check_here(at: ValueAt<'_>, changes: Changes<'_>) -> Vec<FieldError> {
    if at.node.rules.is_empty() {
        return Vec::new();
    }
    let value = values::to_cel(at.value, at.node, at.root);
    let old = at.old.map(|old| values::to_cel(old, at.node, at.root));
    let due = |rule: &&Rule| !rule.uses_old_self || old.is_some() || rule.optional_old_self;
    let rules = at.node.rules.iter().filter(due);
    rules.filter_map(|rule| apply(rule, at, &value, old.as_ref(), changes)).collect()
}

fn apply(
    rule: &Rule,
    at: ValueAt<'_>,
    value: &cel::Value,
    old: Option<&cel::Value>,
    changes: Changes<'_>,
) -> Option<FieldError> {
    let kind = Value::from(at.node.kind.as_str());
    let program = match &rule.program {
        Ok(compiled) => &compiled.program,
        Err(error) => return Some(invalid(place(at.path), &kind, &format!("rule compile error: {error}"))),
    };
    let context = context(rule, value, old);
    match program.execute(&context) {
        Ok(cel::Value::Bool(true)) => None,
        Ok(_) if !rule.uses_old_self && changes.nothing(at.value) => None,
        Ok(_) => Some(broken(rule, at, &context)),
        Err(error) => Some(invalid(place(at.path), &kind, &source::failure(&error, rule.name()))),
    }
}

fn context<'a>(rule: &Rule, value: &cel::Value, old: Option<&cel::Value>) -> Context<'a, 'a> {
    let mut context = Context::with_env(library::environment());
    context.add_variable_from_value("self", value.clone());
    match old.filter(|_| rule.uses_old_self) {
        Some(old) if !rule.optional_old_self => context.add_variable_from_value("oldSelf", old.clone()),
        old if rule.optional_old_self => {
            let boxed = old.and_then(|old| Box::<dyn Val>::try_from(old.clone()).ok());
            let optional = boxed.map_or_else(CelOptional::none, CelOptional::of);
            context.add_variable_as_val("oldSelf", Box::new(optional));
        }
        _ => {}
    }
    context
}

/// The error of a rule that does not hold, with the message of its author.
fn broken(rule: &Rule, at: ValueAt<'_>, context: &Context<'_, '_>) -> FieldError {
    let detail = own_message(rule, context).unwrap_or_else(|| match rule.message.as_str() {
        "" => format!("failed rule: {}", rule.text),
        message => message.to_owned(),
    });
    let below = rule.field.as_ref().map(|field| child(at.path, field));
    let field = place(below.as_deref().unwrap_or(at.path));
    let shown = !matches!(at.node.kind.as_str(), "object" | "array");
    match rule.reason.as_str() {
        "FieldValueForbidden" => forbidden(field, &detail),
        "FieldValueRequired" => FieldError::required(field, &detail),
        "FieldValueDuplicate" if shown => duplicate(field, at.value),
        "FieldValueDuplicate" => FieldError::new("FieldValueDuplicate", field, "Duplicate value"),
        _ if shown => invalid(field, at.value, &detail),
        _ => invalid_unshown(field, &detail),
    }
}

/// The result of `messageExpression`, if it is usable as a message.
fn own_message(rule: &Rule, context: &Context<'_, '_>) -> Option<String> {
    let compiled = rule.message_program.as_ref()?.as_ref().ok()?;
    let cel::Value::String(text) = compiled.program.execute(context).ok()? else { return None };
    let text = text.trim();
    let fit = !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n');
    fit.then(|| text.to_owned())
}
