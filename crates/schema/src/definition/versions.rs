//! The versions of a custom resource: their names, which is stored, and what each, or all of them, say of objects,
//! subresources and columns.

use serde_json::{Map, Value, json};

use super::{NOTHING, list, openapi, section};
use crate::FieldError;
use crate::messages::{child, forbidden, index, invalid, invalid_as};
use crate::names::{dns1035_label, joined};
use crate::node::{flag, text, texts};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

fn versions(spec: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    list(spec, "versions").iter().map(|version| version.as_object().unwrap_or(&NOTHING))
}

/// The value that all versions have in common, if they do.
fn common<'a>(spec: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let first = versions(spec).next()?.get(name).filter(|value| !value.is_null())?;
    versions(spec).all(|version| version.get(name) == Some(first)).then_some(first)
}

fn has_status(subresources: Option<&Value>) -> bool {
    subresources.and_then(|subresources| subresources.get("status")).is_some_and(|status| !status.is_null())
}

pub(super) fn check(spec: &Map<String, Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (at, version) in versions(spec).enumerate() {
        if !section(version, "schema").contains_key("openAPIV3Schema") {
            errors.push(FieldError::required(child(&index("spec.versions", at), "schema.openAPIV3Schema"), ""));
        }
    }
    for (at, version) in versions(spec).enumerate() {
        errors.extend(check_version(spec, version, &index("spec.versions", at)));
    }
    errors.extend(check_storage(spec));
    errors
}

fn check_version(spec: &Map<String, Value>, version: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let name = text(version, "name");
    let violation = joined(&dns1035_label(&name));
    let mut errors: Vec<FieldError> =
        violation.map(|violation| invalid(child(path, "name"), &Value::from(name), &violation)).into_iter().collect();
    if let Some(warning) = version.get("deprecationWarning").filter(|_| !flag(version, "deprecated")) {
        errors.push(invalid(child(path, "deprecationWarning"), warning, "can only be set for deprecated versions"));
    }
    if common(spec, "schema").is_none() {
        let status = has_status(version.get("subresources"));
        errors.extend(
            version.get("schema").into_iter().flat_map(|schema| check_schema(schema, status, &child(path, "schema"))),
        );
    }
    if common(spec, "subresources").is_none() {
        errors.extend(check_scale(section(version, "subresources"), &child(path, "subresources")));
    }
    if common(spec, "additionalPrinterColumns").is_none() {
        errors
            .extend(check_columns(list(version, "additionalPrinterColumns"), &child(path, "additionalPrinterColumns")));
    }
    errors
}

pub(super) fn check_common(spec: &Map<String, Value>) -> Vec<FieldError> {
    let status = versions(spec).any(|version| has_status(version.get("subresources")));
    let mut errors = Vec::new();
    if let Some(schema) = common(spec, "schema") {
        errors.extend(check_schema(schema, status, "spec.validation"));
    }
    if let Some(subresources) = common(spec, "subresources").and_then(Value::as_object) {
        errors.extend(check_scale(subresources, "spec.subresources"));
    }
    if let Some(columns) = common(spec, "additionalPrinterColumns").and_then(Value::as_array) {
        errors.extend(check_columns(columns, "spec.additionalPrinterColumns"));
    }
    errors
}

fn check_schema(schema: &Value, status: bool, path: &str) -> Vec<FieldError> {
    let Some(schema) = schema.get("openAPIV3Schema") else { return Vec::new() };
    let path = child(path, "openAPIV3Schema");
    let mut errors = Vec::new();
    if status {
        errors.extend(check_root_beside_status(schema, &path));
    }
    if schema["nullable"] == true {
        errors.push(forbidden(child(&path, "nullable"), "nullable cannot be true at the root"));
    }
    errors.extend(openapi::check_whole(schema, &path));
    errors
}

/// A status subresource is validated alone: keywords at the root must not reach it.
fn check_root_beside_status(schema: &Value, path: &str) -> Option<FieldError> {
    const ALLOWED: [&str; 22] = [
        "description",
        "type",
        "format",
        "title",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "required",
        "items",
        "properties",
        "externalDocs",
        "example",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    ];
    let shown = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]";
    let mut fields = schema.as_object()?.keys();
    let other = fields.any(|name| !ALLOWED.contains(&name.as_str()));
    let detail =
        format!("only {shown} fields are allowed at the root of the schema if the status subresource is enabled");
    other.then(|| invalid(path, schema, &detail))
}

fn check_storage(spec: &Map<String, Value>) -> Vec<FieldError> {
    let names: Vec<String> = versions(spec).map(|version| text(version, "name")).collect();
    let mut errors = Vec::new();
    if (1..names.len()).any(|at| names[..at].contains(&names[at])) {
        errors.push(invalid_as("spec.versions", &shown(spec), "must contain unique version names"));
    }
    if versions(spec).filter(|version| flag(version, "storage")).count() != 1 {
        errors.push(invalid_as(
            "spec.versions",
            &shown(spec),
            "must have exactly one version marked as storage version",
        ));
    }
    if let Some(violation) = names.first().and_then(|name| joined(&dns1035_label(name))) {
        errors.push(invalid("spec.version", &Value::from(names[0].as_str()), &violation));
    }
    errors
}

