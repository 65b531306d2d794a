//! The differences that are known, as users read them: `docs/plane-differences.md`.
//!
//! Each row names the scripts, the steps and the path in the response at which the plane differs, and why. In the first three
//! cells, which are code, `*` matches any text.

use std::path::Path;

use kedge_tests::files;
use kedge_tests::page::{cells, code};
use kedge_tests::pattern::fits;

const HEAD: &str = "| script | step | where | why |";
const RULE: &str = "|---|---|---|---|";

/// All differences that are known.
#[derive(Debug, Default)]
pub(crate) struct KnownDifferences(pub(crate) Vec<Row>);

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) script: String,
    pub(crate) step: String,
    pub(crate) path: String,
}

impl Row {
    /// Whether this row lists a difference at this path.
    pub(crate) fn is(&self, script: &str, step: &str, path: &str) -> bool {
        fits(script, &self.script) && fits(step, &self.step) && fits(path, &self.path)
    }
}

impl KnownDifferences {
    /// Reads the page, which must be well formed.
    pub(crate) fn load(page: &Path) -> Self {
        Self::parse(&files::read(page)).unwrap_or_else(|problem| panic!("{}: {problem}", page.display()))
    }

    fn parse(page: &str) -> Result<Self, String> {
        let table: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
        match &table[..] {
            [] => Ok(Self::default()),
            [HEAD, RULE, rows @ ..] => rows.iter().map(|line| row(line)).collect::<Result<_, _>>().map(Self),
            _ => Err(format!("the one table must begin with `{HEAD}` and `{RULE}`")),
        }
    }
}

fn row(line: &str) -> Result<Row, String> {
    let problem = |what: &str| format!("{what} in `{line}`");
    let [before, script, step, path, why, after] = &cells(line)[..] else { return Err(problem("not four cells")) };
    if !before.is_empty() || !after.is_empty() || why.is_empty() {
        return Err(problem("not four cells"));
    }
    let text = |cell: &str| code(cell).ok_or(problem("a cell that should be code is not"));
    Ok(Row { script: text(script)?, step: text(step)?, path: text(path)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_a_place_and_a_reason() {
        let page = format!("# Title\n\nWords.\n\n{HEAD}\n{RULE}\n| `crd/*` | `2` | `body.status.*` | because |\n");
        let listed = KnownDifferences::parse(&page).unwrap();
        assert!(listed.0[0].is("crd/a", "2", "body.status.x"));
        assert!(!listed.0[0].is("crd/a", "2", "body.spec"));
        assert!(KnownDifferences::parse("no table").unwrap().0.is_empty());
        for flawed in [page.replace("because", ""), page.replace("`2`", "2"), page.replace("| step |", "| x |")] {
            assert!(KnownDifferences::parse(&flawed).is_err(), "{flawed}");
        }
    }
}
