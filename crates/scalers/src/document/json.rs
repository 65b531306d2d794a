//! Numbers in JSON, by a path as GJSON has them: `queue.depth`, `jobs.#(state=="waiting")#|#`. `path` reads the path
//! and its conditions, `document` walks through the text without making a tree of it.
//!
//! Of GJSON's paths, those that lead to a value are here: names, indexes, wildcards, `#`, queries, pipes, `@this`. What
//! makes new documents (other modifiers, `[a,b]`, `{a,b}`, `!5`) and JSON lines (`..`) is rejected by name.

mod document;
mod path;

use super::value::{Found, Unusable};
use crate::metadata::convert::Converted;
use document::{Document, JsonType, Node};
use path::Path;

/// A checked path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Path);

impl JsonPath {
    pub(crate) fn parse(text: &str) -> Converted<Self> {
        path::parse(text).map(Self)
    }

    /// What the path leads to in a document.
    pub(crate) fn find(&self, body: &str) -> Result<Found, Unusable> {
        let document = Document::parse(body).ok_or_else(|| Unusable::malformed("it is not JSON"))?;
        match self.0.follow(Node::One(document)) {
            None => Err(Unusable::leads_to("nothing")),
            Some(Node::Count(count)) => Ok(Found::Number(count as f64)),
            Some(Node::Many(_)) => Err(Unusable::leads_to("a list")),
            Some(Node::One(value)) => match value.json_type() {
                JsonType::Number => {
                    value.number().map(Found::Number).ok_or_else(|| Unusable::leads_to("a number out of range"))
                }
                JsonType::Text => Ok(Found::Text(value.text().unwrap_or_default())),
                other => Err(Unusable::leads_to(other.name())),
            },
        }
    }
}

#[cfg(test)]
mod tests;
