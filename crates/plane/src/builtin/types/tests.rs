//! The table, beside the OpenAPI of the same types.

use std::collections::BTreeSet;

use super::*;
use crate::builtin::schemas::{DEFINITIONS, table_name};

#[test]
fn every_type_has_the_fields_that_its_openapi_has() {
    let mut compared = 0;
    for (definition, schema) in &*DEFINITIONS {
        let Some(properties) = schema["properties"].as_object() else { continue };
        let name = table_name(definition);
        let shape = TABLE.structs.get(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        let expected: BTreeSet<_> = properties.keys().map(String::as_str).collect();
        let found: BTreeSet<_> = shape.fields.keys().copied().collect();
        assert_eq!(found, expected, "{name}");
        compared += 1;
    }
    assert!(compared > 250, "only {compared} types");
}

#[test]
fn every_field_has_the_type_that_its_openapi_has() {
    for (definition, schema) in &*DEFINITIONS {
        let name = table_name(definition);
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let shape = TABLE.structs[name].fields[field.as_str()].typed.shape();
            let fits = match (schema["type"].as_str(), shape) {
                (Some("string"), Shape::Text | Shape::Bytes) => true,
                (Some("integer"), Shape::Int32) => schema["format"] == "int32",
                (Some("integer"), Shape::Int64) => schema["format"] == "int64",
                (Some("boolean"), Shape::Bool) | (Some("array"), Shape::List(_)) => true,
                (Some("object"), Shape::Map(_)) | (Some("number"), Shape::Float) => true,
                // A reference to another type, or to one with a form of its own.
                (None, shape) => !matches!(shape, Shape::Text | Shape::Int32 | Shape::Int64 | Shape::Bool),
                _ => false,
            };
            assert!(fits, "{name}.{field} is {shape:?}, and in OpenAPI {schema}");
        }
    }
}

#[test]
fn every_kind_and_every_type_is_in_the_table() {
    for (group, version, plural, name) in KINDS {
        assert_eq!(for_resource(&Gvr::new(group, version, plural)).map(|shape| shape.name), Some(*name));
    }
    for shape in TABLE.structs.values() {
        shape.fields.values().for_each(|field| reach(field.typed));
    }
}

fn reach(typed: Type) {
    match typed.shape() {
        Shape::List(item) | Shape::Map(item) => reach(item),
        _ => {}
    }
}
