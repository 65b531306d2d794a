//! What a call is answered with, and how it is written: whole, or metadata only.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

/// How much of the objects is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    /// `PartialObjectMetadata`.
    Metadata,
}

/// An answer, before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Object(Arc<Value>),
    List(List),
    /// Something that is no object of a resource: a `Status`, a `Scale`, a review.
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

/// Whether the items of a list say what they are. Those of built-in kinds do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemNaming {
    Named,
    Bare,
}

impl Answer {
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

    pub(crate) fn into_value(self, shape: Shape) -> Value {
        match self.content {
            Content::Object(object) if shape == Shape::Full => Arc::unwrap_or_clone(object),
            Content::Other(value) => value,
            content => serde_json::to_value(Shaped { content: &content, shape }).expect("JSON can be JSON"),
        }
    }

    pub(crate) fn to_bytes(&self, shape: Shape) -> Vec<u8> {
        serde_json::to_vec(&Shaped { content: &self.content, shape }).expect("JSON can be written")
    }
}

/// An answer being written.
struct Shaped<'a> {
    content: &'a Content,
    shape: Shape,
}

impl Serialize for Shaped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.content {
            Content::Object(object) => {
                ShapedObject { object, shape: self.shape, naming: ItemNaming::Named }.serialize(serializer)
            }
            Content::Other(value) => value.serialize(serializer),
            Content::List(list) => ShapedList { list, shape: self.shape }.serialize(serializer),
        }
    }
}

struct ShapedList<'a> {
    list: &'a List,
    shape: Shape,
}

impl Serialize for ShapedList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { list, shape } = *self;
        let (api_version, kind) = match shape {
            Shape::Full => (list.api_version.as_str(), list.kind.as_str()),
            Shape::Metadata => ("meta.k8s.io/v1", "PartialObjectMetadataList"),
        };
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("kind", kind)?;
        map.serialize_entry("apiVersion", api_version)?;
        let mut metadata = list.metadata.clone();
        // Custom resources say that it does not go on.
        if shape == Shape::Full && list.naming == ItemNaming::Named && metadata["continue"].is_null() {
            metadata["continue"] = json!("");
        }
        map.serialize_entry("metadata", &metadata)?;
        let items: Vec<_> =
            list.items.iter().map(|object| ShapedObject { object, shape, naming: list.naming }).collect();
        map.serialize_entry("items", &items)?;
        map.end()
    }
}

/// One object being written.
pub(crate) struct ShapedObject<'a> {
    pub(crate) object: &'a Value,
    pub(crate) shape: Shape,
    pub(crate) naming: ItemNaming,
}

impl Serialize for ShapedObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.shape, self.naming, self.object) {
            (Shape::Metadata, _, object) => partial(object).serialize(serializer),
            (Shape::Full, ItemNaming::Bare, Value::Object(map)) => {
                serializer.collect_map(map.iter().filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind")))
            }
            (Shape::Full, _, object) => object.serialize(serializer),
        }
    }
}

fn partial(object: &Value) -> Map<String, Value> {
    let named = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1" });
    let mut map = named.as_object().cloned().unwrap_or_default();
    map.insert("metadata".to_owned(), object["metadata"].clone());
    map
}
