//! The intended differences, as users read them: `docs/differences-from-keda.md`.
//!
//! Every section of that page is one difference: a heading `## ID: TITLE`, a description, and a table of the cases in which it
//! occurs. The page is parsed strictly, so that every row has an effect.
//!
//! A value is code, in which `…` matches any text; or one of the words `absent` and `present`, the latter for a list or an
//! object that is too long to be written out.

use std::collections::BTreeSet;
use std::path::Path;

use kedge_tests::compare::Difference;
use kedge_tests::files;
use kedge_tests::page::{cells, code};
use serde_json::Value;

use crate::compare::written;

const HEAD: &str = "| case | step | where | KEDA | Kedge |";
const RULE: &str = "|---|---|---|---|---|";

/// All intended differences.
#[derive(Debug, Default)]
pub(crate) struct KnownDifferences(Vec<Row>);

/// One row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// The section that lists it.
    pub(crate) id: String,
    pub(crate) case: String,
    pub(crate) step: String,
    /// Where the difference is.
    pub(crate) path: String,
    pub(crate) keda: Cell,
    pub(crate) kedge: Cell,
}

/// The value in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Absent,
    /// A list or an object, whatever is in it.
    Present,
    /// The text that [`written`] returns, in pieces: any text may be between two.
    Text(Vec<String>),
}

impl Row {
    /// Whether this row lists the difference.
    pub(crate) fn is(&self, found: &Difference) -> bool {
        self.path == found.path && self.keda.is(found.expected.as_ref()) && self.kedge.is(found.found.as_ref())
    }
}

impl Cell {
    fn is(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Absent, None) => true,
            (Self::Present, Some(value)) => value.is_array() || value.is_object(),
            (Self::Text(pieces), Some(value)) => consists_of(&written(value), pieces),
            _ => false,
        }
    }

    fn parse(cell: &str) -> Option<Self> {
        match cell {
            "absent" => Some(Self::Absent),
            "present" => Some(Self::Present),
            _ => code(cell).map(|text| Self::Text(text.split('…').map(str::to_owned).collect())),
        }
    }
}

/// Whether a text consists of these pieces, with any text between two of them.
fn consists_of(text: &str, pieces: &[String]) -> bool {
    match pieces {
        [] => false,
        [only] => text == only,
        [first, middle @ .., last] => {
            let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
            let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
            middle.iter().all(|piece| {
                let found = rest.find(piece.as_str()).map(|at| &rest[at + piece.len()..]);
                found.map(|after| rest = after).is_some()
            })
        }
    }
}

impl KnownDifferences {
    /// Reads the page, which must be well formed.
    pub(crate) fn load(page: &Path) -> Self {
        Self::parse(&files::read(page)).unwrap_or_else(|problem| panic!("{}: {problem}", page.display()))
    }

    /// The rows for a step of a case.
    pub(crate) fn for_step(&self, case: &str, step: &str) -> Vec<&Row> {
        self.0.iter().filter(|row| row.case == case && row.step == step).collect()
    }

    fn parse(page: &str) -> Result<Self, String> {
        let mut rows: Vec<Row> = Vec::new();
        let mut ids = BTreeSet::new();
        for section in page.split("\n## ").skip(1) {
            let section = Section::parse(section)?;
            if !ids.insert(section.id.clone()) {
                return Err(format!("two sections are called {}", section.id));
            }
            for row in section.rows {
                let same = |other: &&Row| Row { id: row.id.clone(), ..(*other).clone() } == row;
                if let Some(other) = rows.iter().find(same) {
                    return Err(format!("{} repeats a row of {}: {} {}", row.id, other.id, row.case, row.path));
                }
                rows.push(row);
            }
        }
        let before = page.split("\n## ").next().unwrap_or_default();
        if before.lines().any(|line| line.starts_with('|')) {
            return Err("a table precedes the first section".into());
        }
        Ok(Self(rows))
    }
}

struct Section {
    id: String,
    rows: Vec<Row>,
}

impl Section {
    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let heading = lines.next().unwrap_or_default();
        let (id, title) = heading.split_once(": ").ok_or(format!("no `ID: TITLE` in the heading `{heading}`"))?;
        let fine = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        if !fine(id) || title.is_empty() {
            return Err(format!("no `ID: TITLE` in the heading `{heading}`"));
        }
        let (table, words): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with('|'));
        if words.concat().trim().is_empty() {
            return Err(format!("{id} has no description"));
        }
        let [HEAD, RULE, rows @ ..] = &table[..] else {
            return Err(format!("{id} has no table that begins with `{HEAD}` and `{RULE}`"));
        };
        if rows.is_empty() {
            return Err(format!("the table of {id} is empty"));
        }
        let rows = rows.iter().map(|line| row(id, line)).collect::<Result<_, _>>()?;
        Ok(Self { id: id.to_owned(), rows })
    }
}

