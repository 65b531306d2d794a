//! A check as lines to read.

use std::fmt::Write;

use kedge_proto::externalscaler::{MetricSpec, MetricValue};
use kedge_scalers::external;

use super::Report;
use super::ask::{Answer, Heard, NO_METRIC};
use super::judge::{Verdict, Weight};

pub(super) fn render(report: &Report) -> String {
    let mut out = format!("{}, asked as for ScaledObject {}\n\n", report.endpoint, report.object);
    let calls: Vec<_> = report.transcript.calls.iter().map(|call| (title(&call.answer), call)).collect();
    let width = calls.iter().map(|(title, _)| title.chars().count()).max().unwrap_or_default();
    for (title, call) in &calls {
        let _ = writeln!(out, "  {title:width$}  {:>5} ms  {}", call.took.as_millis(), said(&call.answer));
    }
    if !report.findings.is_empty() {
        out.push('\n');
    }
    for finding in &report.findings {
        let weight = weight(finding.weight);
        let _ = writeln!(out, "  {weight:8} {}: {}", finding.method, finding.problem);
        let _ = writeln!(out, "  {:8} {}", "", finding.remedy);
    }
    let _ = writeln!(out, "\n{}", verdict(report));
    out
}

pub(super) fn weight(weight: Weight) -> &'static str {
    match weight {
        Weight::Note => "note",
        Weight::Warning => "warning",
        Weight::Wrong => "wrong",
    }
}

fn verdict(report: &Report) -> String {
    let count = |weight| report.findings.iter().filter(|finding| finding.weight == weight).count();
    match Verdict::of(&report.findings) {
        Verdict::InOrder => "in order".to_owned(),
        Verdict::Doubtful => format!("it works, with {} warning(s)", count(Weight::Warning)),
        Verdict::Wrong => format!("{} thing(s) wrong, {} warning(s)", count(Weight::Wrong), count(Weight::Warning)),
    }
}

fn title(answer: &Answer) -> String {
    match answer {
        Answer::Specs(_) => "GetMetricSpec".to_owned(),
        Answer::Activity(_) => "IsActive".to_owned(),
        Answer::Values { metric, .. } if metric == NO_METRIC => "GetMetrics of none".to_owned(),
        Answer::Values { metric, .. } => format!("GetMetrics {metric}"),
        Answer::ActivityStream(_) => "StreamIsActive".to_owned(),
        Answer::SpecStream(_) => "StreamMetricSpec".to_owned(),
    }
}

fn said(answer: &Answer) -> String {
    let failed = |error: &kedge_scalers::ReadError| match error {
        kedge_scalers::ReadError::Rpc { code, message, .. } => format!("{code}: {message}"),
        error => error.to_string(),
    };
    match answer {
        Answer::Specs(Ok(specs)) => list(specs, spec),
        Answer::Activity(Ok(is_active)) => is_active.to_string(),
        Answer::Values { values: Ok(values), .. } => list(values, value),
        Answer::ActivityStream(Heard::Message(is_active)) => format!("{is_active}, and stays open"),
        Answer::SpecStream(Heard::Message(specs)) => format!("{}, and stays open", list(specs, spec)),
        Answer::ActivityStream(Heard::Silence) | Answer::SpecStream(Heard::Silence) => "open, and silent".to_owned(),
        Answer::ActivityStream(Heard::End) | Answer::SpecStream(Heard::End) => "it ends".to_owned(),
        Answer::Specs(Err(error))
        | Answer::Activity(Err(error))
        | Answer::Values { values: Err(error), .. }
        | Answer::ActivityStream(Heard::Failure(error))
        | Answer::SpecStream(Heard::Failure(error)) => failed(error),
    }
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    match items {
        [] => "nothing".to_owned(),
        items => items.iter().map(show).collect::<Vec<_>>().join(", "),
    }
}

/// As the scaler said it: whether it can be is judged elsewhere.
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
