//! The documents of a text, one by one: what is wrong with the text of one does not hide the others.

use std::io::Cursor;

use kedge_webhooks::finding::{Rule, Severity};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, MessageFormatter, Spanned, UserMessageFormatter};

use super::document::{Document, Place, Tree, objects, place_of};

pub(super) static SYNTAX: Rule = Rule {
    id: "yaml-syntax",
    severity: Severity::Error,
    about: "a document is not YAML: nothing else of it can be looked at",
    counted_as: None,
};

pub(super) static KEY_TWICE: Rule = Rule {
    id: "key-twice",
    severity: Severity::Error,
    about: "a key stands twice in one map: one of the two is lost, and kubectl refuses it",
    counted_as: None,
};

pub(super) static TOO_LARGE: Rule = Rule {
    id: "too-large",
    severity: Severity::Error,
    about: "a document is nested too deeply, has too many values, or grows too much by its aliases to be looked at",
    counted_as: None,
};

/// How deep maps and lists may stand in each other. The deepest manifests that are in use, definitions of custom resources
/// with whole pods in them, have less than forty.
const DEPTH_MAX: usize = 64;
/// How many values a document may have, and how many its aliases may add. An object that etcd can keep has fewer.
const VALUES_MAX: usize = 250_000;
const ALIASED_MAX: usize = 20_000;

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) rule: &'static Rule,
    pub(super) place: Place,
    pub(super) problem: String,
    pub(super) remedy: &'static str,
}

/// What is in a file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) documents: Vec<Document>,
    pub(super) unreadable: Vec<Unreadable>,
}

/// All objects of a text, and what cannot be read of it.
pub(super) fn read(bytes: &[u8]) -> Contents {
    match std::str::from_utf8(bytes) {
        Ok(text) => read_text(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => Contents { documents: Vec::new(), unreadable: vec![not_text(&bytes[..error.valid_up_to()])] },
    }
}

fn read_text(text: &str) -> Contents {
    let mut contents = Contents::default();
    for piece in pieces(text) {
        let (mut documents, error) = read_piece(&piece, DuplicateKeyPolicy::Error);
        // One key too many need not hide everything else. Where it is let pass, the last one counts.
        if error.as_ref().is_some_and(|unreadable| unreadable.rule == &KEY_TWICE) {
            (documents, _) = read_piece(&piece, DuplicateKeyPolicy::LastWins);
        }
        contents.documents.extend(documents);
        contents.unreadable.extend(error);
    }
    contents
}

fn read_piece(piece: &Piece<'_>, duplicates: DuplicateKeyPolicy) -> (Vec<Document>, Option<Unreadable>) {
    let mut documents = Vec::new();
    let mut bytes = Cursor::new(piece.text.as_bytes());
    for read in serde_saphyr::read_with_options::<_, Spanned<Tree>>(&mut bytes, options(duplicates)) {
        match read {
            Ok(tree) => documents.extend(objects(tree, piece.lines_before)),
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

/// A text cut before each `---`, which no document can hold at the beginning of a line. Directives stay with what follows.
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

/// Whether there are directives and nothing else.
fn is_prologue(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).peekable();
    lines.peek().is_some() && lines.all(|line| line.starts_with('%'))
}

fn explain(error: &Error, piece: &Piece<'_>) -> Unreadable {
    let start = Place { line: piece.lines_before + 1, column: 1 };
    let place = error.location().map_or(start, |location| place_of(location, piece.lines_before));
    let error = innermost(error);
    let said = UserMessageFormatter.format_message(error).into_owned();
    let (rule, problem, remedy) = match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("this key");
            (&KEY_TWICE, format!("{key} stands twice in this map"), "keep one of the two")
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            let problem = format!("maps and lists stand more than {DEPTH_MAX} deep in each other");
            (&TOO_LARGE, problem, "write it flatter")
        }
        Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayStackDepthExceeded { .. } => {
            let problem = format!("aliases add more than {ALIASED_MAX} values to the document");
            (&TOO_LARGE, problem, "write out what they stand for, or leave them away")
        }
        Error::Budget { .. } => (&TOO_LARGE, said, "make several documents of it"),
        _ if piece.text.contains("{{") => {
            (&SYNTAX, said, "this looks like a template: render it first, as in `helm template . | kedge lint -`")
        }
        _ => (&SYNTAX, said, "correct it: until then nothing else of this document is looked at"),
    };
    Unreadable { rule, place, problem, remedy }
}

/// What went wrong, without the ways that led there: these would name lines of the piece.
fn innermost(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } = error {
        error = inner;
    }
    error
}

/// Of bytes that are text only so far.
fn not_text(text: &[u8]) -> Unreadable {
    let lines = text.iter().filter(|byte| **byte == b'\n').count() as u64;
    Unreadable {
        rule: &SYNTAX,
        place: Place { line: lines + 1, column: 1 },
        problem: "this line is not UTF-8".to_owned(),
        remedy: "save the file as UTF-8",
    }
}

#[cfg(test)]
mod tests {
    use kedge_webhooks::finding::FieldPath;

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
        let Contents { documents, unreadable } = read(TEXT.as_bytes());
        assert_eq!((documents.len(), unreadable), (3, vec![]));
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
    fn what_is_wrong_with_one_document_does_not_hide_the_next() {
        let Contents { documents, unreadable } =
            read(b"kind: A\n---\nkind: [B\n---\na: 1\na: 2\n--- # last\nkind: C\n");
        let kinds: Vec<_> = documents.iter().map(|document| document.object["kind"].clone()).collect();
        assert_eq!(
            kinds,
            ["A".into(), serde_json::Value::Null, "C".into()],
            "of a key that stands twice the last counts"
        );
        assert_eq!(documents[1].object["a"], 2);
        assert_eq!(documents[2].place(&FieldPath::of("kind")), at(8, 1));
        let found: Vec<_> = unreadable.iter().map(|found| (found.rule.id, found.place.line)).collect();
        assert_eq!(found[1..], [("key-twice", 6)]);
        assert!(found[0].0 == "yaml-syntax" && (3..=4).contains(&found[0].1), "{found:?}");
    }

    #[test]
    fn directives_and_marks_belong_to_what_follows() {
        let Contents { documents, unreadable } =
            read("\u{feff}%YAML 1.2\n---\nkind: A\n...\n---\n--- {kind: B}\n".as_bytes());
        assert_eq!((documents.len(), unreadable), (2, vec![]));
        assert_eq!(documents[1].place(&FieldPath::of("kind")), at(6, 6));
    }

    #[test]
    fn bytes_that_are_no_text_are_told_by_line() {
        let Contents { documents, unreadable } = read(b"kind: A\nname: \xff\n");
        assert_eq!((documents.len(), unreadable[0].rule.id, unreadable[0].place), (0, "yaml-syntax", at(2, 1)));
    }
}
