//! Object metadata: names, labels, annotations, owner references and finalizers, and the fields that an update must not change.

use serde_json::Value;

use crate::FieldError;
use crate::names;

/// One of the formats of [`names`].
pub type NameFormat = fn(&str) -> Vec<String>;

type Errors = Vec<FieldError>;

/// Whether the objects of a kind belong to a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Namespaced,
    Cluster,
}

/// Validates the metadata of an object whose name is a DNS subdomain, as those of custom resources are; on an update, also
/// what must not have changed.
pub fn validate_metadata(new: &Value, scope: Scope, old: Option<&Value>) -> Vec<FieldError> {
    validate_metadata_with(new, scope, names::dns1123_subdomain, old)
}

/// Validates the metadata of an object whose name has a format of its own.
pub fn validate_metadata_with(
    new: &Value,
    scope: Scope,
    name_format: NameFormat,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let metadata = &new["metadata"];
    let mut errors = match old {
        None => validate_created(metadata, scope, name_format),
        Some(old) => validate_updated(metadata, &old["metadata"]),
    };
    errors.extend(validate_labels(&metadata["labels"], "metadata.labels"));
    errors.extend(validate_annotations(&metadata["annotations"], "metadata.annotations"));
    errors.extend(validate_owner_references(&metadata["ownerReferences"]));
    if old.is_none() {
        errors.extend(validate_finalizers(&metadata["finalizers"]));
    }
    errors
}

fn validate_created(metadata: &Value, scope: Scope, name_format: NameFormat) -> Errors {
    let mut errors = Vec::new();
    if let prefix @ Value::String(text) = &metadata["generateName"] {
        errors.extend(each("metadata.generateName", prefix, name_format(&without_trailing_dash(text))));
    }
    match text(&metadata["name"]) {
        "" => errors.push(FieldError::required("metadata.name", "name or generateName is required")),
        name => errors.extend(each("metadata.name", &metadata["name"], name_format(name))),
    }
    match (scope, text(&metadata["namespace"])) {
        (Scope::Namespaced, "") => errors.push(FieldError::required("metadata.namespace", "")),
        (Scope::Namespaced, name) => {
            errors.extend(each("metadata.namespace", &metadata["namespace"], names::dns1123_label(name)));
        }
        (Scope::Cluster, "") => {}
        (Scope::Cluster, _) => errors.push(FieldError::forbidden("metadata.namespace", "not allowed on this type")),
    }
    errors.extend(not_negative(&metadata["generation"], "metadata.generation"));
    errors
}

/// A generated name is validated by its prefix, which may end in a dash.
fn without_trailing_dash(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let kept: String = rest.chars().take(rest.chars().count() - 1).collect();
            format!("{kept}a")
        }
        _ => prefix.to_owned(),
    }
}

fn validate_updated(new: &Value, old: &Value) -> Errors {
    let mut errors = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        errors.extend(new_finalizers(&new["finalizers"], &old["finalizers"]));
    }
    if text(&new["resourceVersion"]).is_empty() {
        errors.push(FieldError::invalid("metadata.resourceVersion", &"".into(), "must be specified for an update"));
    }
    if new["generation"].as_i64().unwrap_or_default() < old["generation"].as_i64().unwrap_or_default() {
        errors.push(FieldError::invalid("metadata.generation", &new["generation"], "must not be decremented"));
    }
    let fixed = ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
    errors.extend(fixed.iter().filter_map(|field| immutable(&new[*field], &old[*field], &format!("metadata.{field}"))));
    errors
}

/// An object that is being deleted gets no new finalizers.
fn new_finalizers(new: &Value, old: &Value) -> Option<FieldError> {
    let held = |finalizer: &Value| old.as_array().is_some_and(|old| old.contains(finalizer));
    let mut added: Vec<_> = items(new).filter(|new| !held(new)).map(text).collect();
    added.sort_unstable();
    added.dedup();
    let list: Vec<_> = added.iter().map(|finalizer| format!("{finalizer:?}")).collect();
    let added_list = format!("[]string{{{}}}", list.join(", "));
    let detail =
        format!("no new finalizers can be added if the object is being deleted, found new finalizers {added_list}");
    (!added.is_empty()).then(|| FieldError::forbidden("metadata.finalizers", &detail))
}

/// Validates labels: those of objects, templates and selectors.
pub fn validate_labels(labels: &Value, field: &str) -> Errors {
    let of_one = |(key, value): (&String, &Value)| {
        let mut errors = each(field, &key.as_str().into(), names::qualified_name(key));
        errors.extend(each(field, value, names::label_value(text(value))));
        errors
    };
    entries(labels).flat_map(of_one).collect()
}

