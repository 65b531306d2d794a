//! The ScaledObject to simulate: from a file that may have other objects too, or the sample.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use kedge_api::ScaledObject;
use kedge_core::validate::validate;
use kedge_scalers::registry;
use serde_json::Value;

const SAMPLE: &str = include_str!("sample.yaml");

/// The text and its origin.
pub(super) fn read_text(file: Option<&Path>) -> anyhow::Result<(String, String)> {
    match file {
        None => Ok(("the sample".to_owned(), SAMPLE.to_owned())),
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok((path.display().to_string(), text))
        }
    }
}

/// The only ScaledObject, or the one of this name, validated.
pub(super) fn parse(text: &str, name: Option<&str>) -> anyhow::Result<ScaledObject> {
    let mut found = Vec::new();
    for document in split(text) {
        let value: Value = serde_saphyr::from_str(&document)?;
        if value["kind"] == "ScaledObject" && value["apiVersion"] == "keda.sh/v1alpha1" {
            // Decoded from the text again: its errors have the line.
            found.push(serde_saphyr::from_str::<ScaledObject>(&document)?);
        }
    }
    let object = choose(found, name)?;
    let problems: Vec<String> = validate(&object.spec, registry::class_of).iter().map(ToString::to_string).collect();
    if !problems.is_empty() {
        bail!("this ScaledObject cannot work: {}", problems.join("; "));
    }
    let advanced = object.spec.advanced.as_ref();
    if advanced.and_then(|advanced| advanced.scaling_modifiers.as_ref()).is_some() {
        bail!("`advanced.scalingModifiers` is not simulated yet; remove it to see what each trigger does by itself");
    }
    Ok(object)
}

fn choose(mut found: Vec<ScaledObject>, name: Option<&str>) -> anyhow::Result<ScaledObject> {
    let name_of = |object: &ScaledObject| object.metadata.name.clone().unwrap_or_default();
    let names: Vec<String> = found.iter().map(name_of).collect();
    match name {
        Some(name) => {
            let position = names.iter().position(|known| known == name);
            let missing = || anyhow!("there is no ScaledObject {name}; there is {}", list(&names));
            position.map(|position| found.swap_remove(position)).with_context(missing)
        }
        None if found.len() > 1 => {
            bail!("there are several ScaledObjects; choose one with --name: {}", names.join(", "))
        }
        None => found.pop().context("there is no ScaledObject in it (keda.sh/v1alpha1); give a file that has one"),
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none at all".to_owned() } else { names.join(", ") }
}

/// The documents that are not empty, each after as many empty lines as there are before it, so that errors have the right line.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for (number, line) in text.lines().enumerate() {
        let is_marker = line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        if is_marker {
            documents.push("\n".repeat(number));
        }
        if let Some(document) = documents.last_mut() {
            document.push_str(if is_marker { "" } else { line });
            document.push('\n');
        }
    }
    let says_something = |document: &String| {
        document.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#') && line != "...")
    };
    documents.into_iter().filter(says_something).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> String {
        SAMPLE.replace("name: order-worker", &format!("name: {name}"))
    }

    fn error(text: &str, name: Option<&str>) -> String {
        format!("{:#}", parse(text, name).unwrap_err())
    }

    #[test]
    fn the_object_is_found_among_others() {
        let others = "# only a comment\n---\napiVersion: v1\nkind: Secret\n---\n";
        let found = |text: &str, name| parse(text, name).unwrap().metadata.name.unwrap();
        assert_eq!(found(&format!("{others}{}", object("one")), None), "one");
        let two = format!("{}\n---\n{}", object("one"), object("two"));
        assert_eq!(found(&two, Some("two")), "two");
        assert!(error(&two, None).contains("choose one with --name: one, two"));
        assert!(error(&two, Some("three")).contains("there is no ScaledObject three; there is one, two"));
        assert!(error(others, None).contains("there is no ScaledObject in it"));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let number = format!("---\n---\n{}", SAMPLE.replace("\"20\"", "[20]"));
        let line = number.lines().position(|line| line.contains("[20]")).unwrap() + 1;
        assert!(error(&number, None).contains(&format!("line {line}")), "{}", error(&number, None));
        let bounds = SAMPLE.replace("maxReplicaCount: 8", "maxReplicaCount: 8\n  minReplicaCount: 9");
        assert!(error(&bounds, None).contains("MinReplicaCount=9 must be less than MaxReplicaCount=8"));
        let formula = SAMPLE
            .replace("  triggers:", "  advanced: {scalingModifiers: {formula: orders, target: \"1\"}}\n  triggers:");
        assert!(error(&formula, None).contains("`advanced.scalingModifiers` is not simulated yet"));
    }
}
