//! The documents of a text, parsed one by one: an error in one does not hide the others.

use std::io::Cursor;

use kedge_webhooks::violation::{Rule, Severity};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, MessageFormatter, Spanned, UserMessageFormatter};

use super::document::{Document, Position, Tree, objects, position_of};

pub(crate) static SYNTAX: Rule = Rule {
    id: "yaml-syntax",
    severity: Severity::Error,
    about: "a document is not valid YAML, so that nothing else in it is checked",
    counted_as: None,
};

pub(crate) static DUPLICATE_KEY: Rule = Rule {
    id: "duplicate-key",
    severity: Severity::Error,
    about: "a map has the same key twice: one of the values is lost, and kubectl rejects the document",
    counted_as: None,
};

pub(crate) static TOO_LARGE: Rule = Rule {
    id: "too-large",
    severity: Severity::Error,
    about: "a document is nested too deeply, has too many values, or its aliases expand too much",
    counted_as: None,
};

/// The deepest nesting of maps and lists. CRDs that embed a pod template, the deepest manifests in use, have less than forty levels.
const DEPTH_MAX: usize = 64;
/// The most values of a document, and the most that its aliases may add. An object that fits into etcd has fewer.
const VALUES_MAX: usize = 250_000;
const ALIASED_MAX: usize = 20_000;

/// Why a document cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnreadableDocument {
    pub(crate) rule: &'static Rule,
    pub(crate) position: Position,
    pub(crate) problem: String,
    pub(crate) remedy: &'static str,
}

/// The documents of a file.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) documents: Vec<Document>,
    pub(crate) unreadable: Vec<UnreadableDocument>,
}

/// All objects of a text, and the documents that cannot be parsed.
pub(crate) fn parse(bytes: &[u8]) -> Contents {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_text(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => Contents { documents: Vec::new(), unreadable: vec![not_utf8(&bytes[..error.valid_up_to()])] },
    }
}

fn parse_text(text: &str) -> Contents {
    let mut contents = Contents::default();
    for piece in pieces(text) {
        let (mut documents, error) = parse_piece(&piece, DuplicateKeyPolicy::Error);
        // A duplicate key does not hide the rest of the document. The last value counts.
        if error.as_ref().is_some_and(|unreadable| unreadable.rule == &DUPLICATE_KEY) {
            (documents, _) = parse_piece(&piece, DuplicateKeyPolicy::LastWins);
        }
        contents.documents.extend(documents);
        contents.unreadable.extend(error);
    }
    contents
}

fn parse_piece(piece: &Piece<'_>, duplicates: DuplicateKeyPolicy) -> (Vec<Document>, Option<UnreadableDocument>) {
    let mut documents = Vec::new();
    let mut bytes = Cursor::new(piece.text.as_bytes());
    for read in serde_saphyr::read_with_options::<_, Spanned<Tree>>(&mut bytes, options(duplicates)) {
        match read {
            Ok(tree) => documents.extend(objects(tree, piece.text, piece.lines_before)),
            Err(error) => return (documents, Some(explain(error.without_snippet(), piece))),
        }
    }
    (documents, None)
}

fn options(duplicates: DuplicateKeyPolicy) -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_MAX, max_nodes: VALUES_MAX, max_reader_input_bytes: None },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: ALIASED_MAX },
        duplicate_keys: duplicates,
    }
}

/// One document of a text.
#[derive(Debug, PartialEq, Eq)]
struct Piece<'t> {
    lines_before: u64,
    text: &'t str,
}

/// A text, cut before each `---` at the beginning of a line. Directives stay with the document that follows.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut lines_before, mut position) = (0, 0, 0);
    for (number, line) in (0..).zip(text.split_inclusive('\n')) {
        if begins_document(line) && !is_prologue(&text[start..position]) {
            pieces.push(Piece { lines_before, text: &text[start..position] });
            (start, lines_before) = (position, number);
        }
        position += line.len();
    }
    pieces.push(Piece { lines_before, text: &text[start..] });
    pieces
}

fn begins_document(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Whether a text consists of directives only.
fn is_prologue(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).peekable();
    lines.peek().is_some() && lines.all(|line| line.starts_with('%'))
}

