//! A check as lines to read.

use std::fmt::Write;

use kedge_proto::externalscaler::{MetricSpec, MetricValue};
use kedge_scalers::external;

use super::calls::{CallResult, NO_METRIC, StreamOutcome};
use super::diagnose::{Severity, Verdict};
use super::report::Report;

pub(super) fn render(report: &Report) -> String {
    let mut out = format!("{}, asked as for ScaledObject {}\n\n", report.endpoint, report.object);
    let calls: Vec<_> = report.transcript.calls.iter().map(|call| (title(&call.result), call)).collect();
    let width = calls.iter().map(|(title, _)| title.chars().count()).max().unwrap_or_default();
    for (title, call) in &calls {
        let _ = writeln!(out, "  {title:width$}  {:>5} ms  {}", call.took.as_millis(), describe(&call.result));
    }
    if !report.diagnostics.is_empty() {
        out.push('\n');
    }
    for diagnostic in &report.diagnostics {
        let severity = severity_label(diagnostic.severity);
        let _ = writeln!(out, "  {severity:8} {}: {}", diagnostic.method, diagnostic.problem);
        let _ = writeln!(out, "  {:8} {}", "", diagnostic.remedy);
    }
    let _ = writeln!(out, "\n{}", verdict(report));
    out
}

pub(super) fn severity_label(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Wrong => "wrong",
    }
}

fn verdict(report: &Report) -> String {
    let count = |severity| report.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    match Verdict::from_diagnostics(&report.diagnostics) {
        Verdict::InOrder => "in order".to_owned(),
        Verdict::Doubtful => format!("it works, with {} warning(s)", count(Severity::Warning)),
        Verdict::Wrong => format!("{} thing(s) wrong, {} warning(s)", count(Severity::Wrong), count(Severity::Warning)),
    }
}

fn title(answer: &CallResult) -> String {
    match answer {
        CallResult::Specs(_) => "GetMetricSpec".to_owned(),
        CallResult::Activity(_) => "IsActive".to_owned(),
        CallResult::Values { metric, .. } if metric == NO_METRIC => "GetMetrics of none".to_owned(),
        CallResult::Values { metric, .. } => format!("GetMetrics {metric}"),
        CallResult::ActivityStream(_) => "StreamIsActive".to_owned(),
        CallResult::SpecStream(_) => "StreamMetricSpec".to_owned(),
    }
}

fn describe(answer: &CallResult) -> String {
    let failed = |error: &kedge_scalers::ReadError| match error {
        kedge_scalers::ReadError::Rpc { code, message, .. } => format!("{code}: {message}"),
        error => error.to_string(),
    };
    match answer {
        CallResult::Specs(Ok(specs)) => list(specs, spec),
        CallResult::Activity(Ok(is_active)) => is_active.to_string(),
        CallResult::Values { values: Ok(values), .. } => list(values, value),
        CallResult::ActivityStream(StreamOutcome::Message(is_active)) => format!("{is_active}, and stays open"),
        CallResult::SpecStream(StreamOutcome::Message(specs)) => format!("{}, and stays open", list(specs, spec)),
        CallResult::ActivityStream(StreamOutcome::Silence) | CallResult::SpecStream(StreamOutcome::Silence) => {
            "open, and silent".to_owned()
        }
        CallResult::ActivityStream(StreamOutcome::End) | CallResult::SpecStream(StreamOutcome::End) => {
            "it ends".to_owned()
        }
        CallResult::Specs(Err(error))
        | CallResult::Activity(Err(error))
        | CallResult::Values { values: Err(error), .. }
        | CallResult::ActivityStream(StreamOutcome::Failure(error))
        | CallResult::SpecStream(StreamOutcome::Failure(error)) => failed(error),
    }
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    match items {
        [] => "nothing".to_owned(),
        items => items.iter().map(show).collect::<Vec<_>>().join(", "),
    }
}

/// The target as the scaler sent it, valid or not.
fn spec(spec: &MetricSpec) -> String {
    let name = &spec.metric_name;
    match spec.target_size_float {
        float if float > 0.0 || float.is_nan() => format!("{name}: {float} a replica"),
        _ => format!("{name}: {} a replica", spec.target_size),
    }
}

fn value(value: &MetricValue) -> String {
    external::value(value).map_or_else(|_| value.metric_value_float.to_string(), |value| value.to_string())
}
