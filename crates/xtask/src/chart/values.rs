//! The chart's values with the comments above them: their descriptions, and their schema rules beyond the type.

use anyhow::{Context, bail};
use serde_json::Value;

/// One value, or a section of them.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) path: Vec<String>,
    pub(super) kind: ValueKind,
    pub(super) description: String,
    /// The rules in a line `# @schema`.
    pub(super) rules: Value,
    pub(super) default: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Holds other values.
    Section,
    /// Is set as a whole.
    Value,
}

/// The comments since the last value.
#[derive(Default)]
struct Above {
    comment: Vec<String>,
    rules: Value,
}

/// Parses the file: keys and comments line by line, because a YAML parser drops comments; defaults with a YAML parser.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Entry>> {
    let all: Value = serde_saphyr::from_str(text).context("values.yaml cannot be read")?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut above = Above::default();
    let mut open: Vec<(usize, String)> = Vec::new();
    // The indent of a value that is set as a whole: deeper lines belong to it.
    let mut inside_of: Option<usize> = None;
    for (number, line) in text.lines().enumerate() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if content.is_empty() {
            above = Above::default();
            continue;
        }
        if inside_of.is_some_and(|outer| indent > outer) {
            continue;
        }
        inside_of = None;
        if let Some(comment) = content.strip_prefix('#') {
            above.take(comment.trim()).with_context(|| format!("line {} of values.yaml", number + 1))?;
            continue;
        }
        let Some((key, _)) = content.split_once(':') else { bail!("line {} of values.yaml has no key", number + 1) };
        open.retain(|(outer, _)| *outer < indent);
        open.push((indent, key.to_owned()));
        let path: Vec<String> = open.iter().map(|(_, key)| key.clone()).collect();
        let entry = std::mem::take(&mut above).entry(path, &all)?;
        if entry.kind == ValueKind::Value {
            inside_of = Some(indent);
        }
        entries.push(entry);
    }
    Ok(entries)
}

impl Above {
    fn take(&mut self, comment: &str) -> anyhow::Result<()> {
        match comment.strip_prefix("@schema ") {
            Some(rules) => self.rules = serde_json::from_str(rules).context("after @schema there must be JSON")?,
            None => self.comment.push(comment.to_owned()),
        }
        Ok(())
    }

    fn entry(self, path: Vec<String>, all: &Value) -> anyhow::Result<Entry> {
        let default = path.iter().fold(all, |value, key| &value[key]).clone();
        let holds_others = default.as_object().is_some_and(|map| !map.is_empty()) && self.rules["type"] != "object";
        let kind = if holds_others { ValueKind::Section } else { ValueKind::Value };
        let description = self.comment.join(" ");
        if kind == ValueKind::Value && description.is_empty() {
            bail!("the value {} has no description; write one above it", path.join("."));
        }
        Ok(Entry { path, kind, description, rules: self.rules, default })
    }
}
