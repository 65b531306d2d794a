//! JSON that stays text: a value is the piece of the document that it was read from. Nothing is copied, and depth costs
//! no stack.

use std::fmt;
use std::ops::ControlFlow;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A value of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a>(&'a RawValue);

/// What a path leads to.
#[derive(Clone, Debug)]
pub(super) enum Node<'a> {
    One(Document<'a>),
    Many(Vec<Node<'a>>),
    /// How many there were.
    Count(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonType {
    Object,
    Array,
    Text,
    Number,
    True,
    False,
    Null,
}

impl JsonType {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "a list",
            Self::Text => "a text",
            Self::Number => "a number",
            Self::True | Self::False => "true or false",
            Self::Null => "null",
        }
    }
}

impl<'a> Document<'a> {
    /// The whole of a text, all of which must be JSON.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    pub(super) fn json_type(self) -> JsonType {
        match self.0.get().as_bytes().first() {
            Some(b'{') => JsonType::Object,
            Some(b'[') => JsonType::Array,
            Some(b'"') => JsonType::Text,
            Some(b't') => JsonType::True,
            Some(b'f') => JsonType::False,
            Some(b'n') => JsonType::Null,
            _ => JsonType::Number,
        }
    }

    pub(super) fn number(self) -> Option<f64> {
        self.0.get().parse::<f64>().ok().filter(|number| number.is_finite())
    }

    pub(super) fn text(self) -> Option<String> {
        serde_json::from_str(self.0.get()).ok()
    }

    /// The value of the first name that fits.
    pub(super) fn get(self, fits: impl Fn(&str) -> bool) -> Option<Document<'a>> {
        let mut found = None;
        let visitor = Entries { fits, found: &mut found };
        // It ends early, which the reader takes for a fault; true ones were found when the whole was read.
        let _ = serde_json::Deserializer::from_str(self.0.get()).deserialize_map(visitor);
        found
    }

    /// Visits each element until the visitor stops.
    pub(super) fn each(self, show: impl FnMut(Document<'a>) -> ControlFlow<()>) {
        let _ = serde_json::Deserializer::from_str(self.0.get()).deserialize_seq(Elements { show });
    }
}

struct Elements<F> {
    show: F,
}

impl<'a, F: FnMut(Document<'a>) -> ControlFlow<()>> Visitor<'a> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&'a RawValue>()? {
            if (self.show)(Document(element)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

struct Entries<'f, 'a, F> {
    fits: F,
    found: &'f mut Option<Document<'a>>,
}

impl<'a, F: Fn(&str) -> bool> Visitor<'a> for Entries<'_, 'a, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(fits) = entries.next_key_seed(Name(&self.fits))? {
            if fits {
                *self.found = Some(Document(entries.next_value::<&'a RawValue>()?));
                return Ok(());
            }
            entries.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// A name, of which only is kept whether it fits.
struct Name<F>(F);

impl<'a, F: Fn(&str) -> bool> DeserializeSeed<'a> for Name<F> {
    type Value = bool;

    fn deserialize<D: Deserializer<'a>>(self, name: D) -> Result<bool, D::Error> {
        name.deserialize_str(self)
    }
}

impl<F: Fn(&str) -> bool> Visitor<'_> for Name<F> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok((self.0)(name))
    }
}
