//! Metadata: names, labels, annotations, owners and finalizers, and what of it must not change.

use serde_json::Value;

use super::{Problems, each, entries, forbidden, immutable, invalid, invalid_as, items, not_negative};
use super::{required, shown, text};
use crate::builtin::format;
use crate::error::FieldProblem;

/// What is wrong with the metadata of an object whose name should be a DNS subdomain, as those of custom resources.
pub fn check_metadata(new: &Value, namespaced: bool, old: Option<&Value>) -> Vec<FieldProblem> {
    let scope = if namespaced { Scope::Namespaced } else { Scope::Cluster };
    checked(new, scope, format::subdomain, old)
}

/// The same for a built-in kind, which may want other names.
pub(super) fn check(kind: &str, new: &Value, old: Option<&Value>) -> Problems {
    let name_format: NameFormat = match kind {
        "Namespace" | "Service" | "StatefulSet" => format::label,
        "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding" | "APIService" => format::path_segment,
        _ => format::subdomain,
    };
    let mut problems = checked(new, scope(kind), name_format, old);
    problems.extend(qualified_finalizers(kind, &new["metadata"]["finalizers"]));
    problems
}

/// Most built-in kinds want finalizers with a domain, but for a few old ones.
fn qualified_finalizers(kind: &str, finalizers: &Value) -> Problems {
    const OLD: [&str; 3] = ["foregroundDeletion", "kubernetes", "orphan"];
    if ["APIService", "CustomResourceDefinition", "Lease"].contains(&kind) {
        return Vec::new();
    }
    let plain = |name: &str| !name.contains('/') && !OLD.contains(&name);
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    let plain = items(finalizers).filter(|(_, name)| plain(text(name)));
    plain.map(|(index, name)| invalid(format!("metadata.finalizers[{index}]"), name, detail)).collect()
}

type NameFormat = fn(&str) -> Vec<String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Namespaced,
    Cluster,
}

fn scope(kind: &str) -> Scope {
    match kind {
        "Namespace"
        | "Node"
        | "ClusterRole"
        | "ClusterRoleBinding"
        | "CustomResourceDefinition"
        | "APIService"
        | "PriorityClass"
        | "MutatingWebhookConfiguration"
        | "ValidatingWebhookConfiguration" => Scope::Cluster,
        _ => Scope::Namespaced,
    }
}

fn checked(new: &Value, scope: Scope, name_format: NameFormat, old: Option<&Value>) -> Problems {
    let metadata = &new["metadata"];
    let mut problems = match old {
        None => created(metadata, scope, name_format),
        Some(old) => updated(metadata, &old["metadata"]),
    };
    problems.extend(labels(&metadata["labels"], "metadata.labels"));
    problems.extend(annotations(&metadata["annotations"], "metadata.annotations"));
    problems.extend(owners(&metadata["ownerReferences"]));
    if old.is_none() {
        problems.extend(finalizers(&metadata["finalizers"]));
    }
    problems
}

fn created(metadata: &Value, scope: Scope, name_format: NameFormat) -> Problems {
    let mut problems = Vec::new();
    if let prefix @ Value::String(text) = &metadata["generateName"] {
        problems.extend(each("metadata.generateName", prefix, name_format(&completed(text))));
    }
    match text(&metadata["name"]) {
        "" => problems.push(required("metadata.name", "name or generateName is required")),
        name => problems.extend(each("metadata.name", &metadata["name"], name_format(name))),
    }
    match (scope, text(&metadata["namespace"])) {
        (Scope::Namespaced, "") => problems.push(required("metadata.namespace", "")),
        (Scope::Namespaced, name) => {
            problems.extend(each("metadata.namespace", &metadata["namespace"], format::label(name)));
        }
        (Scope::Cluster, "") => {}
        (Scope::Cluster, _) => problems.push(forbidden("metadata.namespace", "not allowed on this type")),
    }
    problems.extend(not_negative(&metadata["generation"], "metadata.generation"));
    problems
}

/// A prefix may end in a dash, as something will follow.
fn completed(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let kept: String = rest.chars().take(rest.chars().count() - 1).collect();
            format!("{kept}a")
        }
        _ => prefix.to_owned(),
    }
}

