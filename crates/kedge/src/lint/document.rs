//! Objects out of YAML, and where in the text each of their fields stands.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Cursor;

use kedge_webhooks::finding::{FieldPath, Step};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

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

/// Why a text cannot be read further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) place: Place,
    pub(super) problem: String,
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

/// All objects of a text, and what ends it before its end.
pub(super) fn read(text: &str) -> (Vec<Document>, Option<Unreadable>) {
    let mut documents = Vec::new();
    let mut bytes = Cursor::new(text.as_bytes());
    for read in serde_saphyr::read::<_, Spanned<Tree>>(&mut bytes) {
        match read {
            Ok(tree) => documents.extend(document(tree).unpacked()),
            Err(error) => {
                let place = error.location().map_or(Place { line: 1, column: 1 }, place_of);
                return (documents, Some(Unreadable { place, problem: error.without_snippet().to_string() }));
            }
        }
    }
    (documents, None)
}

fn document(tree: Spanned<Tree>) -> Document {
    let mut places = BTreeMap::from([(FieldPath::default(), place_of(tree.referenced))]);
    let object = tree.value.settle(&FieldPath::default(), &mut places);
    Document { object, places }
}

fn place_of(location: Location) -> Place {
    Place { line: location.line(), column: location.column() }
}

/// A value whose parts know where they stand.
#[derive(Debug)]
enum Tree {
    Plain(Value),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl Tree {
    /// The value itself; where its parts stand is noted. An entry of a map stands where its key does.
    fn settle(self, path: &FieldPath, places: &mut BTreeMap<FieldPath, Place>) -> Value {
        match self {
            Self::Plain(value) => value,
            Self::List(items) => {
                let items = items.into_iter().enumerate().map(|(index, item)| {
                    let path = FieldPath(path.0.iter().cloned().chain([Step::Index(index)]).collect());
                    places.insert(path.clone(), place_of(item.referenced));
                    item.value.settle(&path, places)
                });
                Value::Array(items.collect())
            }
            Self::Map(entries) => {
                let entries = entries.into_iter().map(|(key, item)| {
                    let path = FieldPath(path.0.iter().cloned().chain([Step::Key(key.value.clone())]).collect());
                    places.insert(path.clone(), place_of(key.referenced));
                    (key.value, item.value.settle(&path, places))
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

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Source: shop/templates/web.yaml
kind: ScaledObject
spec:
  triggers:
  - type: cron
    metadata:
      start: 0 8 * * *
---
# nothing here
---
kind: List
items:
- kind: Secret
  metadata: {name: a}
- {kind: ConfigMap}
";

    fn at(line: u64, column: u64) -> Place {
        Place { line, column }
    }

    #[test]
    fn every_field_knows_where_it_stands() {
        let (documents, unreadable) = read(TEXT);
        assert_eq!((documents.len(), unreadable), (3, None));
        let trigger = FieldPath::of("spec.triggers").index(0);
        assert_eq!(documents[0].place(&trigger.clone().key("metadata").key("start")), at(7, 7));
        assert_eq!(documents[0].place(&trigger.clone().key("metadata").key("end")), at(6, 5), "what is missing");
        assert_eq!(documents[0].place(&trigger), at(5, 5));
        assert_eq!(documents[0].place(&FieldPath::of("metadata.name")), at(2, 1));
        assert_eq!(documents[1].object["metadata"]["name"], "a");
        assert_eq!(documents[1].place(&FieldPath::of("metadata.name")), at(14, 14));
        assert_eq!(documents[2].place(&FieldPath::of("spec")), at(15, 3));
    }

    #[test]
    fn what_comes_before_a_mistake_of_syntax_is_read() {
        let (documents, unreadable) = read("kind: A\n---\nkind: [B\n");
        assert_eq!(documents.len(), 1);
        assert!(unreadable.is_some_and(|unreadable| unreadable.place.line >= 3));
        let (documents, unreadable) = read("a: 1\na: 2\n");
        assert_eq!(documents.len(), 0);
        assert_eq!(unreadable.map(|unreadable| unreadable.place), Some(at(2, 1)), "a key that stands there twice");
    }
}
