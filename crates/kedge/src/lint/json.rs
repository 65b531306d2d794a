//! JSON.

use std::io::{self, Write};

use kedge_webhooks::violation::Severity;
use serde_json::{Value, json};

use super::report::{Diagnostic, Report};
use crate::validation::rules::severity_label;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let diagnostics: Vec<Value> = report.diagnostics.iter().map(diagnostic).collect();
    let summary = json!({
        "files": report.files,
        "objects": report.objects,
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "advice": report.count(Severity::Advice),
    });
    serde_json::to_writer_pretty(
        &mut *out,
        &json!({ "remarks": diagnostics, "failures": report.failures, "summary": summary }),
    )?;
    writeln!(out)
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    json!({
        "file": diagnostic.file,
        "line": diagnostic.position.line,
        "column": diagnostic.position.column,
        "object": diagnostic.object,
        "field": diagnostic.field,
        "rule": diagnostic.rule.id,
        "severity": severity_label(diagnostic.rule.severity),
        "problem": diagnostic.problem,
        "remedy": diagnostic.remedy,
    })
}
