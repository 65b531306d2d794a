//! The result of one script, and of all.

use std::collections::BTreeSet;
use std::fmt;

use kedge_tests::compare::{Difference, differences};
use serde_json::{Value, json};

use crate::known_differences::{KnownDifferences, Row};
use crate::play::StepResponse;

/// The responses of both sides to one step.
#[derive(Debug)]
struct Pair {
    step: String,
    request: String,
    differences: Vec<Difference>,
}

/// The result of one script.
#[derive(Debug)]
pub(crate) struct Verdict {
    script: String,
    pairs: Vec<Pair>,
    /// Where the real API server does not respond as the script expects.
    surprises: Vec<String>,
}

impl Verdict {
    pub(crate) fn new(script: &str, real: &[StepResponse], plane: &[StepResponse]) -> Self {
        let surprise = |answer: &StepResponse| {
            let text = answer.surprise.as_ref()?;
            Some(format!("{script}, step {}: {}\n    {text}", answer.step, answer.request))
        };
        let pairs = real.iter().enumerate().map(|(index, answer)| Pair {
            step: answer.step.clone(),
            request: answer.request.clone(),
            differences: differences(&answer.response, &plane.get(index).map_or(json!("not reached"), response)),
        });
        let surprises = real.iter().filter_map(surprise).collect();
        Self { script: script.to_owned(), pairs: pairs.collect(), surprises }
    }
}

/// A difference for a reader: the value of the real API server, and the plane's.
fn describe(difference: &Difference) -> String {
    let text = |value: &Option<Value>| value.as_ref().map_or("(absent)".to_owned(), Value::to_string);
    let Difference { path, expected, found } = difference;
    format!("    @ {path}\n    - {}\n    + {}", text(expected), text(found))
}

fn response(answer: &StepResponse) -> Value {
    answer.response.clone()
}

/// All verdicts, compared with the listed differences.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    scripts: usize,
    pub(crate) answers: usize,
    pub(crate) different: usize,
    /// Differences that are not listed.
    pub(crate) unlisted: Vec<String>,
    pub(crate) surprises: Vec<String>,
    met: BTreeSet<Row>,
}

impl Tally {
    pub(crate) fn add(&mut self, verdict: Verdict, listed: &KnownDifferences) {
        self.scripts += 1;
        self.surprises.extend(verdict.surprises);
        for pair in verdict.pairs {
            self.answers += 1;
            self.different += usize::from(!pair.differences.is_empty());
            let mut unlisted = Vec::new();
            for difference in &pair.differences {
                let is_it = |row: &&Row| row.is(&verdict.script, &pair.step, &difference.path);
                let rows: Vec<&Row> = listed.0.iter().filter(is_it).collect();
                if rows.is_empty() {
                    unlisted.push(describe(difference));
                }
                self.met.extend(rows.into_iter().cloned());
            }
            if !unlisted.is_empty() {
                let head = format!("{}, step {}: {}", verdict.script, pair.step, pair.request);
                self.unlisted.push(format!("{head}\n{}", unlisted.join("\n")));
            }
        }
    }

    /// The listed differences that do not occur.
    pub(crate) fn stale<'a>(&self, listed: &'a KnownDifferences) -> Vec<&'a Row> {
        listed.0.iter().filter(|row| !self.met.contains(row)).collect()
    }

    /// Whether at least 99 of 100 answers are the same.
    pub(crate) fn is_close(&self) -> bool {
        self.different * 100 <= self.answers
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = self.answers - self.different;
        let percentage = 100.0 * same as f64 / self.answers.max(1) as f64;
        write!(
            out,
            "{} scripts, {} answers: {same} same ({percentage:.2} %), {} different",
            self.scripts, self.answers, self.different
        )
    }
}
