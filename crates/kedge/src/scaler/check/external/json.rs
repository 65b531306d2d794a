//! A check as one JSON object.

use kedge_proto::externalscaler::{MetricSpec, MetricValue};
use kedge_scalers::ReadError;
use serde_json::{Value, json};

use super::calls::{Call, CallResult, StreamOutcome};
use super::diagnose::Verdict;
use super::report::Report;
use super::text;

pub(super) fn render(report: &Report) -> String {
    let diagnostics = report.diagnostics.iter().map(|diagnostic| {
        json!({
            "weight": text::severity_label(diagnostic.severity), "method": diagnostic.method,
            "problem": diagnostic.problem, "remedy": diagnostic.remedy,
        })
    });
    let verdict = match Verdict::from_diagnostics(&report.diagnostics) {
        Verdict::InOrder => "ok",
        Verdict::Doubtful => "warning",
        Verdict::Wrong => "wrong",
    };
    let calls: Vec<Value> = report.transcript.calls.iter().map(call).collect();
    let object = json!({
        "endpoint": report.endpoint, "object": report.object, "calls": calls,
        "findings": diagnostics.collect::<Vec<_>>(), "verdict": verdict,
    });
    format!("{object:#}\n")
}

fn call(call: &Call) -> Value {
    let (method, metric, outcome) = match &call.result {
        CallResult::Specs(answer) => ("GetMetricSpec", None, plain(answer, |value| specs(value))),
        CallResult::Activity(answer) => ("IsActive", None, plain(answer, |value| json!(value))),
        CallResult::Values { metric, values: answer } => {
            ("GetMetrics", Some(metric), plain(answer, |value| values(value)))
        }
        CallResult::ActivityStream(outcome) => ("StreamIsActive", None, stream(outcome, |value| json!(value))),
        CallResult::SpecStream(outcome) => ("StreamMetricSpec", None, stream(outcome, |value| specs(value))),
    };
    let (key, outcome) = outcome;
    let mut object = json!({"method": method, "milliseconds": call.took.as_millis() as u64, key: outcome});
    if let Some(metric) = metric {
        object["metric"] = json!(metric);
    }
    object
}

fn plain<T>(answer: &Result<T, ReadError>, show: impl Fn(&T) -> Value) -> (&'static str, Value) {
    match answer {
        Ok(value) => ("answer", show(value)),
        Err(error) => ("error", json!(error.to_string())),
    }
}

fn stream<T>(outcome: &StreamOutcome<T>, show: impl Fn(&T) -> Value) -> (&'static str, Value) {
    match outcome {
        StreamOutcome::Message(value) => ("answer", show(value)),
        StreamOutcome::Silence => ("stream", json!("silent")),
        StreamOutcome::End => ("stream", json!("ended")),
        StreamOutcome::Failure(error) => ("error", json!(error.to_string())),
    }
}

/// NaN and infinities, which JSON has not, become null.
fn specs(value: &[MetricSpec]) -> Value {
    let one = |spec: &MetricSpec| {
        let (whole, float) = (spec.target_size, spec.target_size_float);
        json!({"metricName": spec.metric_name, "targetSize": whole, "targetSizeFloat": float})
    };
    value.iter().map(one).collect()
}

fn values(value: &[MetricValue]) -> Value {
    let one = |value: &MetricValue| {
        let (whole, float) = (value.metric_value, value.metric_value_float);
        json!({"metricName": value.metric_name, "metricValue": whole, "metricValueFloat": float})
    };
    value.iter().map(one).collect()
}
