//! `tests/manifests/lint`: manifests with violations, each marked at its line.
//!
//! `# expect: RULE` ends a line that violates this rule; commas separate several, and `RULE@7` adds the column. Where no comment is
//! possible, an earlier one has the form `# expect at LINE: RULE`. Every error and warning must be marked; advice is checked in the
//! files that mark some.

use std::collections::BTreeSet;

use kedge_webhooks::violation::Severity;

use super::super::report::{Diagnostic, Report};
use super::{lint, yaml_files};
use crate::validation::rules;

const FOLDER: &str = "tests/manifests/lint";

/// A violated rule and its position; the column only if the file has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    line: u64,
    rule: String,
    column: Option<u64>,
}

fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((_, rules)) = line.split_once("# expect: ") {
            marks.extend(rules.split(',').map(|rule| mark(number, rule)));
        } else if let Some(rest) = line.strip_prefix("# expect at ") {
            let (number, rule) = rest.split_once(':').unwrap();
            marks.push(mark(number.parse().unwrap(), rule));
        }
    }
    marks.sort();
    marks
}

fn mark(line: u64, rule: &str) -> Mark {
    let (rule, column) = match rule.trim().split_once('@') {
        Some((rule, column)) => (rule, Some(column.parse().unwrap())),
        None => (rule.trim(), None),
    };
    Mark { line, rule: rule.to_owned(), column }
}

/// The reported violations as marks: with the column only where the file has it.
fn reported(report: &Report, expected: &[Mark]) -> Vec<Mark> {
    let is_advice =
        |rule: &str| rules::all().iter().any(|known| known.id == rule && known.severity == Severity::Advice);
    let wants_advice = expected.iter().any(|mark| is_advice(&mark.rule));
    let is_compared = |diagnostic: &&Diagnostic| wants_advice || diagnostic.rule.severity != Severity::Advice;
    let mut open = expected.to_vec();
    let mut reported: Vec<Mark> =
        report.diagnostics.iter().filter(is_compared).map(|diagnostic| as_mark(diagnostic, &mut open)).collect();
    reported.sort();
    reported
}

fn as_mark(diagnostic: &Diagnostic, open: &mut Vec<Mark>) -> Mark {
    let same = |mark: &Mark| mark.line == diagnostic.position.line && mark.rule == diagnostic.rule.id;
    let column = open.iter().position(same).and_then(|position| open.remove(position).column);
    let column = column.map(|_| diagnostic.position.column);
    Mark { line: diagnostic.position.line, rule: diagnostic.rule.id.to_owned(), column }
}

#[test]
fn every_violation_is_reported_at_its_position_and_nothing_else() {
    let mut wrong = Vec::new();
    for (name, bytes) in yaml_files(FOLDER) {
        let expected = marks(&String::from_utf8_lossy(&bytes));
        assert!(!expected.is_empty(), "{name} expects nothing");
        let report = lint(&bytes);
        let reported = reported(&report, &expected);
        if reported != expected {
            let messages: Vec<String> = report
                .diagnostics
                .iter()
                .map(|diagnostic| format!("{}: {}", diagnostic.position.line, diagnostic.message()))
                .collect();
            wrong
                .push(format!("{name}\n  expected {expected:?}\n  reported {reported:?}\n  {}", messages.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn there_is_a_case_for_every_rule() {
    let files = yaml_files(FOLDER);
    assert!(files.len() >= 100, "{}", files.len());
    let met: BTreeSet<String> =
        files.iter().flat_map(|(_, bytes)| marks(&String::from_utf8_lossy(bytes))).map(|mark| mark.rule).collect();
    let known: BTreeSet<String> = rules::all().iter().map(|rule| rule.id.to_owned()).collect();
    assert_eq!(met, known);
}

#[test]
fn every_diagnostic_names_field_and_remedy() {
    for (name, bytes) in yaml_files(FOLDER) {
        for diagnostic in lint(&bytes).diagnostics {
            let message = diagnostic.message();
            assert!(!diagnostic.problem.is_empty() && diagnostic.remedy.len() > 4, "{name}: {message}");
            assert!(!message.contains('\n') && !message.contains("<nil>"), "{name}: {message}");
            assert!(!message.contains("s3cret"), "{name}: a secret is not duplicates: {message}");
            let is_of_a_field = diagnostic.object.is_none() || !diagnostic.field.is_empty();
            assert!(is_of_a_field, "{name}: {message}");
        }
    }
}

/// `kedge lint` rejects what the API server rejects, at the same field: the first line of each file names it.
#[test]
fn what_the_api_server_rejects_is_an_error_of_the_same_field() {
    let files = yaml_files("tests/manifests/refused");
    assert!(files.len() > 200, "{}", files.len());
    let mut wrong = Vec::new();
    for (name, bytes) in files {
        let text = String::from_utf8(bytes).unwrap();
        let reason = text.lines().next().and_then(|line| line.strip_prefix("# refused: ")).unwrap();
        let report = lint(text.as_bytes());
        let errors: Vec<_> =
            report.diagnostics.iter().filter(|diagnostic| diagnostic.rule.severity == Severity::Error).collect();
        if !errors.iter().any(|error| is_about(error, reason)) {
            let messages: Vec<String> = errors.iter().map(|error| error.message()).collect();
            wrong.push(format!("{name}\n  expected {reason}\n  reported {messages:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whether an error is about the field that a refusal names.
fn is_about(error: &Diagnostic, reason: &str) -> bool {
    let field = error.field.as_str();
    let starts = |end: &str| reason.strip_prefix(field).is_some_and(|rest| rest.starts_with(end));
    // Of a label the API server names the map.
    let is_of_labels = field.starts_with("metadata.labels.") && reason.starts_with("metadata.labels:");
    let is_of_bounds = reason.contains("minReplicaCount must be less") && error.rule.id == "min-above-max";
    starts(":")
        || starts(" in body")
        || reason == field
        || reason.ends_with(&format!(" in {field}"))
        || is_of_bounds
        || is_of_labels
}
