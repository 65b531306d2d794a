//! Tables: what `kubectl get` shows of objects, as the server prints it.
//!
//! | module | what it holds |
//! |---|---|
//! | `built_in` | the columns of built-in kinds |
//! | `path` | the columns of custom resources: paths into the object |
//! | `age` | durations in short |

mod age;
mod built_in;
mod path;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

pub(crate) use self::path::CellPath;
use crate::api::meta;

/// How much of each object a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IncludedObject {
    None,
    Metadata,
    Object,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    /// Above 0: only in wide output.
    pub(crate) priority: i64,
    pub(crate) cell: Cell,
}

/// What a column shows of an object.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    BuiltIn(fn(&Value, DateTime<Utc>) -> Value),
    Path(CellPath),
}

impl Column {
    fn built_in(name: &str, kind: &str, priority: i64, cell: fn(&Value, DateTime<Utc>) -> Value) -> Self {
        let format = if name == "Name" { "name" } else { "" };
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: format.to_owned(),
            description: String::new(),
            priority,
            cell: Cell::BuiltIn(cell),
        }
    }

    /// The columns of a built-in resource.
    pub(crate) fn of_built_in(group: &str, plural: &str) -> Vec<Self> {
        built_in::columns(group, plural)
    }

    /// The columns of a version of a custom resource.
    pub(crate) fn of_definition(version: &Value) -> Vec<Self> {
        let listed = version["additionalPrinterColumns"].as_array().into_iter().flatten();
        let text = |column: &Value, field: &str| column[field].as_str().unwrap_or_default().to_owned();
        let listed = listed.map(|column| Self {
            name: text(column, "name"),
            kind: text(column, "type"),
            format: text(column, "format"),
            description: text(column, "description"),
            priority: column["priority"].as_i64().unwrap_or(0),
            cell: Cell::Path(CellPath::parse(column["jsonPath"].as_str().unwrap_or_default())),
        });
        let mut columns = vec![built_in::name()];
        columns.extend(listed);
        if columns.len() == 1 {
            columns.push(built_in::age());
        }
        columns
    }

    fn definition(&self) -> Value {
        let Self { name, kind, format, description, priority, .. } = self;
        json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority })
    }

    fn show(&self, object: &Value, now: DateTime<Utc>) -> Value {
        match &self.cell {
            Cell::BuiltIn(cell) => cell(object, now),
            Cell::Path(path) => path.show(object, &self.kind, now),
        }
    }
}

/// Tables of one resource.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    columns: Vec<Column>,
    included: IncludedObject,
}

impl Printer {
    pub(crate) fn new(columns: Vec<Column>, included: IncludedObject) -> Self {
        Self { columns, included }
    }

    /// A table of these objects.
    pub(crate) fn table<'a>(
        &self,
        metadata: Value,
        objects: impl Iterator<Item = &'a Value>,
        now: DateTime<Utc>,
    ) -> Value {
        let definitions: Vec<Value> = self.columns.iter().map(Column::definition).collect();
        let rows: Vec<Value> = objects.map(|object| self.row(object, now)).collect();
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            "columnDefinitions": definitions, "rows": rows,
        })
    }

    fn row(&self, object: &Value, now: DateTime<Utc>) -> Value {
        let cells: Vec<Value> = self.columns.iter().map(|column| column.show(object, now)).collect();
        let included = match self.included {
            IncludedObject::None => Value::Null,
            IncludedObject::Metadata => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
            }),
            IncludedObject::Object => object.clone(),
        };
        json!({ "cells": cells, "object": included })
    }

    /// A table with one object: what a GET returns, and each event of a watch.
    pub(crate) fn single(&self, object: &Value, now: DateTime<Utc>) -> Value {
        let metadata = json!({ "resourceVersion": meta::resource_version(object) });
        self.table(metadata, std::iter::once(object), now)
    }
}
