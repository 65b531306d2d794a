//! What holds for any object, any schema and any rule: nothing panics, and what is pruned stays as it is.

use std::fs;
use std::path::{Path, PathBuf};

use kedge_schema::{Schema, validate_definition};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Names that the schemas below know, and some that they do not.
const NAMES: [&str; 24] = [
    "spec",
    "metadata",
    "name",
    "whole",
    "list",
    "set",
    "keyed",
    "map",
    "nested",
    "inner",
    "resource",
    "kind",
    "apiVersion",
    "some",
    "every",
    "filled",
    "size",
    "port",
    "sorted",
    "grows",
    "triggers",
    "status",
    "type",
    "unknown",
];

/// Words that schemas are made of.
const KEYWORDS: [&str; 26] = [
    "type",
    "properties",
    "additionalProperties",
    "items",
    "allOf",
    "anyOf",
    "not",
    "enum",
    "default",
    "nullable",
    "required",
    "pattern",
    "format",
    "minimum",
    "maxItems",
    "spec",
    "metadata",
    "x-kubernetes-validations",
    "rule",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "maxLength",
    "multipleOf",
];

/// Pieces of rules.
const PIECES: [&str; 30] = [
    "self",
    "oldSelf",
    ".",
    "spec",
    "[",
    "]",
    "(",
    ")",
    "0",
    "1",
    "'a'",
    " + ",
    " - ",
    " / ",
    " && ",
    " || ",
    " == ",
    " < ",
    "!",
    "-",
    "?",
    " : ",
    ".all(x, ",
    ".size()",
    "has(",
    ".?",
    "{",
    "}",
    "duration('1s')",
    "9223372036854775807",
];

/// Texts that mean something to some schema.
const TEXTS: [&str; 13] =
    ["", "a", "object", "string", "integer", "array", "set", "map", "date-time", "^a+$", "(", "self > 1", "2020-01-01"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3..9_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(TEXTS.as_slice()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn tree(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 48, 6, move |inner| {
        let fields = prop::collection::vec((select(names), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| {
                let fields: Map<String, Value> =
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                Value::Object(fields)
            }),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    (tree(&NAMES), tree(&NAMES)).prop_map(|(spec, metadata)| json!({ "spec": spec, "metadata": metadata }))
}

fn schemas() -> Vec<Schema> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> =
        ["plain.yaml", "ruled.yaml"].iter().map(|file| crate_folder.join("tests/cases").join(file)).collect();
    paths.extend(fs::read_dir(crate_folder.join("../../crds")).unwrap().map(|entry| entry.unwrap().path()));
    let read = |path: &PathBuf| -> Value { serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    let schema =
        |definition: Value| Schema::compile(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).unwrap();
    paths.iter().map(read).map(schema).collect()
}

fn definition_of(schema: Value) -> Value {
    json!({
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

#[test]
fn objects_are_pruned_once_and_for_all_and_never_cause_a_panic() {
    let schemas = schemas();
    proptest!(|(mut object in object(), old in object())| {
        for schema in &schemas {
            schema.validate(&object, Some(&old));
            schema.default(&mut object);
            schema.prune(&mut object);
            prop_assert_eq!(schema.unknown_fields(&object), Vec::<String>::new());
            let pruned = object.clone();
            schema.prune(&mut object);
            prop_assert_eq!(&pruned, &object);
            schema.validate(&object, None);
        }
    });
}

proptest! {
    #[test]
    fn any_schema_is_read_or_refused(schema in tree(&KEYWORDS), object in object()) {
        validate_definition(&definition_of(schema.clone()));
        validate_definition(&schema);
        if let Ok(schema) = Schema::compile(&schema) {
            let mut object = object;
            schema.default(&mut object);
            schema.prune(&mut object);
            schema.validate(&object, None);
        }
    }

    #[test]
    fn any_rule_is_run_or_refused(pieces in prop::collection::vec(select(PIECES.as_slice()), 1..24), spec in scalar()) {
        let rule = json!({ "rule": pieces.concat(), "messageExpression": pieces[0], "optionalOldSelf": true });
        let any = json!({ "x-kubernetes-int-or-string": true, "x-kubernetes-validations": [rule] });
        let schema = json!({ "type": "object", "properties": { "spec": any } });
        validate_definition(&definition_of(schema.clone()));
        let object = json!({ "spec": spec });
        Schema::compile(&schema).unwrap().validate(&object, Some(&object));
    }
}