/// Versions as the API server renders them: with Go's names of the fields, without what they have in common.
fn shown(spec: &Map<String, Value>) -> String {
    let own = |version: &Map<String, Value>, name: &str| -> Value {
        version.get(name).filter(|_| common(spec, name).is_none()).cloned().unwrap_or_default()
    };
    let one = |version: &Map<String, Value>| -> String {
        let warning = version.get("deprecationWarning").cloned().unwrap_or_default();
        format!(
            r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{warning},"Schema":{},"Subresources":{},"AdditionalPrinterColumns":{},"SelectableFields":{}}}"#,
            json!(text(version, "name")),
            flag(version, "served"),
            flag(version, "storage"),
            flag(version, "deprecated"),
            own(version, "schema"),
            own(version, "subresources"),
            own(version, "additionalPrinterColumns"),
            own(version, "selectableFields"),
        )
    };
    format!("[{}]", versions(spec).map(one).collect::<Vec<_>>().join(","))
}

/// `status.storedVersions`; a new definition has its storage version.
pub(super) fn check_stored(status: &Map<String, Value>, spec: &Map<String, Value>) -> Vec<FieldError> {
    const FIELD: &str = "status.storedVersions";
    let names: Vec<String> = versions(spec).map(|version| text(version, "name")).collect();
    let storage: Vec<String> =
        versions(spec).filter(|version| flag(version, "storage")).map(|version| text(version, "name")).collect();
    let stored = Some(texts(status, "storedVersions")).filter(|stored| !stored.is_empty());
    let stored = stored.unwrap_or_else(|| storage.iter().take(1).cloned().collect());
    if stored.is_empty() {
        return vec![invalid(FIELD, &Value::Null, "must have at least one stored version")];
    }
    let unstored = storage.iter().filter(|name| !stored.contains(name));
    let mut errors: Vec<FieldError> =
        unstored.map(|name| invalid(FIELD, &json!(stored), &format!("must have the storage version {name}"))).collect();
    for (at, name) in stored.iter().enumerate().filter(|(_, name)| !names.contains(name)) {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage \
             migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        errors.push(invalid(index(FIELD, at), &Value::from(name.as_str()), &detail));
    }
    errors
}

fn check_scale(subresources: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let Some(scale) = subresources.get("scale").and_then(Value::as_object) else { return Vec::new() };
    let spec = ("specReplicasPath", [".spec."].as_slice(), "should be a json path under .spec");
    let status = ("statusReplicasPath", [".status."].as_slice(), "should be a json path under .status");
    let selector =
        ("labelSelectorPath", [".spec.", ".status."].as_slice(), "should be a json path under either .spec or .status");
    let check = |(name, under, detail): (&str, &[&str], &str)| {
        let value = text(scale, name);
        let field = child(path, &format!("scale.{name}"));
        match value.as_str() {
            "" if name == "labelSelectorPath" => None,
            "" => Some(FieldError::required(field, "")),
            _ => simple_path(&value, &field).or_else(|| {
                let right = under.iter().any(|start| value.starts_with(start));
                (!right).then(|| invalid(field, &Value::from(value.as_str()), detail))
            }),
        }
    };
    [spec, status, selector].into_iter().filter_map(check).collect()
}

fn simple_path(path: &str, field: &str) -> Option<FieldError> {
    (!path.starts_with('.')).then(|| invalid(field, &Value::from(path), "must be a simple json path starting with ."))
}

fn check_columns(columns: &[Value], path: &str) -> Vec<FieldError> {
    let check = |(at, column): (usize, &Value)| check_column(column.as_object().unwrap_or(&NOTHING), &index(path, at));
    columns.iter().enumerate().flat_map(check).collect()
}

fn check_column(column: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (kind, format, json_path) = (text(column, "type"), text(column, "format"), text(column, "jsonPath"));
    let types = format!("must be one of {}", COLUMN_TYPES.join(","));
    if text(column, "name").is_empty() {
        errors.push(FieldError::required(child(path, "name"), ""));
    }
    match kind.as_str() {
        "" => errors.push(FieldError::required(child(path, "type"), &types)),
        kind if !COLUMN_TYPES.contains(&kind) => errors.push(invalid(child(path, "type"), &Value::from(kind), &types)),
        _ => {}
    }
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format.as_str()) {
        let formats = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(invalid(child(path, "format"), &Value::from(format), &formats));
    }
    let field = child(path, "JSONPath");
    match json_path.as_str() {
        "" => errors.push(FieldError::required(field, "")),
        _ => errors.extend(simple_path(&json_path, &field)),
    }
    errors
}
