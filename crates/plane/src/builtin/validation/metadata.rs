//! The metadata of built-in kinds: which names and finalizers each wants.

use kedge_schema::metadata::{NameFormat, Scope, validate_metadata_with};
use kedge_schema::names;
use serde_json::Value;

use super::{Errors, invalid, items, text};

/// Validates the metadata of a built-in kind.
pub(super) fn check(kind: &str, new: &Value, old: Option<&Value>) -> Errors {
    let name_format: NameFormat = match kind {
        "Namespace" | "Service" | "StatefulSet" => names::dns1123_label,
        "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding" | "APIService" => names::path_segment,
        _ => names::dns1123_subdomain,
    };
    let mut errors = validate_metadata_with(new, scope(kind), name_format, old);
    errors.extend(qualified_finalizers(kind, &new["metadata"]["finalizers"]));
    errors
}

/// Most built-in kinds want finalizers with a domain, except for a few old ones.
fn qualified_finalizers(kind: &str, finalizers: &Value) -> Errors {
    const OLD: [&str; 3] = ["foregroundDeletion", "kubernetes", "orphan"];
    if ["APIService", "CustomResourceDefinition", "Lease"].contains(&kind) {
        return Vec::new();
    }
    let plain = |name: &str| !name.contains('/') && !OLD.contains(&name);
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    let plain = items(finalizers).filter(|(_, name)| plain(text(name)));
    plain.map(|(index, name)| invalid(format!("metadata.finalizers[{index}]"), name, detail)).collect()
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