fn updated(new: &Value, old: &Value) -> Problems {
    let mut problems = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        problems.extend(new_finalizers(&new["finalizers"], &old["finalizers"]));
    }
    if text(&new["resourceVersion"]).is_empty() {
        problems.push(invalid("metadata.resourceVersion", &"".into(), "must be specified for an update"));
    }
    if new["generation"].as_i64().unwrap_or_default() < old["generation"].as_i64().unwrap_or_default() {
        problems.push(invalid("metadata.generation", &new["generation"], "must not be decremented"));
    }
    let fixed = ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
    problems
        .extend(fixed.iter().filter_map(|field| immutable(&new[*field], &old[*field], &format!("metadata.{field}"))));
    problems
}

/// Whoever is being deleted gets no new finalizers.
fn new_finalizers(new: &Value, old: &Value) -> Option<FieldProblem> {
    let held = |finalizer: &Value| old.as_array().is_some_and(|old| old.contains(finalizer));
    let mut added: Vec<_> = items(new).map(|(_, finalizer)| finalizer).filter(|new| !held(new)).map(text).collect();
    added.sort_unstable();
    added.dedup();
    let list: Vec<_> = added.iter().map(|finalizer| format!("{finalizer:?}")).collect();
    let told = format!("[]string{{{}}}", list.join(", "));
    let detail = format!("no new finalizers can be added if the object is being deleted, found new finalizers {told}");
    (!added.is_empty()).then(|| forbidden("metadata.finalizers", &detail))
}

/// Labels; also those of templates and selectors.
pub(super) fn labels(labels: &Value, field: &str) -> Problems {
    let of_one = |(key, value): (&String, &Value)| {
        let mut problems = each(field, &key.as_str().into(), format::key(key));
        problems.extend(each(field, value, format::label_value(text(value))));
        problems
    };
    entries(labels).flat_map(of_one).collect()
}

const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

pub(super) fn annotations(annotations: &Value, field: &str) -> Problems {
    let keys =
        entries(annotations).flat_map(|(key, _)| each(field, &key.as_str().into(), format::key(&key.to_lowercase())));
    let mut problems: Problems = keys.collect();
    let size: usize = entries(annotations).map(|(key, value)| key.len() + text(value).len()).sum();
    if size > ANNOTATIONS_BYTES_MAX {
        let message = format!("Too long: may not be more than {ANNOTATIONS_BYTES_MAX} bytes");
        problems.push(FieldProblem::new("FieldValueTooLong", field, message));
    }
    problems
}

fn owners(owners: &Value) -> Problems {
    const FIELD: &str = "metadata.ownerReferences";
    let mut problems = Vec::new();
    let mut controller: Option<String> = None;
    for (_, owner) in items(owners) {
        problems.extend(owner_problems(owner, FIELD));
        if owner["controller"] == true {
            let name = format!("{}/{}", text(&owner["kind"]), text(&owner["name"]));
            match &controller {
                Some(first) => {
                    let found = format!("Found \"true\" in references for {first} and {name}");
                    let detail = format!("Only one reference can have Controller set to true. {found}");
                    problems.push(invalid_as(FIELD, &shown_owners(owners), &detail));
                }
                None => controller = Some(name),
            }
        }
    }
    problems
}

fn shown_owners(owners: &Value) -> String {
    let order = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"].map(|name| (name, None));
    let owners: Vec<_> = items(owners).map(|(_, owner)| shown(owner, &order)).collect();
    format!("[{}]", owners.join(","))
}

fn owner_problems(owner: &Value, field: &str) -> Problems {
    let api_version = text(&owner["apiVersion"]);
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let missing = [("kind", "must not be empty"), ("name", "must not be empty"), ("uid", "must not be empty")];
    let versions = version.is_empty().then_some(("apiVersion", "version must not be empty"));
    let missing = missing.into_iter().filter(|(name, _)| text(&owner[*name]).is_empty());
    let mut problems: Problems = versions
        .into_iter()
        .chain(missing)
        .map(|(name, detail)| invalid(format!("{field}.{name}"), &text(&owner[name]).into(), detail))
        .collect();
    if api_version == "v1" && owner["kind"] == "Event" {
        problems.push(invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner"));
    }
    problems
}

fn finalizers(finalizers: &Value) -> Problems {
    const FIELD: &str = "metadata.finalizers";
    let names = items(finalizers).flat_map(|(_, name)| each(FIELD, name, format::key(text(name))));
    let mut problems: Problems = names.collect();
    let has = |name: &str| items(finalizers).any(|(_, finalizer)| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        problems.push(invalid(FIELD, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"));
    }
    problems
}
