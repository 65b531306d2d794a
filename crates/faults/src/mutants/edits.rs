//! Edits of a source text: what to find, and what to put in its place.

use std::ops::Range;

use anyhow::bail;
use serde::Deserialize;

/// One edit of one file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The path, from the root of the workspace.
    pub file: String,
    /// A text that occurs exactly once. Its whitespace matches any whitespace, or none: formatting does not matter.
    pub find: String,
    /// The text in its place. `$active` becomes the condition of the mutant.
    pub replace: String,
}

/// The text after these edits, none of which may overlap.
pub(super) fn apply(text: &str, edits: &[Edit]) -> anyhow::Result<String> {
    let mut located = Vec::new();
    for edit in edits {
        located.push((locate(text, &edit.find)?, edit.replace.trim_end()));
    }
    located.sort_by_key(|(range, _)| range.start);
    let (mut edited, mut end) = (String::new(), 0);
    for (range, replace) in located {
        let Some(unchanged) = text.get(end..range.start) else { bail!("two edits overlap at `{replace}`") };
        edited.extend([unchanged, replace]);
        end = range.end;
    }
    edited.push_str(&text[end..]);
    Ok(edited)
}

/// The only place at which a text occurs.
fn locate(text: &str, find: &str) -> anyhow::Result<Range<usize>> {
    let words: Vec<&str> = find.split_whitespace().collect();
    let Some(first) = words.first() else { bail!("the text to find is empty") };
    let starts = text.match_indices(first).map(|(start, _)| start);
    let found: Vec<Range<usize>> = starts.filter_map(|start| Some(start..end_of_match(text, start, &words)?)).collect();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        all => bail!("{} places, not one, contain:\n{find}", all.len()),
    }
}

fn end_of_match(text: &str, start: usize, words: &[&str]) -> Option<usize> {
    let mut rest = &text[start..];
    for word in words {
        rest = rest.trim_start().strip_prefix(word)?;
    }
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(find: &str, replace: &str) -> Edit {
        Edit { file: String::new(), find: find.to_owned(), replace: replace.to_owned() }
    }

    #[test]
    fn whitespace_of_the_anchor_does_not_matter() {
        let text = "let a = call(\n    one,\n);\nrest";
        let edited = apply(text, &[edit("call( one, );", "other();\n"), edit("rest", "end")]);
        assert_eq!(edited.expect("both are there"), "let a = other();\nend");
    }

    #[test]
    fn a_text_that_is_missing_or_ambiguous_is_an_error() {
        for (name, text) in [("missing", "nothing"), ("ambiguous", "one and one")] {
            assert!(apply(text, &[edit("one", "two")]).is_err(), "{name}");
        }
    }

    #[test]
    fn edits_must_not_overlap() {
        assert!(apply("one two three", &[edit("one two", "1"), edit("two three", "2")]).is_err());
    }
}
