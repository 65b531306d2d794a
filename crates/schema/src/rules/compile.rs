//! Parses the schema of a resource, and compiles the rules of its nodes.

use serde_json::{Map, Value};

use super::check::{self, Expected, Scope};
use super::{Root, path, root_of, with_deep_stack};
use crate::node::{Additional, Node, flag, text};
use crate::rule::Rule;

/// Parses the schema of a resource, with its rules.
pub(crate) fn parse_resource(schema: &Value) -> Node {
    let mut node = Node::parse(schema);
    if has_rules(schema) {
        with_deep_stack(|| compile_rules(&mut node, schema, Root::Resource));
    }
    node
}

/// Whether a schema that is not parsed yet has rules.
fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key("x-kubernetes-validations") || fields.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

fn compile_rules(node: &mut Node, schema: &Value, root: Root) {
    for (name, property) in &mut node.properties {
        let root = root_of(property);
        compile_rules(property, &schema["properties"][name], root);
    }
    if let Additional::Like(additional) = &mut node.additional {
        let root = root_of(additional);
        compile_rules(additional, &schema["additionalProperties"], root);
    }
    if let Some(items) = &mut node.items {
        let root = root_of(items);
        compile_rules(items, &schema["items"], root);
    }
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten().filter_map(Value::as_object);
    node.rules = rules.filter_map(|rule| compile_rule(rule, node, root)).collect();
}

fn compile_rule(fields: &Map<String, Value>, node: &Node, root: Root) -> Option<Rule> {
    let rule = text(fields, "rule");
    if rule.trim().is_empty() {
        return None;
    }
    let optional_old_self = flag(fields, "optionalOldSelf");
    let scope = Scope::new(node, root, optional_old_self);
    let program = check::compile(&rule, &scope, Expected::Bool);
    let message_text = text(fields, "messageExpression");
    let field = text(fields, "fieldPath");
    Some(Rule {
        uses_old_self: program.as_ref().is_ok_and(|compiled| compiled.program.references().has_variable("oldSelf")),
        message_program: (!message_text.is_empty()).then(|| check::compile(&message_text, &scope, Expected::Text)),
        message: text(fields, "message").trim().to_owned(),
        reason: text(fields, "reason"),
        field: path::normalised(&field, node),
        text: rule.trim().to_owned(),
        optional_old_self,
        program,
    })
}
