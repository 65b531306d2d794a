//! The ScaledObject to simulate: from files that may have other objects too, or the sample.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use kedge_api::ScaledObject;
use kedge_core::validate::validate;
use kedge_scalers::registry;

use crate::manifests::files::File;
use crate::manifests::{self, LocatedDocument, stream, with_large_stack};
use crate::validation::Decoder;

const SAMPLE: &str = include_str!("sample.yaml");

/// The documents and their origin.
pub(super) fn read(file: Option<&Path>) -> anyhow::Result<(String, Vec<LocatedDocument>)> {
    match file {
        None => Ok(("the sample".to_owned(), documents("the sample", SAMPLE)?)),
        Some(path) if path.as_os_str() == "-" => {
            Ok(("standard input".to_owned(), manifests::read_documents(&[path.to_owned()])?))
        }
        Some(path) => Ok((path.display().to_string(), manifests::read_documents(&[path.to_owned()])?)),
    }
}

fn documents(name: &str, text: &str) -> anyhow::Result<Vec<LocatedDocument>> {
    with_large_stack(|| File { name: name.to_owned(), contents: stream::parse(text.as_bytes()) }.located())
}

/// The only ScaledObject, or the one of this name, validated.
pub(super) fn choose_object(documents: &[LocatedDocument], name: Option<&str>) -> anyhow::Result<ScaledObject> {
    let is_scaled_object = |located: &&LocatedDocument| {
        let object = &located.document.object;
        object["kind"] == "ScaledObject" && object["apiVersion"] == "keda.sh/v1alpha1"
    };
    let located = choose(documents.iter().filter(is_scaled_object).collect(), name)?;
    let object: ScaledObject = Decoder::new().decode(located)?;
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

fn choose<'d>(mut found: Vec<&'d LocatedDocument>, name: Option<&str>) -> anyhow::Result<&'d LocatedDocument> {
    let name_of = |located: &&LocatedDocument| {
        located.document.object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> String {
        SAMPLE.replace("name: order-worker", &format!("name: {name}"))
    }

    fn parse(text: &str, name: Option<&str>) -> anyhow::Result<ScaledObject> {
        choose_object(&documents("web.yaml", text)?, name)
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
        let indented = object("one").lines().map(|line| format!("  {line}\n")).collect::<String>();
        assert_eq!(found(&format!("kind: List\nitems:\n-{}", &indented[1..]), None), "one");
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let number = format!("---\n---\n{}", SAMPLE.replace("\"20\"", "[20]"));
        let line = number.lines().position(|line| line.contains("[20]")).unwrap() + 1;
        assert!(error(&number, None).starts_with(&format!("web.yaml:{line}:")), "{}", error(&number, None));
        assert!(error(&number, None).contains("order-worker: spec.triggers["), "{}", error(&number, None));
        let bounds = SAMPLE.replace("maxReplicaCount: 8", "maxReplicaCount: 8\n  minReplicaCount: 9");
        assert!(error(&bounds, None).contains("minReplicaCount must be less"));
        let formula = SAMPLE
            .replace("  triggers:", "  advanced: {scalingModifiers: {formula: orders, target: \"1\"}}\n  triggers:");
        assert!(error(&formula, None).contains("`advanced.scalingModifiers` is not simulated yet"));
    }
}
