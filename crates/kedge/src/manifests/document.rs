//! Objects of YAML documents, with the position of each field. `stream` reports what cannot be parsed.

use std::collections::BTreeMap;
use std::fmt;

use kedge_webhooks::violation::{FieldPath, Step};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

/// 2^53: every integer below it is exact as a float.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// A position in a text. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

/// One object.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) object: Value,
    positions: BTreeMap<FieldPath, Position>,
}

impl Document {
    /// The position of a field; of a missing field, that of its closest parent.
    pub(crate) fn position(&self, path: &FieldPath) -> Position {
        let known = |length: usize| self.positions.get(&FieldPath(path.0[..length].to_vec()));
        (0..=path.0.len()).rev().find_map(known).copied().unwrap_or(Position { line: 1, column: 1 })
    }

    /// The items of a `List`; any other object as it is.
    fn unpacked(self) -> Vec<Self> {
        let is_list = self.object["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
        match self.object["items"].as_array() {
            Some(items) if is_list => (0..items.len()).map(|index| self.item(index)).collect(),
            _ => vec![self],
        }
    }

    fn item(&self, index: usize) -> Self {
        let prefix = FieldPath::new("items").index(index).0;
        let inside = self.positions.iter().filter_map(|(path, position)| {
            let rest = path.0.strip_prefix(prefix.as_slice())?;
            Some((FieldPath(rest.to_vec()), *position))
        });
        Self { object: self.object["items"][index].clone(), positions: inside.collect() }
    }
}

/// The objects of one document that begins after `lines_before` lines of its file.
pub(crate) fn objects(tree: Spanned<Tree>, lines_before: u64) -> Vec<Document> {
    let mut positions = BTreeMap::from([(FieldPath::default(), position_of(tree.referenced, lines_before))]);
    let object = tree.value.into_value(&FieldPath::default(), &mut positions, lines_before);
    Document { object, positions }.unpacked()
}

pub(crate) fn position_of(location: Location, lines_before: u64) -> Position {
    Position { line: lines_before + location.line(), column: location.column() }
}

/// A value whose parts have positions.
#[derive(Debug)]
pub(crate) enum Tree {
    Plain(Value),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl Tree {
    /// The value; the positions of its parts are recorded. The position of a map entry is that of its key.
    fn into_value(self, path: &FieldPath, positions: &mut BTreeMap<FieldPath, Position>, lines_before: u64) -> Value {
        match self {
            Self::Plain(value) => value,
            Self::List(items) => {
                let items = items.into_iter().enumerate().map(|(index, item)| {
                    let path = FieldPath(path.0.iter().cloned().chain([Step::Index(index)]).collect());
                    positions.insert(path.clone(), position_of(item.referenced, lines_before));
                    item.value.into_value(&path, positions, lines_before)
                });
                Value::Array(items.collect())
            }
            Self::Map(entries) => {
                let entries = entries.into_iter().map(|(key, item)| {
                    let path = FieldPath(path.0.iter().cloned().chain([Step::Key(key.value.clone())]).collect());
                    positions.insert(path.clone(), position_of(key.referenced, lines_before));
                    (key.value, item.value.into_value(&path, positions, lines_before))
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

    /// The API server decodes `2.0` as an integer.
    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        if value.fract() == 0.0 && value.abs() < EXACT_MAX {
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
