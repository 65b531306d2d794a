//! What the schemas of custom resources make of objects, against what kube-apiserver made of them, and over our own CRDs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kedge_schema::{FieldError, Schema, validate_definition};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    old: Option<Value>,
    object: Value,
    #[serde(default)]
    refused: Vec<String>,
    #[serde(default)]
    stored: Option<Value>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn read<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema_of(definition: &Value) -> Schema {
    Schema::compile(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).expect("the schema compiles")
}

/// A problem as the cases write causes.
fn cause(problem: &FieldError) -> String {
    format!("{} {}: {}", problem.reason, problem.field, problem.message)
}

/// What the API server does to an object before it looks what is wrong with it.
fn taken_in(schema: &Schema, kind: &Value, object: &Value) -> Value {
    let mut whole = json!({ "apiVersion": "example.com/v1", "kind": kind, "metadata": { "name": "x" } });
    let fields = object.as_object().unwrap().clone();
    whole.as_object_mut().unwrap().extend(fields);
    let mut object = whole;
    schema.default(&mut object);
    schema.prune(&mut object);
    object
}

/// What of an object is its own, written as Go writes it: numbers without a fraction that is zero.
fn as_stored(mut object: Value) -> Value {
    for common in ["apiVersion", "kind", "metadata"] {
        object.as_object_mut().unwrap().remove(common);
    }
    let text = object.to_string().replace(".0}", "}").replace(".0,", ",");
    serde_json::from_str(&text).unwrap()
}

fn compare(definition: &str, cases: &str) {
    let definition: Value = read(&folder().join(definition));
    let schema = schema_of(&definition);
    let kind = &definition["spec"]["names"]["kind"];
    let cases: Vec<Case> = read(&folder().join(cases));
    let wrong: Vec<String> = cases.iter().filter_map(|case| wrong(&schema, kind, case)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn wrong(schema: &Schema, kind: &Value, case: &Case) -> Option<String> {
    let object = taken_in(schema, kind, &case.object);
    let old = case.old.as_ref().map(|old| taken_in(schema, kind, old));
    let mut causes: Vec<String> = schema.validate(&object, old.as_ref()).iter().map(cause).collect();
    causes.sort();
    let stored = causes.is_empty().then(|| as_stored(object));
    let same = causes == case.refused && stored == case.stored;
    (!same).then(|| {
        format!("{}:\n  here  {causes:#?} {stored:?}\n  there {:#?} {:?}", case.name, case.refused, case.stored)
    })
}

#[test]
fn objects_are_stored_and_refused_as_kube_apiserver_does() {
    compare("plain.yaml", "creations.yaml");
}

#[test]
fn what_was_wrong_before_a_schema_got_stricter_is_let_pass_unchanged() {
    compare("plain.yaml", "tightened.yaml");
}

#[test]
fn rules_are_applied_as_kube_apiserver_does() {
    compare("ruled.yaml", "rulings.yaml");
}

#[test]
fn rules_over_updates_see_what_was() {
    compare("ruled.yaml", "transitions.yaml");
}

#[test]
fn unknown_fields_are_named_as_kube_apiserver_names_them() {
    let schema = schema_of(&read(&folder().join("plain.yaml")));
    let rows: [(Value, &[&str]); 6] = [
        (json!({ "spec": { "text": "a" }, "metadata": { "any": 1 } }), &[]),
        (
            json!({ "spec": { "unknown": 1, "nested": { "name": "a", "b": "c" } }, "more": 1 }),
            &["more", "spec.nested.b", "spec.unknown"],
        ),
        (
            json!({ "spec": { "numbers": [1, { "a": 1 }], "keyed": [{ "name": "a", "x": 1 }, { "name": "b", "y": { "z": 1 } }] } }),
            &["spec.keyed[0].x", "spec.keyed[1].y", "spec.numbers[1].a"],
        ),
        (json!({ "spec": { "anything": { "a": 1 }, "map": { "a": { "b": 1 } } } }), &["spec.map.a.b"]),
        (json!({ "spec": { "text": { "a": 1, "b": [{ "c": 1 }] } } }), &["spec.text.a", "spec.text.b"]),
        (
            json!({ "spec": { "filled": { "kind": "x", "apiVersion": "y", "metadata": {} } } }),
            &["spec.filled.apiVersion", "spec.filled.metadata"],
        ),
    ];
    for (object, expected) in rows {
        assert_eq!(schema.unknown_fields(&object), expected, "{object}");
    }
}

#[derive(Deserialize)]
struct DefinitionCase {
    name: String,
    #[serde(default)]
    change: Value,
    schema: Option<Value>,
    subresources: Option<Value>,
    columns: Option<Value>,
    #[serde(default)]
    refused: Vec<String>,
}

impl DefinitionCase {
    fn definition(&self) -> Value {
        let mut version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } });
        if let Some(schema) = &self.schema {
            version["schema"]["openAPIV3Schema"] = schema.clone();
        }
        if let Some(subresources) = &self.subresources {
            version["subresources"] = subresources.clone();
        }
        if let Some(columns) = &self.columns {
            version["additionalPrinterColumns"] = columns.clone();
        }
        let names = json!({ "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList" });
        let mut definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "things.example.com" },
            "spec": { "group": "example.com", "scope": "Namespaced", "names": names, "versions": [version] },
        });
        if self.change.is_object() {
            json_patch::merge(&mut definition, &self.change);
        }
        definition
    }
}

