//! The committed CRDs.

use std::collections::BTreeMap;

use kedge_api::crd;
use kedge_tests::{files, schema};
use serde_json::{Value, json};

#[test]
fn the_committed_crds_are_fresh() {
    let expected: BTreeMap<String, String> =
        crd::all().iter().map(|definition| (crd::file_name(definition), crd::render_yaml(definition))).collect();
    let folder = files::workspace().join("crds");
    let found: BTreeMap<String, String> = files::list(&folder, "yaml")
        .iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), files::read(path)))
        .collect();
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    for (name, text) in &expected {
        assert!(found[name] == *text, "crds/{name} is stale; run `cargo xtask generate`");
    }
}

/// Applies the differences between the CRDs that KEDA releases and those of the golden table. Returns whether the field is released.
fn released(name: &str, path: &str, rules: &mut Value) -> bool {
    match (name, path) {
        ("scaledobjects.keda.sh", path) if path.ends_with(".stabilizationWindowSeconds") => {
            rules["minimum"] = json!(0);
            rules["maximum"] = json!(3600);
            true
        }
        ("scaledjobs.keda.sh", "spec.triggers[].metricType") => false,
        _ => true,
    }
}

#[test]
fn every_field_and_rule_of_kedas_crds_is_there() {
    let golden: Value = serde_json::from_str(&files::golden("crd-fields.json")).unwrap();
    for definition in crd::all() {
        let name = definition.metadata.name.clone().unwrap();
        let golden = &golden[&name];
        let ours = serde_json::to_value(&definition.spec).unwrap();
        let version = &ours["versions"][0];

        for part in ["group", "names", "scope"] {
            assert_eq!(ours[part], golden[part], "{name} {part}");
        }
        assert_eq!(version["name"], golden["version"], "{name}");
        assert_eq!(version["subresources"], golden["subresources"], "{name}");
        assert_eq!(columns(&version["additionalPrinterColumns"]), columns(&golden["columns"]), "{name}");

        let schema = &version["schema"]["openAPIV3Schema"];
        let mut found = schema::fields(schema);
        found.retain(|path, _| !is_deep_in_the_job(path));
        let mut expected = BTreeMap::new();
        for (path, rules) in golden["fields"].as_object().unwrap() {
            let mut rules = rules.clone();
            if released(&name, path, &mut rules) {
                expected.insert(path.clone(), rules);
            }
        }
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{name}");
        for (path, rules) in &expected {
            let differences = schema::differences(&comparable(&found[path]), rules);
            assert!(differences.is_empty(), "{name} {path}: {differences:?}");
        }
    }
}

/// The golden table stops at the first fields of a Job.
fn is_deep_in_the_job(path: &str) -> bool {
    path.strip_prefix("spec.jobTargetRef.").is_some_and(|field| field.contains(['.', '[', '{']))
}

/// The rules of a field in the form of the golden table.
fn comparable(rules: &Value) -> Value {
    let mut rules = rules.clone();
    let map = rules.as_object_mut().unwrap();
    // The golden table marks an int-or-string in another way.
    map.remove("anyOf");
    if let Some(validations) = map.remove("x-kubernetes-validations") {
        map.insert("cel".to_owned(), validations);
    }
    rules
}

fn columns(columns: &Value) -> Vec<(String, String, String, i64)> {
    let text = |column: &Value, key: &str| column[key].as_str().unwrap_or_default().to_owned();
    let row = |column: &Value| {
        (text(column, "name"), text(column, "type"), text(column, "jsonPath"), column["priority"].as_i64().unwrap_or(0))
    };
    columns.as_array().unwrap().iter().map(row).collect()
}
