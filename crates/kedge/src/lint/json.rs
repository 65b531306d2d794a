//! For programs.

use std::io::{self, Write};

use kedge_webhooks::finding::Severity;
use serde_json::{Value, json};

use super::report::{Remark, Report, word};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let remarks: Vec<Value> = report.remarks.iter().map(remark).collect();
    let summary = json!({
        "files": report.files,
        "objects": report.objects,
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "advice": report.count(Severity::Advice),
    });
    serde_json::to_writer_pretty(&mut *out, &json!({ "remarks": remarks, "summary": summary }))?;
    writeln!(out)
}

fn remark(remark: &Remark) -> Value {
    json!({
        "file": remark.file,
        "line": remark.place.line,
        "column": remark.place.column,
        "object": remark.object,
        "field": remark.field,
        "rule": remark.rule.id,
        "severity": word(remark.rule.severity),
        "problem": remark.problem,
        "remedy": remark.remedy,
    })
}
