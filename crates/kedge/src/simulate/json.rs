//! A run as one JSON object, for programs. Unlike the text it leaves nothing out.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use kedge_core::simulate::{Change, ScaledBy, SimulationEvent, Summary};
use serde_json::{Value, json};

use super::report::Report;
use super::sources::{Answers, metric_name};
use super::words::explain;

pub(super) fn render(report: &Report<'_>) -> String {
    let plan = report.plan;
    let metric = |answers: &Answers| match answers {
        Answers::BySchedule { metric, .. } | Answers::FromLoad { metric, .. } => json!(metric_name(metric)),
        Answers::LeftOut => Value::Null,
    };
    let triggers = report
        .sources
        .iter()
        .map(|source| json!({ "name": source.label, "type": source.kind, "metric": metric(&source.answers) }));
    let whole = json!({
        "name": plan.object.metadata.name,
        "origin": report.origin,
        "load": report.load,
        "start": instant(plan.start_at),
        "seconds": seconds(plan.length),
        "replicas": plan.replicas,
        "triggers": triggers.collect::<Vec<_>>(),
        "happenings": report.events.iter().map(|one| render_event(report, one)).collect::<Vec<_>>(),
        "summary": render_summary(&report.summary),
    });
    format!("{whole:#}\n")
}

fn render_event(report: &Report<'_>, event: &SimulationEvent) -> Value {
    let line = explain(report, event);
    let mut value = json!({
        "at": instant(event.at),
        "kind": kind(&event.what),
        "replicas": event.current,
        "ready": event.ready,
        "who": line.who,
        "what": line.what,
    });
    match &event.what {
        Change::Replicas { from, to, .. } => {
            value["from"] = json!(from);
            value["to"] = json!(to);
        }
        Change::Condition { is_true, reason, message, .. } => {
            value["message"] = json!(message);
            value["status"] = json!(is_true);
            value["reason"] = json!(reason);
        }
        Change::Source { trigger, .. } => value["trigger"] = json!(trigger),
        Change::Ready { waited } => value["waitedSeconds"] = json!(waited.map(seconds)),
        Change::Activity(_) | Change::Hold(_) => {}
    }
    value
}

fn kind(what: &Change) -> &'static str {
    match what {
        Change::Replicas { by: ScaledBy::Kedge(_), .. } => "scaledByKedge",
        Change::Replicas { by: ScaledBy::Hpa { .. }, .. } => "scaledByHpa",
        Change::Activity(_) => "activity",
        Change::Hold(_) => "hold",
        Change::Source { .. } => "source",
        Change::Condition { .. } => "hpaCondition",
        Change::Ready { .. } => "ready",
    }
}

fn render_summary(summary: &Summary) -> Value {
    json!({
        "replicasMax": summary.replicas_max,
        "replicaSeconds": seconds(summary.used),
        "replicaSecondsAlwaysOn": seconds(summary.always_on),
        "asleepSeconds": seconds(summary.at_zero),
        "scaleChanges": summary.changes,
        "longestWaitSeconds": summary.waited_max.map(seconds),
    })
}

fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn seconds(span: TimeDelta) -> f64 {
    span.num_milliseconds() as f64 / 1000.0
}
