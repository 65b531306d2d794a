//! Objects out of YAML, and where in the text each of their fields stands. What cannot be read is for `stream`.

use std::collections::BTreeMap;
use std::fmt;

use kedge_webhooks::finding::{FieldPath, Step};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

/// The largest number below which every whole one has a float of its own.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// A place in a text, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

/// One object.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) object: Value,
    places: BTreeMap<FieldPath, Place>,
}

impl Document {
    /// Where a field stands; of one that is missing, the closest that there is around it.
    pub(super) fn place(&self, path: &FieldPath) -> Place {
        let known = |length: usize| self.places.get(&FieldPath(path.0[..length].to_vec()));
        (0..=path.0.len()).rev().find_map(known).copied().unwrap_or(Place { line: 1, column: 1 })
    }

    /// The objects of a `List`, each by itself; any other object as it is.
    fn unpacked(self) -> Vec<Self> {
        let is_list = self.object["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
        match self.object["items"].as_array() {
            Some(items) if is_list => (0..items.len()).map(|index| self.item(index)).collect(),
            _ => vec![self],
        }
    }

    fn item(&self, index: usize) -> Self {
        let prefix = FieldPath::of("items").index(index).0;
        let inside = self.places.iter().filter_map(|(path, place)| {
            let rest = path.0.strip_prefix(prefix.as_slice())?;
            Some((FieldPath(rest.to_vec()), *place))
        });
        Self { object: self.object["items"][index].clone(), places: inside.collect() }
    }
}

/// The objects of one document, which begins after some lines of its file.
pub(super) fn objects(tree: Spanned<Tree>, lines_before: u64) -> Vec<Document> {
    let mut places = BTreeMap::from([(FieldPath::default(), place_of(tree.referenced, lines_before))]);
    let object = tree.value.settle(&FieldPath::default(), &mut places, lines_before);
    Document { object, places }.unpacked()
}

pub(super) fn place_of(location: Location, lines_before: u64) -> Place {
    Place { line: lines_before + location.line(), column: location.column() }
}

/// A value whose parts know where they stand.
#[derive(Debug)]
pub(super) enum Tree {
    Plain(Value),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl Tree {
    /// The value itself; where its parts stand is noted. An entry of a map stands where its key does.
    fn settle(self, path: &FieldPath, places: &mut BTreeMap<FieldPath, Place>, lines_before: u64) -> Value {
        match self {
            Self::Plain(value) => value,
            Self::List(items) => {
                let items = items.into_iter().enumerate().map(|(index, item)| {
                    let path = FieldPath(path.0.iter().cloned().chain([Step::Index(index)]).collect());
                    places.insert(path.clone(), place_of(item.referenced, lines_before));
                    item.value.settle(&path, places, lines_before)
                });
                Value::Array(items.collect())
            }
            Self::Map(entries) => {
                let entries = entries.into_iter().map(|(key, item)| {
                    let path = FieldPath(path.0.iter().cloned().chain([Step::Key(key.value.clone())]).collect());
                    places.insert(path.clone(), place_of(key.referenced, lines_before));
                    (key.value, item.value.settle(&path, places, lines_before))
                });
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Plain(value.into()))
    }

    /// As the API server reads it: `2.0` is a whole number.
    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        if value.fract() == 0.0 && value.abs() < WHOLE_MAX {
            return Ok(Tree::Plain((value as i64).into()));
        }
        Ok(Tree::Plain(Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Plain(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Plain(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Plain(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }
}