/// What is left of a cause without the words of the reader of patterns and rules, which is another one here.
fn without_engine(cause: &str) -> &str {
    let marks = ["but isn't: ", "Syntax error: "];
    let end = marks.iter().filter_map(|mark| cause.find(mark).map(|at| at + mark.len())).min();
    &cause[..end.unwrap_or(cause.len())]
}

#[test]
fn definitions_are_refused_as_kube_apiserver_does() {
    let cases: Vec<DefinitionCase> = read(&folder().join("definitions.yaml"));
    let wrong = cases.iter().filter_map(|case| {
        let mut here: Vec<String> = validate_definition(&case.definition()).iter().map(cause).collect();
        here.sort();
        let same =
            here.iter().map(|cause| without_engine(cause)).eq(case.refused.iter().map(|cause| without_engine(cause)));
        (!same).then(|| format!("{}:\n  here  {here:#?}\n  there {:#?}", case.name, case.refused))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn our_own_definitions_are_right() {
    for path in files(&workspace().join("crds")) {
        assert_eq!(validate_definition(&read(&path)), [], "{}", path.display());
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn our_schemas() -> BTreeMap<String, Schema> {
    let definitions = files(&workspace().join("crds")).into_iter().map(|path| read::<Value>(&path));
    definitions
        .map(|definition| (definition["spec"]["names"]["kind"].as_str().unwrap().to_owned(), schema_of(&definition)))
        .collect()
}

/// What is wrong with a manifest's verdict: its folder says which it must be, and its first line why.
fn wrong_verdict(schemas: &BTreeMap<String, Schema>, path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let reason = text.lines().next().and_then(|line| line.strip_prefix("# refused: "));
    // Names and labels are not the schema's, and what has a status of its own is created without.
    if reason.is_some_and(|reason| reason.starts_with("metadata")) {
        return None;
    }
    let mut object: Value = read(path);
    object.as_object_mut().unwrap().remove("status");
    let schema = &schemas[object["kind"].as_str().unwrap()];
    schema.default(&mut object);
    schema.prune(&mut object);
    let problems = schema.validate(&object, None);
    let message: Vec<String> =
        problems.iter().map(|problem| format!("{}: {}", problem.field, problem.message)).collect();
    let message = message.join(", ");
    let right = match reason {
        Some(reason) => message.contains(reason),
        None => message.is_empty(),
    };
    (!right).then(|| format!("{}: {message}", path.display()))
}

#[test]
fn manifests_get_the_verdict_that_they_get_from_a_cluster() {
    let schemas = our_schemas();
    let manifests: Vec<PathBuf> = ["accepted", "refused"]
        .iter()
        .flat_map(|verdict| files(&workspace().join("tests/manifests").join(verdict)))
        .collect();
    let wrong: Vec<String> = manifests.iter().filter_map(|path| wrong_verdict(&schemas, path)).collect();
    assert!(manifests.len() >= 80, "only {} manifests", manifests.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), manifests.len(), wrong.join("\n"));
}
