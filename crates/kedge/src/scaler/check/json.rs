//! A check as one JSON object.

use kedge_proto::externalscaler::{MetricSpec, MetricValue};
use kedge_scalers::ReadError;
use serde_json::{Value, json};

use super::Report;
use super::ask::{Answer, Call, Heard};
use super::judge::Verdict;
use super::text;

pub(super) fn render(report: &Report) -> String {
    let findings = report.findings.iter().map(|finding| {
        json!({
            "weight": text::weight(finding.weight), "method": finding.method,
            "problem": finding.problem, "remedy": finding.remedy,
        })
    });
    let verdict = match Verdict::of(&report.findings) {
        Verdict::InOrder => "ok",
        Verdict::Doubtful => "warning",
        Verdict::Wrong => "wrong",
    };
    let calls: Vec<Value> = report.transcript.calls.iter().map(call).collect();
    let object = json!({
        "endpoint": report.endpoint, "object": report.object, "calls": calls,
        "findings": findings.collect::<Vec<_>>(), "verdict": verdict,
    });
    format!("{object:#}\n")
}

fn call(call: &Call) -> Value {
    let (method, metric, outcome) = match &call.answer {
        Answer::Specs(answer) => ("GetMetricSpec", None, plain(answer, |told| specs(told))),
        Answer::Activity(answer) => ("IsActive", None, plain(answer, |told| json!(told))),
        Answer::Values { metric, values: answer } => ("GetMetrics", Some(metric), plain(answer, |told| values(told))),
        Answer::ActivityStream(heard) => ("StreamIsActive", None, stream(heard, |told| json!(told))),
        Answer::SpecStream(heard) => ("StreamMetricSpec", None, stream(heard, |told| specs(told))),
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
        Ok(told) => ("answer", show(told)),
        Err(error) => ("error", json!(error.to_string())),
    }
}

fn stream<T>(heard: &Heard<T>, show: impl Fn(&T) -> Value) -> (&'static str, Value) {
    match heard {
        Heard::Message(told) => ("answer", show(told)),
        Heard::Silence => ("stream", json!("silent")),
        Heard::End => ("stream", json!("ended")),
        Heard::Failure(error) => ("error", json!(error.to_string())),
    }
}

/// NaN and infinities, which JSON has not, become null.
fn specs(told: &[MetricSpec]) -> Value {
    let one = |spec: &MetricSpec| {
        let (whole, float) = (spec.target_size, spec.target_size_float);
        json!({"metricName": spec.metric_name, "targetSize": whole, "targetSizeFloat": float})
    };
    told.iter().map(one).collect()
}

fn values(told: &[MetricValue]) -> Value {
    let one = |value: &MetricValue| {
        let (whole, float) = (value.metric_value, value.metric_value_float);
        json!({"metricName": value.metric_name, "metricValue": whole, "metricValueFloat": float})
    };
    told.iter().map(one).collect()
}
