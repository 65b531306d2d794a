//! The schemas of custom resources, as the API server applies them: structural validation, defaulting, pruning and CEL
//! rules; and the validation of a `CustomResourceDefinition` and of object metadata. `kedge lint` and the API server in
//! memory both use it.
//!
//! | module | what it holds |
//! |---|---|
//! | `rule` | one CEL rule, compiled |
//! | `node` | a structural schema, parsed |
//! | `prune`, `defaults` | pruning of unknown fields, defaulting |
//! | `validate`, `format`, `pattern` | values against types, formats and limits |
//! | [`duration`] | durations, as the format of that name and as Go has them |
//! | `rules` | values against CEL rules (`x-kubernetes-validations`) |
//! | `lists`, `embedded` | `x-kubernetes-list-type`, `x-kubernetes-embedded-resource` |
//! | `definition` | the validation of a `CustomResourceDefinition` |
//! | [`metadata`], [`names`] | the validation of object metadata, the formats of names |
//! | `error`, `messages` | field errors, worded as the API server words them |
//!
//! Where the API server iterates over a Go map in random order, errors are ordered by name here.

mod defaults;
mod definition;
pub mod duration;
mod embedded;
mod error;
mod format;
mod lists;
mod messages;
pub mod metadata;
pub mod names;
mod node;
mod pattern;
mod prune;
mod rule;
mod rules;
mod validate;

pub use error::FieldError;

use std::sync::Arc;

use serde_json::Value;

use self::node::Node;
use self::rules::{Changes, Root, ValueAt};
use self::validate::OldValue;

/// Errors that keep CEL rules from being evaluated.
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
    pub fn compile(open_api_v3_schema: &Value) -> Result<Schema, Vec<FieldError>> {
        if node::depth(open_api_v3_schema) > 2 * node::DEPTH_MAX {
            return Err(vec![messages::forbidden(messages::NOWHERE, "the schema is nested too deeply")]);
        }
        let root = Arc::new(rules::parse_resource(open_api_v3_schema));
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
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let old_value = old.map(|value| OldValue { value, node: &self.root });
        let mut errors = validate::check(&self.root, new, old_value, "");
        errors.extend(embedded::check(&self.root, new, ""));
        if old.is_none_or(|old| lists::check(&self.root, old, "").is_empty()) {
            errors.extend(lists::check(&self.root, new, ""));
        }
        if rules::exist(&self.root) {
            errors.extend(self.check_rules(new, old, &errors));
        }
        errors
    }

    /// Rules are for values of the right shape.
    fn check_rules(&self, new: &Value, old: Option<&Value>, errors: &[FieldError]) -> Vec<FieldError> {
        if errors.iter().any(|error| BLOCKING.contains(&error.reason)) {
            return vec![messages::invalid(messages::NOWHERE, &Value::Null, UNCHECKED)];
        }
        let old_value = old.map(|value| OldValue { value, node: &self.root });
        let root = ValueAt { node: &self.root, root: Root::Resource, value: new, old, path: "" };
        rules::check(root, Changes::since(old_value), self.rules_depth)
    }
}

/// All that is wrong with a `CustomResourceDefinition` (`apiextensions.k8s.io/v1`): with its names, its versions, and with
/// their schemas and rules. Rules that call functions that are not to be had here are refused, by name.
pub fn validate_definition(crd: &Value) -> Vec<FieldError> {
    definition::check(crd)
}
