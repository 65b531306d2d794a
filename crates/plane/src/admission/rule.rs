//! Whether the rules of a webhook mean a write.

use std::sync::Arc;

use serde_json::Value;

use super::Operation;
use crate::meta;
use crate::resource::Resource;
use crate::state::State;
use crate::verbs::Ask;

/// The resource as the webhook has it in its rules: the one that is written, or else another version of it.
pub(super) fn matched(state: &State, ask: &Ask<'_>, webhook: &Value, operation: Operation) -> Option<Arc<Resource>> {
    let rules = || webhook["rules"].as_array().into_iter().flatten();
    let is_meant = |resource: &Resource| rules().any(|rule| matches(rule, ask, resource, operation));
    if is_meant(ask.resource) {
        return Some(ask.resource.clone());
    }
    if webhook["matchPolicy"] == "Exact" {
        return None;
    }
    state.resources().filter(|other| other.shelf == ask.resource.shelf).find(|other| is_meant(other)).cloned()
}

fn matches(rule: &Value, ask: &Ask<'_>, resource: &Resource, operation: Operation) -> bool {
    is_in_scope(rule, resource)
        && includes(&rule["operations"], operation.name())
        && includes(&rule["apiGroups"], &resource.gvr.group)
        && includes(&rule["apiVersions"], &resource.gvr.version)
        && meta::texts(&rule["resources"])
            .any(|named| names(named, &resource.gvr.plural, ask.call.subresource.as_deref().unwrap_or("")))
}

fn is_in_scope(rule: &Value, resource: &Resource) -> bool {
    match rule["scope"].as_str() {
        Some("Namespaced") => resource.is_namespaced(),
        Some("Cluster") => !resource.is_namespaced(),
        _ => true,
    }
}

fn includes(list: &Value, wanted: &str) -> bool {
    meta::texts(list).any(|item| item == "*" || item == wanted)
}

fn names(named: &str, plural: &str, subresource: &str) -> bool {
    let (wanted_plural, wanted_subresource) = named.split_once('/').unwrap_or((named, ""));
    let fits = |wanted: &str, found: &str| wanted == "*" || wanted == found;
    fits(wanted_plural, plural) && fits(wanted_subresource, subresource)
}
