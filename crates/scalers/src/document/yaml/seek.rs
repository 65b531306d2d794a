//! Reading a document for the sake of one value in it.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Reads what a path leads to, and passes over the rest.
pub(super) struct Seek<'p>(pub(super) &'p [String]);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Leaf {
    Number(f64),
    Text(String),
    /// Neither; described in words.
    Other(&'static str),
}

const NOTHING: Leaf = Leaf::Other("nothing");

impl Seek<'_> {
    /// A value that has nothing inside: it is the one if the path ends here.
    fn leaf<E>(&self, found: Leaf) -> Result<Leaf, E> {
        Ok(if self.0.is_empty() { found } else { NOTHING })
    }
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Leaf;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Leaf, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = Leaf;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Leaf, E> {
        self.leaf(Leaf::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Leaf, E> {
        self.leaf(Leaf::Number(number as f64))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Leaf, E> {
        self.leaf(Leaf::Number(number as f64))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Leaf, E> {
        self.leaf(Leaf::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Leaf, E> {
        self.leaf(Leaf::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Leaf, E> {
        self.leaf(Leaf::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Leaf, E> {
        self.leaf(Leaf::Other("true or false"))
    }

    fn visit_unit<E>(self) -> Result<Leaf, E> {
        self.leaf(Leaf::Other("null"))
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Leaf, E> {
        self.leaf(Leaf::Other("binary data"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Leaf, A::Error> {
        let Some((name, rest)) = self.0.split_first() else {
            while elements.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Leaf::Other("a list"));
        };
        let wanted = name.parse::<usize>().ok();
        let mut found = NOTHING;
        for index in 0.. {
            if wanted == Some(index) {
                let Some(value) = elements.next_element_seed(Seek(rest))? else { break };
                found = value;
            } else if elements.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Leaf, A::Error> {
        let wanted = self.0.split_first();
        let mut found = if wanted.is_some() { NOTHING } else { Leaf::Other("a map") };
        while let Some(key) = entries.next_key_seed(Seek(&[]))? {
            match wanted {
                Some((name, rest)) if is_named(&key, name) => found = entries.next_value_seed(Seek(rest))?,
                _ => drop(entries.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// Keys may be numbers too; those that are neither have no name.
fn is_named(key: &Leaf, name: &str) -> bool {
    match key {
        Leaf::Text(text) => text == name,
        Leaf::Number(number) => number.to_string() == name,
        Leaf::Other(_) => false,
    }
}
