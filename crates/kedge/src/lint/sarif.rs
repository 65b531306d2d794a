//! SARIF 2.1.0, which code scanning services and editors read.

use std::collections::BTreeMap;
use std::io::{self, Write};

use kedge_webhooks::violation::{Rule, Severity};
use serde_json::{Value, json};

use super::report::{Diagnostic, Report};
use crate::validation::rules;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let rules: BTreeMap<&str, &Rule> =
        report.diagnostics.iter().map(|diagnostic| (diagnostic.rule.id, diagnostic.rule)).collect();
    let driver = json!({
        "name": "kedge",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": rules.values().map(|rule| description(rule)).collect::<Vec<_>>(),
    });
    let position = |id: &str| rules.keys().position(|known| *known == id);
    let results: Vec<Value> =
        report.diagnostics.iter().map(|diagnostic| result(diagnostic, position(diagnostic.rule.id))).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results,
            "invocations": [invocation(report)],
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

/// Whether every file could be read: a service must not take a report without results for one without violations.
fn invocation(report: &Report) -> Value {
    let notification = |failure: &String| json!({ "level": "error", "message": { "text": failure } });
    json!({
        "executionSuccessful": report.failures.is_empty(),
        "toolExecutionNotifications": report.failures.iter().map(notification).collect::<Vec<_>>(),
    })
}

fn description(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "deprecatedIds": rules::former_ids(rule),
        "shortDescription": { "text": rule.about },
        "defaultConfiguration": { "level": level(rule.severity) },
    })
}

fn result(diagnostic: &Diagnostic, rule_index: Option<usize>) -> Value {
    let region = json!({ "startLine": diagnostic.position.line, "startColumn": diagnostic.position.column });
    let location = json!({ "artifactLocation": { "uri": uri(&diagnostic.file) }, "region": region });
    json!({
        "ruleId": diagnostic.rule.id,
        "ruleIndex": rule_index,
        "level": level(diagnostic.rule.severity),
        "message": { "text": diagnostic.message() },
        "locations": [{ "physicalLocation": location }],
    })
}

/// A path as a URI.
fn uri(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut uri = String::new();
    for byte in path.trim_start_matches("./").bytes() {
        if is_plain(byte) { uri.push(byte.into()) } else { uri.push_str(&format!("%{byte:02X}")) }
    }
    uri
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "note",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_uri() {
        assert_eq!(uri("./k8s/über uns.yaml"), "k8s/%C3%BCber%20uns.yaml");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
    }
}
