//! A check as one JSON object.

use kedge_core::fallback::MetricType;
use kedge_scalers::Activity;
use serde_json::{Value, json};

use super::super::Severity;
use super::report::{MetricReport, ObjectReport, Outlook, Problem, Report, TriggerReport, TriggerResult};

pub(super) fn render(report: &Report) -> String {
    let verdict = match report.severity() {
        Severity::None => "ok",
        Severity::Warning => "warning",
        Severity::Error => "wrong",
    };
    let objects: Vec<Value> = report.objects.iter().map(object).collect();
    format!("{:#}\n", json!({ "objects": objects, "verdict": verdict }))
}

fn object(object: &ObjectReport) -> Value {
    json!({
        "kind": object.kind,
        "namespace": object.namespace,
        "name": object.name,
        "place": object.place,
        "triggers": object.triggers.iter().map(trigger).collect::<Vec<_>>(),
        "outlook": object.outlook.as_ref().map(outlook),
    })
}

fn trigger(trigger: &TriggerReport) -> Value {
    let (result, metrics, problems) = match &trigger.result {
        TriggerResult::LeftToHpa { .. } => ("leftToHpa", Vec::new(), Vec::new()),
        TriggerResult::Asked(metrics) => ("asked", metrics.iter().map(metric).collect(), Vec::new()),
        TriggerResult::NotAsked(problems) => ("notAsked", Vec::new(), problems.iter().map(problem).collect()),
    };
    json!({
        "index": trigger.index,
        "type": trigger.trigger_type,
        "name": trigger.name,
        "activation": trigger.activation,
        "result": result,
        "metrics": metrics,
        "problems": problems,
        "warnings": trigger.warnings,
        "milliseconds": trigger.took.as_millis() as u64,
        "failed": trigger.has_failed(),
    })
}

/// NaN and infinities, which JSON has not, become null.
fn metric(metric: &MetricReport) -> Value {
    let target_type = match metric.metric_type {
        MetricType::AverageValue => "AverageValue",
        MetricType::Value => "Value",
    };
    let target = metric.target.0 as f64 / 1000.0;
    let mut object = json!({ "name": metric.name, "target": target, "targetType": target_type });
    match &metric.answer {
        Ok(known) => {
            object["values"] = json!(known.values);
            object["active"] = json!(known.activity == Activity::Active);
        }
        Err(error) => object["problem"] = problem(error),
    }
    object
}

fn problem(problem: &Problem) -> Value {
    json!({ "field": problem.field, "problem": problem.problem, "remedy": problem.remedy })
}

fn outlook(outlook: &Outlook) -> Value {
    let formula = outlook.formula.as_ref().map(|value| match value {
        Ok(value) => json!({ "value": value }),
        Err(why) => json!({ "problem": why }),
    });
    let hpa = outlook
        .hpa
        .as_ref()
        .map(|step| json!({ "from": step.from, "to": step.to, "needed": step.needed, "why": step.why }));
    json!({
        "replicas": outlook.replicas, "formula": formula, "operator": outlook.operator, "hpa": hpa, "leftOut": outlook.left_out,
    })
}
