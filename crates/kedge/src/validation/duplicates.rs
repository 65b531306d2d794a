//! Objects that are twice in one file. Files are not compared with each other: each may be for a cluster of its own.

use std::collections::BTreeMap;

use kedge_api::names;
use kedge_webhooks::violation::{FieldPath, Rule, Severity, Violation};
use serde_json::Value;

use crate::manifests::document::Document;

pub(crate) static DUPLICATE_OBJECT: Rule = Rule {
    id: "duplicate-object",
    severity: Severity::Warning,
    about: "an object is twice in one file: only the later one counts",
    counted_as: None,
};

/// The violations of the documents of one file, by their index.
pub(crate) fn find(documents: &[Document]) -> BTreeMap<usize, Violation> {
    let mut lines = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (position, document) in documents.iter().enumerate() {
        let Some(identity) = identity(&document.object) else { continue };
        let path = FieldPath::new("metadata.name");
        let line = document.position(&path).line;
        if let Some(first) = lines.insert(identity, line) {
            let problem = format!("line {first} has an object of this kind and name already, and this one replaces it");
            let remedy = "keep one of them, or give one another name";
            found.insert(position, Violation::new(&DUPLICATE_OBJECT, path, problem, remedy));
        }
    }
    found
}

/// The kind, namespace and name of an object of KEDA.
fn identity(object: &Value) -> Option<[&str; 3]> {
    let (group, _) = object["apiVersion"].as_str()?.split_once('/')?;
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    (group == names::GROUP).then_some([object["kind"].as_str()?, namespace, metadata["name"].as_str()?])
}
