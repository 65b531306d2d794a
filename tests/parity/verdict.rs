//! The result of one case, and of all.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use kedge_tests::compare::Difference;

use crate::compare::describe;
use crate::known_differences::Row;

/// The result of one case.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) case: String,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Same,
    /// Different only as listed in these sections of the page.
    AsListed(BTreeSet<String>),
    /// The unexpected differences, for a reader.
    Different(Vec<String>),
}

impl Outcome {
    /// Compares the differences at each step with the listed ones. Every difference must be listed, and every listed one must occur.
    pub(crate) fn from_steps(steps: &[(String, Vec<Difference>, Vec<&Row>)]) -> Self {
        let mut problems = Vec::new();
        let mut sections = BTreeSet::new();
        for (step, found, listed) in steps {
            let is_listed = |difference: &&Difference| listed.iter().any(|row| row.is(difference));
            for difference in found.iter().filter(|difference| !is_listed(difference)) {
                problems.push(format!("{step}: {}", describe(difference)));
            }
            for row in listed {
                if found.iter().any(|difference| row.is(difference)) {
                    sections.insert(row.id.clone());
                } else {
                    problems.push(format!("{step}: {} no longer differs as listed under {}", row.path, row.id));
                }
            }
        }
        match (problems.is_empty(), sections.is_empty()) {
            (false, _) => Self::Different(problems),
            (true, false) => Self::AsListed(sections),
            (true, true) => Self::Same,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match &self.outcome {
            Outcome::Same => "same",
            Outcome::AsListed(_) => "as listed",
            Outcome::Different(_) => "DIFFERENT",
        };
        write!(out, "{word:9} {} ({} s)", self.case, self.took.as_secs())?;
        match &self.outcome {
            Outcome::AsListed(sections) => {
                write!(out, ": {}", sections.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
            }
            _ => Ok(()),
        }
    }
}

/// All verdicts.
#[derive(Debug, Default)]
pub(crate) struct Tally(Vec<Verdict>);

impl Tally {
    pub(crate) fn add(&mut self, verdict: Verdict) {
        self.0.push(verdict);
    }

    /// Whether only the listed differences occur.
    pub(crate) fn is_as_listed(&self) -> bool {
        self.different().next().is_none()
    }

    /// The names of the cases that differ.
    pub(crate) fn names(&self) -> String {
        self.different().map(|(verdict, _)| verdict.case.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// All unexpected differences.
    pub(crate) fn details(&self) -> String {
        let mut lines = Vec::new();
        for (verdict, problems) in self.different() {
            lines.push(format!("\n== {}", verdict.case));
            lines.extend(problems.iter().cloned());
        }
        lines.join("\n")
    }

    fn different(&self) -> impl Iterator<Item = (&Verdict, &Vec<String>)> {
        self.0.iter().filter_map(|verdict| match &verdict.outcome {
            Outcome::Different(problems) => Some((verdict, problems)),
            _ => None,
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let different = self.different().count();
        let same = self.0.iter().filter(|verdict| verdict.outcome == Outcome::Same).count();
        write!(out, "{same} same, {different} different, {} as listed", self.0.len() - same - different)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::known_differences::Cell;

    fn difference(path: &str) -> Difference {
        Difference { path: path.into(), expected: Some(json!(1)), found: Some(json!(2)) }
    }

    fn row(id: &str, path: &str) -> Row {
        let cell = |text: &str| Cell::Text(vec![text.into()]);
        let (case, step, path) = ("c".into(), "s".into(), path.into());
        Row { id: id.into(), case, step, path, keda: cell("1"), kedge: cell("2") }
    }

    #[test]
    fn what_differs_must_be_listed_and_what_is_listed_must_differ() {
        let (one, two) = (row("one", "a"), row("two", "b"));
        let compare = |found: &[&str], listed: Vec<&Row>| {
            Outcome::from_steps(&[("s".to_owned(), found.iter().map(|path| difference(path)).collect(), listed)])
        };
        assert_eq!(compare(&[], vec![]), Outcome::Same);
        assert_eq!(
            compare(&["a", "b"], vec![&one, &two]),
            Outcome::AsListed(["one".to_owned(), "two".to_owned()].into())
        );
        let lines = |outcome| match outcome {
            Outcome::Different(problems) => problems,
            other => panic!("{other:?}"),
        };
        assert_eq!(lines(compare(&["a"], vec![])), ["s: a\n  KEDA:  1\n  Kedge: 2"]);
        let gone = lines(compare(&["a"], vec![&one, &two]));
        assert_eq!(gone, ["s: b no longer differs as listed under two"]);
    }

    #[test]
    fn the_tally_counts_each_kind() {
        let mut tally = Tally::default();
        let outcomes =
            [Outcome::Same, Outcome::AsListed([].into()), Outcome::Same, Outcome::Different(vec!["x".into()])];
        for outcome in outcomes {
            tally.add(Verdict { case: "c".into(), took: Duration::ZERO, outcome });
        }
        assert_eq!(tally.to_string(), "2 same, 1 different, 1 as listed");
        assert!(!tally.is_as_listed());
        assert_eq!(tally.details(), "\n== c\nx");
    }
}
