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
    fields: BTreeMap<FieldPath, Field>,
}

/// Where a field is, and how its value is written if it is a number or a boolean.
#[derive(Clone, Debug)]
struct Field {
    position: Position,
    written: Option<String>,
}

impl Document {
    /// The position of a field; of a missing field, that of its closest parent.
    pub(crate) fn position(&self, path: &FieldPath) -> Position {
        let known = |length: usize| self.fields.get(&FieldPath(path.0[..length].to_vec()));
        let field = (0..=path.0.len()).rev().find_map(known);
        field.map_or(Position { line: 1, column: 1 }, |field| field.position)
    }

    /// A number or boolean as it is written: the value of `1.50` is 1.5.
    pub(crate) fn written(&self, path: &FieldPath) -> Option<&str> {
        self.fields.get(path)?.written.as_deref()
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
        let inside = self.fields.iter().filter_map(|(path, field)| {
            let rest = path.0.strip_prefix(prefix.as_slice())?;
            Some((FieldPath(rest.to_vec()), field.clone()))
        });
        Self { object: self.object["items"][index].clone(), fields: inside.collect() }
    }
}

/// The objects of one document: its text, and the number of lines before it in its file.
pub(crate) fn objects(tree: Spanned<Tree>, text: &str, lines_before: u64) -> Vec<Document> {
    let mut fields = Fields { lines: text.lines().collect(), lines_before, found: BTreeMap::new() };
    let root = Field { position: position_of(tree.referenced, lines_before), written: None };
    fields.found.insert(FieldPath::default(), root);
    let object = tree.value.into_value(&FieldPath::default(), &mut fields);
    Document { object, fields: fields.found }.unpacked()
}

/// The fields of a document that were found so far.
struct Fields<'t> {
    lines: Vec<&'t str>,
    lines_before: u64,
    found: BTreeMap<FieldPath, Field>,
}

impl Fields<'_> {
    /// Records a field: where its name is, or its value where it has none.
    fn record(&mut self, path: &FieldPath, at: Location, item: &Spanned<Tree>) {
        let position = position_of(at, self.lines_before);
        let written = match &item.value {
            Tree::Plain(Value::Number(_) | Value::Bool(_)) => self.written_at(item.defined),
            _ => None,
        };
        self.found.insert(path.clone(), Field { position, written });
    }

    /// The number or boolean that is written at this place.
    fn written_at(&self, location: Location) -> Option<String> {
        let line = self.lines.get(usize::try_from(location.line().checked_sub(1)?).ok()?)?;
        let column = usize::try_from(location.column().checked_sub(1)?).ok()?;
        let (start, _) = line.char_indices().nth(column)?;
        let written = line[start..].split([',', ']', '}', ' ', '\t']).next().unwrap_or_default();
        let is_plain = !written.is_empty() && !written.starts_with(['!', '&', '*', '"', '\'']);
        is_plain.then(|| written.to_owned())
    }
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
    fn into_value(self, path: &FieldPath, fields: &mut Fields<'_>) -> Value {
        match self {
            Self::Plain(value) => value,
            Self::List(items) => {
                let items = items.into_iter().enumerate().map(|(index, item)| {
                    let path = FieldPath(path.0.iter().cloned().chain([Step::Index(index)]).collect());
                    fields.record(&path, item.referenced, &item);
                    item.value.into_value(&path, fields)
                });
                Value::Array(items.collect())
            }
            Self::Map(entries) => {
                let entries = entries.into_iter().map(|(key, item)| {
                    let path = FieldPath(path.0.iter().cloned().chain([Step::Key(key.value.clone())]).collect());
                    fields.record(&path, key.referenced, &item);
                    (key.value, item.value.into_value(&path, fields))
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