const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Validates annotations: those of objects and templates.
pub fn validate_annotations(annotations: &Value, field: &str) -> Errors {
    let keys = entries(annotations)
        .flat_map(|(key, _)| each(field, &key.as_str().into(), names::qualified_name(&key.to_lowercase())));
    let mut errors: Errors = keys.collect();
    let size: usize = entries(annotations).map(|(key, value)| key.len() + text(value).len()).sum();
    if size > ANNOTATIONS_BYTES_MAX {
        let message = format!("Too long: may not be more than {ANNOTATIONS_BYTES_MAX} bytes");
        errors.push(FieldError::new("FieldValueTooLong", field, message));
    }
    errors
}

fn validate_owner_references(owners: &Value) -> Errors {
    const FIELD: &str = "metadata.ownerReferences";
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for owner in items(owners) {
        errors.extend(validate_owner_reference(owner, FIELD));
        if owner["controller"] == true {
            let name = format!("{}/{}", text(&owner["kind"]), text(&owner["name"]));
            match &controller {
                Some(first) => {
                    let found = format!("Found \"true\" in references for {first} and {name}");
                    let detail = format!("Only one reference can have Controller set to true. {found}");
                    errors.push(FieldError::invalid_rendered(FIELD, &render_owners(owners), &detail));
                }
                None => controller = Some(name),
            }
        }
    }
    errors
}

fn render_owners(owners: &Value) -> String {
    let owners: Vec<_> = items(owners).map(render_owner).collect();
    format!("[{}]", owners.join(","))
}

/// An owner reference with its fields in the order of Go's type.
fn render_owner(owner: &Value) -> String {
    let order = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let fields = order.iter().filter(|name| !owner[**name].is_null());
    let fields: Vec<_> = fields.map(|name| format!("\"{name}\":{}", owner[*name])).collect();
    format!("{{{}}}", fields.join(","))
}

fn validate_owner_reference(owner: &Value, field: &str) -> Errors {
    let api_version = text(&owner["apiVersion"]);
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let missing = [("kind", "must not be empty"), ("name", "must not be empty"), ("uid", "must not be empty")];
    let versions = version.is_empty().then_some(("apiVersion", "version must not be empty"));
    let missing = missing.into_iter().filter(|(name, _)| text(&owner[*name]).is_empty());
    let mut errors: Errors = versions
        .into_iter()
        .chain(missing)
        .map(|(name, detail)| FieldError::invalid(format!("{field}.{name}"), &text(&owner[name]).into(), detail))
        .collect();
    if api_version == "v1" && owner["kind"] == "Event" {
        errors.push(FieldError::invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner"));
    }
    errors
}

fn validate_finalizers(finalizers: &Value) -> Errors {
    const FIELD: &str = "metadata.finalizers";
    let names = items(finalizers).flat_map(|name| each(FIELD, name, names::qualified_name(text(name))));
    let mut errors: Errors = names.collect();
    let has = |name: &str| items(finalizers).any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        errors.push(FieldError::invalid(
            FIELD,
            finalizers,
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    errors
}

/// One error per message about a value.
fn each(field: &str, value: &Value, messages: Vec<String>) -> Errors {
    messages.iter().map(|message| FieldError::invalid(field, value, message)).collect()
}

fn immutable(new: &Value, old: &Value, field: &str) -> Option<FieldError> {
    (new != old).then(|| FieldError::invalid(field, new, "field is immutable"))
}

fn not_negative(value: &Value, field: &str) -> Option<FieldError> {
    let negative = value.as_i64().is_some_and(|number| number < 0);
    negative.then(|| FieldError::invalid(field, value, "must be greater than or equal to 0"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Scope, validate_metadata};
    use crate::FieldError;

    #[test]
    fn the_metadata_of_custom_resources_is_validated() {
        let fields = |errors: Vec<FieldError>| errors.into_iter().map(|error| error.field).collect::<Vec<_>>();
        let named = |name: &str, namespace: &str| json!({ "metadata": { "name": name, "namespace": namespace } });
        assert_eq!(fields(validate_metadata(&named("a.b", "n"), Scope::Namespaced, None)), [""; 0]);
        assert_eq!(
            fields(validate_metadata(&named("A", "n"), Scope::Cluster, None)),
            ["metadata.name", "metadata.namespace"]
        );
        let (old, new) = (named("a", "n"), named("b", "m"));
        assert_eq!(
            fields(validate_metadata(&new, Scope::Namespaced, Some(&old))),
            ["metadata.resourceVersion", "metadata.name", "metadata.namespace"]
        );
    }
}
