//! Objects that stand twice in one file. Of files beside each other nothing is said: each may be for a cluster of its own.

use std::collections::BTreeMap;

use kedge_api::names;
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity};
use serde_json::Value;

use super::document::Document;

pub(super) static OBJECT_TWICE: Rule = Rule {
    id: "object-twice",
    severity: Severity::Warning,
    about: "an object stands twice in one file: only the later one counts",
    counted_as: None,
};

/// What is to be said of the documents of one file, by their position.
pub(super) fn find(documents: &[Document]) -> BTreeMap<usize, Finding> {
    let mut seen = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (position, document) in documents.iter().enumerate() {
        let Some(identity) = identity(&document.object) else { continue };
        let path = FieldPath::of("metadata.name");
        let line = document.place(&path).line;
        if let Some(first) = seen.insert(identity, line) {
            let problem =
                format!("an object of this kind and name stands at line {first} already, and this one replaces it");
            let remedy = "keep one of them, or give one another name";
            found.insert(position, Finding::new(&OBJECT_TWICE, path, problem, remedy));
        }
    }
    found
}

/// Kind, namespace and name of an object of ours.
fn identity(object: &Value) -> Option<[&str; 3]> {
    let (group, _) = object["apiVersion"].as_str()?.split_once('/')?;
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    (group == names::GROUP).then_some([object["kind"].as_str()?, namespace, metadata["name"].as_str()?])
}
