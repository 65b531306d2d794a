//! The rules of a webhook: which writes they match.

use std::sync::Arc;

use serde_json::Value;

use super::Operation;
use crate::api::meta;
use crate::api::resource::Resource;
use crate::plane::RequestContext;
use crate::storage::state::State;

/// The resource that a rule matches: the requested one, or another version of it.
pub(super) fn matched(
    state: &State,
    context: &RequestContext<'_>,
    webhook: &Value,
    operation: Operation,
) -> Option<Arc<Resource>> {
    let rules = || webhook["rules"].as_array().into_iter().flatten();
    let is_meant = |resource: &Resource| rules().any(|rule| matches(rule, context, resource, operation));
    if is_meant(context.resource) {
        return Some(context.resource.clone());
    }
    if webhook["matchPolicy"] == "Exact" {
        return None;
    }
    state
        .resources()
        .filter(|other| other.collection == context.resource.collection)
        .find(|other| is_meant(other))
        .cloned()
}

fn matches(rule: &Value, context: &RequestContext<'_>, resource: &Resource, operation: Operation) -> bool {
    is_in_scope(rule, resource)
        && includes(&rule["operations"], operation.name())
        && includes(&rule["apiGroups"], &resource.gvr.group)
        && includes(&rule["apiVersions"], &resource.gvr.version)
        && meta::texts(&rule["resources"])
            .any(|named| names(named, &resource.gvr.plural, context.call.subresource.as_deref().unwrap_or("")))
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