fn explain(error: &Error, piece: &Piece<'_>) -> UnreadableDocument {
    let start = Position { line: piece.lines_before + 1, column: 1 };
    let position = error.location().map_or(start, |location| position_of(location, piece.lines_before));
    let error = innermost(error);
    let said = UserMessageFormatter.format_message(error).into_owned();
    let (rule, problem, remedy) = match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("this key");
            (&DUPLICATE_KEY, format!("{key} is a duplicate key of this map"), "keep one of the two")
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            let problem = format!("maps and lists are nested more than {DEPTH_MAX} levels deep");
            (&TOO_LARGE, problem, "write it flatter")
        }
        Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayStackDepthExceeded { .. } => {
            let problem = format!("aliases add more than {ALIASED_MAX} values to the document");
            (&TOO_LARGE, problem, "write out what they refer to, or remove them")
        }
        Error::Budget { .. } => (&TOO_LARGE, said, "split it into several documents"),
        _ if piece.text.contains("{{") => {
            (&SYNTAX, said, "this looks like a template: render it first, as in `helm template . | kedge lint -`")
        }
        _ => (&SYNTAX, said, "correct it: until then nothing else in this document is checked"),
    };
    UnreadableDocument { rule, position, problem, remedy }
}

/// The cause, without the errors that wrap it: their lines count from the start of the piece.
fn innermost(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } = error {
        error = inner;
    }
    error
}

/// The error of bytes that are UTF-8 only up to here.
fn not_utf8(text: &[u8]) -> UnreadableDocument {
    let lines = text.iter().filter(|byte| **byte == b'\n').count() as u64;
    UnreadableDocument {
        rule: &SYNTAX,
        position: Position { line: lines + 1, column: 1 },
        problem: "this line is not UTF-8".to_owned(),
        remedy: "save the file as UTF-8",
    }
}

#[cfg(test)]
mod tests {
    use kedge_webhooks::violation::FieldPath;

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

    fn at(line: u64, column: u64) -> Position {
        Position { line, column }
    }

    #[test]
    fn every_field_has_a_position() {
        let Contents { documents, unreadable } = parse(TEXT.as_bytes());
        assert_eq!((documents.len(), unreadable), (3, vec![]));
        let trigger = FieldPath::new("spec.triggers").index(0);
        assert_eq!(documents[0].position(&trigger.clone().key("metadata").key("start")), at(7, 7));
        assert_eq!(documents[0].position(&trigger.clone().key("metadata").key("end")), at(6, 5), "a missing field");
        assert_eq!(documents[0].position(&trigger), at(5, 5));
        assert_eq!(documents[0].position(&FieldPath::new("metadata.name")), at(2, 1));
        assert_eq!(documents[1].object["metadata"]["name"], "a");
        assert_eq!(documents[1].position(&FieldPath::new("metadata.name")), at(14, 14));
        assert_eq!(documents[2].position(&FieldPath::new("spec")), at(15, 3));
    }

    #[test]
    fn an_error_in_one_document_does_not_hide_the_next() {
        let Contents { documents, unreadable } =
            parse(b"kind: A\n---\nkind: [B\n---\na: 1\na: 2\n--- # last\nkind: C\n");
        let kinds: Vec<_> = documents.iter().map(|document| document.object["kind"].clone()).collect();
        assert_eq!(kinds, ["A".into(), serde_json::Value::Null, "C".into()], "the last of two equal keys counts");
        assert_eq!(documents[1].object["a"], 2);
        assert_eq!(documents[2].position(&FieldPath::new("kind")), at(8, 1));
        let found: Vec<_> = unreadable.iter().map(|found| (found.rule.id, found.position.line)).collect();
        assert_eq!(found[1..], [("duplicate-key", 6)]);
        assert!(found[0].0 == "yaml-syntax" && (3..=4).contains(&found[0].1), "{found:?}");
    }

    #[test]
    fn directives_and_markers_belong_to_the_next_document() {
        let Contents { documents, unreadable } =
            parse("\u{feff}%YAML 1.2\n---\nkind: A\n...\n---\n--- {kind: B}\n".as_bytes());
        assert_eq!((documents.len(), unreadable), (2, vec![]));
        assert_eq!(documents[1].position(&FieldPath::new("kind")), at(6, 6));
    }

    #[test]
    fn invalid_utf8_is_reported_with_its_line() {
        let Contents { documents, unreadable } = parse(b"kind: A\nname: \xff\n");
        assert_eq!((documents.len(), unreadable[0].rule.id, unreadable[0].position), (0, "yaml-syntax", at(2, 1)));
    }
}