fn row(id: &str, line: &str) -> Result<Row, String> {
    let problem = |what: &str| format!("{id}: {what} in `{line}`");
    let [before, case, step, path, keda, kedge, after] = &cells(line)[..] else {
        return Err(problem("not five cells"));
    };
    if !before.is_empty() || !after.is_empty() || step.is_empty() {
        return Err(problem("not five cells"));
    }
    let value = |cell: &str| Cell::parse(cell).ok_or(problem("a value is neither `absent`, `present` nor code"));
    let (keda, kedge) = (value(keda)?, value(kedge)?);
    if keda == kedge {
        return Err(problem("no difference"));
    }
    let case = code(case).ok_or(problem("the case is not code"))?;
    let path = code(path).ok_or(problem("the place is not code"))?;
    Ok(Row { id: id.to_owned(), case, step: step.clone(), path, keda, kedge })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(section: &str) -> String {
        format!("# Title\n\nWords.\n\n## {section}\n")
    }

    fn table(rows: &str) -> String {
        page(&format!("an-id: A title\n\nWhy.\n\n{HEAD}\n{RULE}\n{rows}"))
    }

    #[test]
    fn a_row_names_a_place_and_both_values() {
        let rows = "| `cron-active` | in the window | `a.b[Ready].c` | `True` | absent |\n| `x` | y | `z` | `\"3\"` | `` a `b` \\| c `` |";
        let listed = KnownDifferences::parse(&table(rows)).unwrap();
        let row = |case: &str, step: &str, path: &str, keda: &str, kedge| Row {
            id: "an-id".into(),
            case: case.into(),
            step: step.into(),
            path: path.into(),
            keda: Cell::Text(vec![keda.into()]),
            kedge,
        };
        let expected = [
            row("cron-active", "in the window", "a.b[Ready].c", "True", Cell::Absent),
            row("x", "y", "z", "\"3\"", Cell::Text(vec!["a `b` | c".into()])),
        ];
        assert_eq!(listed.0, expected);
        assert_eq!(listed.for_step("x", "y").len(), 1);
        assert!(listed.for_step("x", "other").is_empty());
    }

    #[test]
    fn a_cell_matches_values() {
        let rows = [
            ("absent", None, true),
            ("absent", Some(json!("absent")), false),
            ("present", Some(json!({ "a": 1 })), true),
            ("present", Some(json!("text")), false),
            ("present", None, false),
            ("`3`", Some(json!(3)), true),
            ("`3`", Some(json!("3")), false),
            ("`\"3\"`", Some(json!("3")), true),
            ("`True`", Some(json!("True")), true),
            ("`a … c`", Some(json!("a b c")), true),
            ("`a … c`", Some(json!("a b c d")), false),
            ("`a…b…c`", Some(json!("a1b2c")), true),
            ("`a…b…c`", Some(json!("a1c")), false),
            ("`a…a`", Some(json!("a")), false),
        ];
        for (cell, value, expected) in rows {
            assert_eq!(Cell::parse(cell).unwrap().is(value.as_ref()), expected, "{cell} {value:?}");
        }
    }

    #[test]
    fn a_page_that_is_not_well_formed_is_refused() {
        let row = "| `x` | y | `z` | `1` | `2` |";
        let rows = [
            ("a heading without an id", page("Only words\n\nWhy.")),
            ("an id that is none", page("An Id: Title\n\nWhy.")),
            ("no table", page("an-id: Title\n\nWhy.")),
            ("no words", page(&format!("an-id: Title\n\n{HEAD}\n{RULE}\n{row}"))),
            ("an empty table", table("")),
            ("another head", table(row).replace("| where |", "| place |")),
            ("a cell too few", table("| `x` | y | `z` | `1` |")),
            ("a value that is no code", table("| `x` | y | `z` | 1 | `2` |")),
            ("no difference", table("| `x` | y | `z` | `1` | `1` |")),
            ("a row twice", table(&format!("{row}\n{row}"))),
            ("a section twice", table(row) + &table(&row.replace('y', "w"))),
            ("a table before the sections", format!("{row}\n{}", table(row))),
        ];
        assert!(KnownDifferences::parse(&table(row)).is_ok());
        for (name, page) in rows {
            assert!(KnownDifferences::parse(&page).is_err(), "{name}");
        }
    }
}
