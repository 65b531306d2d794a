//! A check as lines to read.

use std::fmt::Write;

use kedge_core::fallback::MetricType;
use kedge_scalers::{Activity, Known};

use super::report::{HpaStep, MetricReport, ObjectReport, Outlook, Problem, Report, TriggerReport, TriggerResult};

/// The room for the word that says what a line is.
const WORD_WIDTH: usize = 9;

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    for object in &report.objects {
        // Writing to a String cannot fail.
        let _ = render_object(&mut out, object);
        out.push('\n');
    }
    let (all, failed) = (report.triggers().count(), report.triggers().filter(|trigger| trigger.has_failed()).count());
    let _ = match failed {
        0 => writeln!(out, "in order: {all} of {all} triggers"),
        failed => writeln!(out, "{failed} of {all} triggers failed"),
    };
    out
}

fn render_object(out: &mut String, object: &ObjectReport) -> std::fmt::Result {
    writeln!(out, "{} {}/{} ({})", object.kind, object.namespace, object.name, object.place)?;
    for trigger in &object.triggers {
        render_trigger(out, trigger)?;
    }
    match &object.outlook {
        Some(outlook) => render_outlook(out, outlook),
        None => writeln!(out, "  ScaledJobs are not run yet"),
    }
}

fn render_trigger(out: &mut String, trigger: &TriggerReport) -> std::fmt::Result {
    writeln!(out, "  {}", trigger.label())?;
    match &trigger.result {
        TriggerResult::LeftToHpa { resource } => {
            let text = format!("none to ask: the HPA controller reads {resource} from the resource metrics API");
            line(out, "source", &text)?;
        }
        TriggerResult::NotAsked(problems) => problems.iter().try_for_each(|one| render_problem(out, one))?,
        TriggerResult::Asked(metrics) => {
            for metric in metrics {
                render_metric(out, metric, trigger.activation)?;
            }
            line(out, "took", &format!("{} ms", trigger.took.as_millis()))?;
        }
    }
    trigger.warnings.iter().try_for_each(|warning| line(out, "warning", warning))
}

fn render_metric(out: &mut String, metric: &MetricReport, activation: Option<f64>) -> std::fmt::Result {
    line(out, "metric", &metric.name)?;
    match &metric.answer {
        Ok(known) => line(out, "value", &describe_value(known, activation))?,
        Err(problem) => render_problem(out, problem)?,
    }
    line(out, "target", &describe_target(metric))
}

fn describe_value(known: &Known, activation: Option<f64>) -> String {
    let values: Vec<String> = known.values.iter().map(ToString::to_string).collect();
    let values = if values.is_empty() { "none".to_owned() } else { values.join(" + ") };
    match (known.activity, activation) {
        (Activity::Active, Some(above)) => format!("{values}, active: it is above {above}"),
        (Activity::Inactive, Some(above)) => format!("{values}, not active: it is not above {above}"),
        (Activity::Active, None) => format!("{values}, active"),
        (Activity::Inactive, None) => format!("{values}, not active"),
    }
}

fn describe_target(metric: &MetricReport) -> String {
    let target = metric.target.0 as f64 / 1000.0;
    match metric.metric_type {
        MetricType::AverageValue => format!("{target} for each replica (AverageValue)"),
        MetricType::Value => format!("{target} for all replicas together (Value)"),
    }
}

fn render_problem(out: &mut String, problem: &Problem) -> std::fmt::Result {
    let field = problem.field.as_ref().map(|field| format!("`{field}` ")).unwrap_or_default();
    line(out, "failed", &format!("{field}{}", problem.problem))?;
    problem.remedy.as_ref().map_or(Ok(()), |remedy| line(out, "", remedy))
}

fn render_outlook(out: &mut String, outlook: &Outlook) -> std::fmt::Result {
    writeln!(out, "  with {}", replicas(outlook.replicas))?;
    match &outlook.formula {
        Some(Ok(value)) => line(out, "formula", &value.to_string())?,
        Some(Err(why)) => line(out, "formula", &format!("unknown: {why}"))?,
        None => {}
    }
    line(out, "Kedge", &outlook.operator)?;
    if let Some(step) = &outlook.hpa {
        line(out, "HPA", &describe_step(step))?;
    }
    match outlook.left_out.as_slice() {
        [] => Ok(()),
        left_out => line(out, "without", &left_out.join(", ")),
    }
}

fn describe_step(step: &HpaStep) -> String {
    let HpaStep { from, to, needed, why } = step;
    let change = if from == to { format!("stays at {from}") } else { format!("{from} → {to}") };
    match needed {
        Some(needed) if needed > to => format!("{change}, then up to {needed}: {why}"),
        Some(needed) if needed < to => format!("{change}, then down to {needed}: {why}"),
        _ => format!("{change}: {why}"),
    }
}

fn replicas(count: i32) -> String {
    if count == 1 { "1 replica".to_owned() } else { format!("{count} replicas") }
}

fn line(out: &mut String, word: &str, text: &str) -> std::fmt::Result {
    writeln!(out, "    {word:WORD_WIDTH$}{text}")
}
