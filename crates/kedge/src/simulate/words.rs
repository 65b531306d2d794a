//! What happened, in words: those of the table of scale decisions where it is about Kedge.

use std::cmp::Reverse;

use kedge_core::decide::Hold;
use kedge_core::decide::words::{Explanation, explain_activity, explain_cause, explain_hold};
use kedge_core::hpa::model::external::sum_for_average;
use kedge_core::hpa::model::metric::MetricReading;
use kedge_core::hpa::model::normalise::{Limit, Normalised, Stability};
use kedge_core::hpa::model::reconcile::Calculation;
use kedge_core::milli::Milli;
use kedge_core::simulate::{Change, HpaCondition, ScaledBy, SimulationEvent, SourceState};

use super::report::Report;
use super::sources::metric_name;
use super::spans::show;

/// Who does it, and what it is.
pub(super) struct Line {
    pub(super) who: &'static str,
    pub(super) what: String,
}

pub(super) fn explain(report: &Report<'_>, event: &SimulationEvent) -> Line {
    let (who, what) = match &event.what {
        Change::Replicas { from, to, by: ScaledBy::Kedge(cause) } => {
            let active = report.sources.active(event.at);
            let Explanation { name, meaning } = explain_cause(*cause, &active);
            ("Kedge", format!("{from} → {to}  {name}: {meaning}"))
        }
        Change::Replicas { from, to, by: ScaledBy::Hpa { reason, readings, calculation } } => {
            ("HPA", format!("{from} → {to}  {}", explain_calculation(report, reason, readings, calculation)))
        }
        Change::Activity(activity) => ("Kedge", explain_activity(*activity).to_owned()),
        Change::Hold(Hold::CoolingDown { until }) => {
            let until = until.format("%H:%M:%S");
            ("Kedge", format!("cooling down: no trigger is active; the target may scale to zero after {until}"))
        }
        Change::Hold(hold) => {
            let Explanation { name, meaning } = explain_hold(*hold);
            ("Kedge", format!("{name}: {meaning}"))
        }
        Change::Source { trigger, state } => ("source", explain_source(report.sources.label(*trigger), state)),
        Change::Condition { condition, is_true, reason, .. } => {
            ("HPA", format!("{}: {reason}", explain_condition(*condition, *is_true)))
        }
        Change::Ready { waited } => (
            "pod",
            match waited {
                Some(waited) => format!("the first pod is ready, {} after the work arrived", show(*waited)),
                None => "the first pod is ready".to_owned(),
            },
        ),
    };
    Line { who, what }
}

fn explain_condition(condition: HpaCondition, is_true: bool) -> &'static str {
    match (condition, is_true) {
        (HpaCondition::ScalingActive, true) => "scales",
        (HpaCondition::ScalingActive, false) => "does not scale",
        (HpaCondition::ScalingLimited, true) => "is limited",
        (HpaCondition::ScalingLimited, false) => "is not limited",
    }
}

fn explain_source(label: &str, state: &SourceState) -> String {
    match state {
        SourceState::Healthy => format!("{label} answers again"),
        SourceState::Failing { error } => format!("{label} fails: {error}"),
        SourceState::InFallback { replicas } => {
            format!("{label} failed too often: its fallback applies, {replicas} replicas")
        }
    }
}

fn explain_calculation(
    report: &Report<'_>,
    reason: &str,
    readings: &[MetricReading],
    calculation: &Calculation,
) -> String {
    let Calculation::Decided { proposals, raw, normalised } = calculation else { return reason.to_owned() };
    let metrics = report.plan.hpa.metrics.iter().flatten();
    // The first of those that ask for the most.
    let leader = proposals.iter().zip(readings).zip(metrics).min_by_key(|((asked, _), _)| Reverse(**asked));
    let asks = leader.map_or_else(String::new, |((_, readings), metric)| {
        let label = report.sources.label_of_metric(metric_name(metric));
        match readings {
            MetricReading::Series(Ok(series)) => format!("{label} is at {}, which needs {raw}", sum(series)),
            _ => format!("{label} needs {raw}"),
        }
    });
    format!("{asks}{}{}", explain_stability(normalised), explain_limit(normalised))
}

/// To one decimal, where it has any.
fn sum(series: &[Milli]) -> String {
    let sum = sum_for_average(series).0 as f64 / 1000.0;
    format!("{sum:.1}").trim_end_matches(".0").to_owned()
}

fn explain_stability(normalised: &Normalised) -> String {
    match normalised.stability {
        Stability::Ready => String::new(),
        Stability::HeldDown | Stability::HeldUp => {
            format!("; {} within the stabilization window", normalised.stabilised)
        }
    }
}

fn explain_limit(normalised: &Normalised) -> &'static str {
    match normalised.limit {
        Limit::WithinRange => "",
        Limit::UpRate => "; limited by the scale-up policy",
        Limit::DownRate => "; limited by the scale-down policy",
        Limit::Max => "; limited by the maximum",
        Limit::Min => "; limited by the minimum",
    }
}
