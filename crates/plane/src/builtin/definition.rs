//! CustomResourceDefinitions as objects: defaults, what an update must not change, conditions and stored versions.

use chrono::{DateTime, Utc};
use kedge_schema::FieldError;
use serde_json::{Value, json};

use crate::api::meta;
use crate::api::resource::Resource;

/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(crate) fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Names and conversion that a definition leaves out.
pub(crate) fn apply_defaults(definition: &mut Value) {
    let Some(kind) = definition["spec"]["names"]["kind"].as_str().map(str::to_owned) else { return };
    let names = &mut definition["spec"]["names"];
    for (field, filled) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
        if names[field].as_str().is_none_or(str::is_empty) {
            names[field] = json!(filled);
        }
    }
    if definition["spec"]["conversion"].is_null() {
        definition["spec"]["conversion"] = json!({ "strategy": "None" });
    }
}

/// Validates an update of a definition.
pub(crate) fn check_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let of_name = |problem: &FieldError| problem.field == "metadata.name";
    let mut errors: Vec<_> =
        kedge_schema::validate_definition(new).into_iter().filter(|problem| !of_name(problem)).collect();
    let established = old["status"]["conditions"].as_array().into_iter().flatten();
    let is_established = established.into_iter().any(|one| one["type"] == "Established" && one["status"] == "True");
    let fixed: &[&str] = if is_established {
        &["/scope", "/names/kind", "/group", "/names/plural"]
    } else {
        &["/group", "/names/plural"]
    };
    for path in fixed {
        let (now, before) = (new["spec"].pointer(path), old["spec"].pointer(path));
        if now != before {
            let field = format!("spec{}", path.replace('/', "."));
            errors.push(FieldError::invalid(field, now.unwrap_or(&Value::Null), "field is immutable"));
        }
    }
    errors
}

/// The status of a new definition before the controllers have processed it.
pub(crate) fn begin(definition: &mut Value) {
    definition["status"] = json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" } });
    remember_stored(definition);
}

/// Sets the condition of a definition that is being deleted.
pub(crate) fn mark_terminating(definition: &mut Value, now: DateTime<Utc>) {
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(definition, "Terminating", ("True", "InstanceDeletionPending", message), now);
}

/// Adds the storage version to `status.storedVersions`.
pub(crate) fn remember_stored(definition: &mut Value) {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let Some(stored) =
        versions.filter(|version| version["storage"] == true).find_map(|version| version["name"].as_str())
    else {
        return;
    };
    let mut listed: Vec<String> = meta::texts(&definition["status"]["storedVersions"]).map(str::to_owned).collect();
    if !listed.iter().any(|version| version == stored) {
        listed.push(stored.to_owned());
    }
    definition["status"]["storedVersions"] = json!(listed);
}

/// The state of a condition.
pub(crate) fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a str> {
    let conditions = definition["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)?["status"].as_str()
}

/// Sets a condition: its state, reason and message. One that is in that state stays as it is.
pub(crate) fn set_condition(
    definition: &mut Value,
    kind: &str,
    (status, reason, message): (&str, &str, &str),
    now: DateTime<Utc>,
) {
    if condition(definition, kind) == Some(status) {
        return;
    }
    if !definition["status"]["conditions"].is_array() {
        definition["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = definition["status"]["conditions"].as_array_mut() else { return };
    conditions.retain(|condition| condition["type"] != kind);
    let at = meta::stamp(now);
    conditions.push(
        json!({ "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at }),
    );
}
