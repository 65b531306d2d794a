//! The NamespaceLifecycle plugin: nothing is created in a namespace that is missing or terminating, and some namespaces
//! cannot be deleted.

use serde_json::json;

use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::resource::Resource;
use crate::builtin::namespace::collection;
use crate::storage::state::State;

/// These cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Whether an object may be created in its namespace.
pub(crate) fn admit_creation(
    state: &State,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
) -> Result<(), ApiError> {
    let Some(namespace) = namespace.filter(|_| resource.is_namespaced()) else { return Ok(()) };
    let found =
        state.store.get(&collection(), namespace).ok_or_else(|| ApiError::not_found(&collection(), namespace))?;
    if !meta::is_deleting(found) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut error = ApiError::forbidden(&resource.group_resource(), name, &why);
    let message = format!("namespace {namespace} is being terminated");
    let cause = json!({ "reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace" });
    if let Some(details) = &mut error.details {
        details["causes"] = json!([cause]);
    }
    Err(error)
}

/// Whether an object may be deleted: some namespaces may not.
pub(crate) fn admit_deletion(resource: &Resource, name: &str) -> Result<(), ApiError> {
    match resource.is("", "namespaces") && IMMORTAL.contains(&name) {
        true => Err(ApiError::forbidden(&collection(), name, "this namespace may not be deleted")),
        false => Ok(()),
    }
}
