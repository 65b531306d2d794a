//! The schemas of custom resources: what they drop from objects, fill into them and refuse, as the API server does,
//! and what may be wrong with the definition of a custom resource itself.
//!
//! | module | what it holds |
//! |---|---|
//! | `node` | a schema, read |
//! | `prune`, `defaults` | what is dropped and filled in |
//! | `validate`, `format`, `duration`, `pattern` | values against types and limits |
//! | `rules` | values against rules written in CEL |
//! | `lists`, `embedded` | lists that are sets or maps, resources within resources |
//! | `definition` | what is wrong with a definition |
//! | `words`, `names` | how it is said |
//!
//! Where the API server's order is by chance, that of names is taken.

mod defaults;
mod definition;
pub(crate) mod duration;
mod embedded;
mod format;
mod lists;
mod names;
mod node;
mod pattern;
mod prune;
mod rules;
mod validate;
mod words;

use std::sync::Arc;

use serde_json::Value;

use self::node::Node;
use self::rules::{Changes, Place, Root};
use self::validate::Past;
use crate::error::FieldProblem;

/// What must be right before rules are looked at.
const BLOCKING: [&str; 5] =
    ["FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"];
const UNCHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/// What a version of a custom resource looks like. Clones share it.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Arc<Node>,
    rules_depth: usize,
}

impl Schema {
    /// Reads the `openAPIV3Schema` of a version.
    pub fn compile(open_api_v3_schema: &Value) -> Result<Schema, Vec<FieldProblem>> {
        if node::depth(open_api_v3_schema) > 2 * node::DEPTH_MAX {
            return Err(vec![words::forbidden(words::NOWHERE, "the schema is nested too deeply")]);
        }
        let root = Arc::new(Node::read_resource(open_api_v3_schema));
        let rules_depth = rules::depth(&root);
        Ok(Schema { root, rules_depth })
    }

    /// Drops what the schema does not name, and nulls where null is no value. The root's metadata stays as it is.
    pub fn prune(&self, object: &mut Value) {
        prune::root(object, &self.root);
        prune::nulls(object, Some(&self.root));
    }

    /// The paths that [`Self::prune`] drops because the schema does not name them.
    pub fn unknown_fields(&self, object: &Value) -> Vec<String> {
        prune::root(&mut object.clone(), &self.root).paths
    }

    /// Fills in defaults.
    pub fn default(&self, object: &mut Value) {
        defaults::fill(object, &self.root);
    }

    /// All that is wrong with an object; on an update, what was wrong already and has not changed is let pass.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldProblem> {
        let past = old.map(|value| Past { value, node: &self.root });
        let mut problems = validate::check(&self.root, new, past, "");
        problems.extend(embedded::check(&self.root, new, ""));
        if old.is_none_or(|old| lists::check(&self.root, old, "").is_empty()) {
            problems.extend(lists::check(&self.root, new, ""));
        }
        if rules::exist(&self.root) {
            problems.extend(self.check_rules(new, old, &problems));
        }
        problems
    }

    /// Rules are for values of the right shape.
    fn check_rules(&self, new: &Value, old: Option<&Value>, problems: &[FieldProblem]) -> Vec<FieldProblem> {
        if problems.iter().any(|problem| BLOCKING.contains(&problem.reason)) {
            return vec![words::invalid(words::NOWHERE, &Value::Null, UNCHECKED)];
        }
        let past = old.map(|value| Past { value, node: &self.root });
        let root = Place { node: &self.root, root: Root::Resource, value: new, old, path: "" };
        rules::check(root, Changes::since(past), self.rules_depth)
    }
}

/// All that is wrong with a `CustomResourceDefinition` (`apiextensions.k8s.io/v1`): with its names, its versions, and with
/// their schemas and rules. Rules that call functions that are not to be had here are refused, by name.
pub fn check_definition(crd: &Value) -> Vec<FieldProblem> {
    definition::check(crd)
}
