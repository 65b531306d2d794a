//! Responses, and their serialization: full objects, or metadata only.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use crate::api::table::Printer;

/// How much of each object is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Projection {
    Full,
    /// `PartialObjectMetadata`.
    Metadata,
}

/// A response, before serialization.
#[derive(Clone, Debug)]
pub(crate) struct ApiResponse {
    pub(crate) code: u16,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Object(Arc<Value>),
    List(List),
    /// A value that is not a stored object: a `Status`, a `Scale`, a review.
    Other(Value),
}

/// Some objects.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Value,
    pub(crate) items: Vec<Arc<Value>>,
    pub(crate) naming: ItemNaming,
}

/// Whether the items of a list have `apiVersion` and `kind`. Those of built-in kinds do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemNaming {
    Named,
    Bare,
}

impl ApiResponse {
    pub(crate) fn object(object: Arc<Value>) -> Self {
        Self { code: 200, content: Content::Object(object) }
    }

    pub(crate) fn created(object: Arc<Value>) -> Self {
        Self { code: 201, content: Content::Object(object) }
    }

    pub(crate) fn other(value: Value) -> Self {
        Self { code: 200, content: Content::Other(value) }
    }

    pub(crate) fn list(list: List) -> Self {
        Self { code: 200, content: Content::List(list) }
    }

    pub(crate) fn into_value(self, projection: Projection) -> Value {
        match self.content {
            Content::Object(object) if projection == Projection::Full => Arc::unwrap_or_clone(object),
            Content::Other(value) => value,
            content => serde_json::to_value(Projected { content: &content, projection }).expect("JSON can be JSON"),
        }
    }

    /// The objects as a table; everything else as it is.
    pub(crate) fn into_table(self, printer: &Printer, now: DateTime<Utc>) -> Self {
        let table = match &self.content {
            Content::Object(object) => printer.single(object, now),
            Content::List(list) => {
                let metadata = list.metadata.clone();
                printer.table(metadata, list.items.iter().map(|item| &**item), now)
            }
            Content::Other(_) => return self,
        };
        Self { code: self.code, content: Content::Other(table) }
    }

    pub(crate) fn to_bytes(&self, projection: Projection) -> Vec<u8> {
        serde_json::to_vec(&Projected { content: &self.content, projection }).expect("JSON can be written")
    }
}

/// A response being serialized.
struct Projected<'a> {
    content: &'a Content,
    projection: Projection,
}

impl Serialize for Projected<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.content {
            Content::Object(object) => {
                ProjectedObject { object, projection: self.projection, naming: ItemNaming::Named }.serialize(serializer)
            }
            Content::Other(value) => value.serialize(serializer),
            Content::List(list) => ProjectedList { list, projection: self.projection }.serialize(serializer),
        }
    }
}

struct ProjectedList<'a> {
    list: &'a List,
    projection: Projection,
}

impl Serialize for ProjectedList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { list, projection } = *self;
        let (api_version, kind) = match projection {
            Projection::Full => (list.api_version.as_str(), list.kind.as_str()),
            Projection::Metadata => ("meta.k8s.io/v1", "PartialObjectMetadataList"),
        };
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("kind", kind)?;
        map.serialize_entry("apiVersion", api_version)?;
        let mut metadata = list.metadata.clone();
        // Lists of custom resources have an empty continue token.
        if projection == Projection::Full && list.naming == ItemNaming::Named && metadata["continue"].is_null() {
            metadata["continue"] = json!("");
        }
        map.serialize_entry("metadata", &metadata)?;
        let items: Vec<_> =
            list.items.iter().map(|object| ProjectedObject { object, projection, naming: list.naming }).collect();
        map.serialize_entry("items", &items)?;
        map.end()
    }
}

/// One object being serialized.
pub(crate) struct ProjectedObject<'a> {
    pub(crate) object: &'a Value,
    pub(crate) projection: Projection,
    pub(crate) naming: ItemNaming,
}

impl Serialize for ProjectedObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.projection, self.naming, self.object) {
            (Projection::Metadata, _, object) => partial(object).serialize(serializer),
            (Projection::Full, ItemNaming::Bare, Value::Object(map)) => {
                serializer.collect_map(map.iter().filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind")))
            }
            (Projection::Full, _, object) => object.serialize(serializer),
        }
    }
}

fn partial(object: &Value) -> Map<String, Value> {
    let named = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1" });
    let mut map = named.as_object().cloned().unwrap_or_default();
    map.insert("metadata".to_owned(), object["metadata"].clone());
    map
}
