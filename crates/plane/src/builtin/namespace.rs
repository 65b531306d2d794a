//! Namespaces: what the API server writes into them.

use serde_json::{Value, json};

use crate::api::meta;
use crate::api::resource::GroupResource;

/// The finalizer in the spec that keeps a namespace until its content is gone.
const FINALIZER: &str = "kubernetes";

pub(crate) fn collection() -> GroupResource {
    GroupResource::new("", "namespaces")
}

/// What the API server writes into a namespace itself.
pub(crate) fn prepare(object: &mut Value, old: Option<&Value>) {
    match old {
        Some(old) => {
            meta::copy_top(object, old, "spec");
            meta::copy_top(object, old, "status");
        }
        None => {
            let given = meta::texts(&object["spec"]["finalizers"]).filter(|name| *name != FINALIZER);
            let finalizers: Vec<String> = [FINALIZER].into_iter().chain(given).map(str::to_owned).collect();
            object["spec"] = json!({ "finalizers": finalizers });
            object["status"] = json!({ "phase": "Active" });
        }
    }
    label(object);
}

/// Every namespace is labelled with its name.
pub(crate) fn label(object: &mut Value) {
    let name = meta::name(object).to_owned();
    meta::metadata_mut(object).entry("labels").or_insert_with(|| json!({}))["kubernetes.io/metadata.name"] =
        json!(name);
}

/// Whether the content of a namespace still holds it.
pub(crate) fn is_held(object: &Value) -> bool {
    meta::texts(&object["spec"]["finalizers"]).next().is_some()
}
