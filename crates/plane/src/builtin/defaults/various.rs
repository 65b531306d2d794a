//! Kinds with little to fill in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Fields, has, object, set, text};

/// A label with its name, and the finalizer by which its contents are deleted first.
pub(super) fn namespace(namespace: &mut Fields) {
    let Some(metadata) = object(namespace, "metadata") else { return };
    let leaving = has(metadata, "deletionTimestamp");
    let name = text(metadata, "name").to_owned();
    if let Some(labels) = object(metadata, "labels").filter(|_| !name.is_empty()) {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
    if let Some(spec) = object(namespace, "spec").filter(|_| !leaving) {
        set(spec, "finalizers", json!(["kubernetes"]));
    }
}

/// What was given as text is kept as data.
pub(super) fn secret(secret: &mut Fields) {
    let Some(Value::Object(texts)) = secret.remove("stringData") else { return };
    if let Some(data) = object(secret, "data") {
        let encoded = texts.iter().map(|(key, text)| (key.clone(), STANDARD.encode(text.as_str().unwrap_or_default())));
        data.extend(encoded.map(|(key, text)| (key, Value::from(text))));
    }
}

pub(super) fn webhook(webhook: &mut Fields) {
    set(webhook, "failurePolicy", "Fail");
    set(webhook, "matchPolicy", "Equivalent");
    set(webhook, "namespaceSelector", Fields::new());
    set(webhook, "objectSelector", Fields::new());
    set(webhook, "timeoutSeconds", 10);
}

/// Names of a definition, and the version that is stored.
pub(super) fn definition(definition: &mut Fields) {
    let Some(spec) = object(definition, "spec") else { return };
    let versions = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let stored = versions.filter(|version| version["storage"] == true).map(|version| version["name"].clone()).next();
    if let Some(names) = object(spec, "names") {
        let kind = text(names, "kind").to_owned();
        set(names, "singular", kind.to_lowercase());
        if !kind.is_empty() {
            set(names, "listKind", format!("{kind}List"));
        }
    }
    if let (Some(stored), Some(status)) = (stored, object(definition, "status"))
        && status.get("storedVersions").and_then(Value::as_array).is_none_or(Vec::is_empty)
    {
        status.insert("storedVersions".to_owned(), json!([stored]));
    }
}

pub(super) fn network_policy(spec: &mut Fields) {
    let egress = spec.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
    set(spec, "policyTypes", if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
}

pub(super) fn subject(subject: &mut Fields) {
    if ["User", "Group"].contains(&text(subject, "kind")) {
        set(subject, "apiGroup", "rbac.authorization.k8s.io");
    }
}
