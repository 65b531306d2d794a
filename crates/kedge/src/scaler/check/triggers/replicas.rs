//! What the operator and the HPA controller would do with the values, by the functions that decide in a cluster.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscalerStatus, MetricSpec};
use kedge_api::ScaledObject;
use kedge_core::activity::{ActivityHistory, Contribution, activity};
use kedge_core::contribution::{TriggerState, trigger_contribution};
use kedge_core::decide::words::{explain_cause, explain_hold};
use kedge_core::decide::{Current, Decision, Hold, Observation, decide};
use kedge_core::fallback::{Failures, MetricType};
use kedge_core::formula::composite::{CompositeOutcome, Reading, Surroundings};
use kedge_core::formula::settings::{self, Composite};
use kedge_core::hpa::explain::{NamedMetric, explain_rescale};
use kedge_core::hpa::model::history::ScalingHistory;
use kedge_core::hpa::model::metric::MetricReading;
use kedge_core::hpa::model::pods::{ObservedPod, Phase, Readiness, ReadyState};
use kedge_core::hpa::model::reconcile::{
    Calculation, HpaSnapshot, Observation as HpaObservation, ObservedScale, Selection, reconcile,
};
use kedge_core::hpa::model::settings::Settings;
use kedge_core::hpa::render::{TargetKind, composite_spec, render};
use kedge_core::milli::Milli;
use kedge_core::policy::Policy;
use kedge_core::quantity::{Quantity, format_float};
use kedge_scalers::{Activity, Known, registry};

use super::report::{HpaStep, MetricReport, Outlook, TriggerReport, TriggerResult};

/// A metric as the HPA controller gets it.
struct ServedMetric {
    label: String,
    spec: MetricSpec,
    target: Milli,
    metric_type: MetricType,
    series: Result<Vec<Milli>, String>,
}

/// What would be done, beginning with so many replicas; by default with the minimum, or with one.
pub(super) fn foresee(
    object: &ScaledObject,
    triggers: &[TriggerReport],
    replicas: Option<i32>,
    now: DateTime<Utc>,
) -> Outlook {
    let policy = Policy::from_spec(&object.spec, object.metadata.annotations.as_ref());
    let replicas = replicas.unwrap_or_else(|| policy.activation_replicas());
    let composite = settings::parse(&object.spec, registry::class_of).ok().flatten();
    let outcome = composite.as_ref().map(|composite| evaluate(composite, triggers));
    let decision = decide(&policy, &observe(triggers, outcome.as_ref(), replicas, now), now);
    let acting = match decision {
        Decision::ScaleTo { replicas, .. } => replicas,
        Decision::Hold(_) => replicas,
    };
    let metrics = served(triggers, composite.as_ref().zip(outcome.as_ref()));
    let acts = acting > 0 && !policy.overrides.is_fully_paused() && !metrics.is_empty();
    Outlook {
        replicas,
        formula: outcome.as_ref().map(formula_value),
        operator: explain(&policy, decision, replicas, &active(triggers)),
        hpa: acts.then(|| sync(object, &metrics, acting, now)).flatten(),
        left_out: triggers.iter().filter(|trigger| trigger.metrics().is_empty()).map(TriggerReport::label).collect(),
    }
}

fn evaluate(composite: &Composite, triggers: &[TriggerReport]) -> CompositeOutcome {
    let mut by_name = BTreeMap::new();
    for trigger in triggers {
        let Some(name) = &trigger.name else { continue };
        for metric in trigger.metrics() {
            let reading = match &metric.answer {
                Ok(known) => Reading::from_values(&known.values, Failures::default()),
                Err(_) => Reading::Failed(Failures::default()),
            };
            by_name.insert(name.clone(), reading);
        }
    }
    composite.evaluate(&by_name, Surroundings::default())
}

fn formula_value(outcome: &CompositeOutcome) -> Result<f64, String> {
    match outcome {
        CompositeOutcome::Value { milli, .. } | CompositeOutcome::FallenBack { milli, .. } => Ok(as_number(*milli)),
        CompositeOutcome::Unknown(why) => Err(why.to_string()),
    }
}

/// What the operator sees. A target that is inactive has just become so.
fn observe(
    triggers: &[TriggerReport],
    composite: Option<&CompositeOutcome>,
    replicas: i32,
    now: DateTime<Utc>,
) -> Observation {
    let contributions: Vec<Contribution> = match composite {
        Some(outcome) => vec![outcome.contribution()],
        None => triggers.iter().map(contribution).collect(),
    };
    let history = ActivityHistory::Ended { at: now };
    Observation { activity: activity(&contributions), history, current: Current::Replicas(replicas) }
}

fn contribution(trigger: &TriggerReport) -> Contribution {
    let state = match trigger.result {
        TriggerResult::NotAsked(_) => TriggerState::NotBuilt,
        TriggerResult::Asked(_) | TriggerResult::LeftToHpa { .. } => TriggerState::Built,
    };
    trigger_contribution(
        state,
        trigger.metrics().iter().map(|metric| match &metric.answer {
            Ok(Known { activity: Activity::Active, .. }) => Contribution::Active,
            Ok(_) => Contribution::Inactive,
            Err(_) => Contribution::Unknown,
        }),
    )
}

fn active(triggers: &[TriggerReport]) -> Vec<&str> {
    let is_active = |trigger: &&TriggerReport| contribution(trigger) == Contribution::Active;
    triggers.iter().filter(is_active).map(short_name).collect()
}

fn short_name(trigger: &TriggerReport) -> &str {
    trigger.name.as_deref().unwrap_or(&trigger.trigger_type)
}

fn explain(policy: &Policy, decision: Decision, replicas: i32, active: &[&str]) -> String {
    match decision {
        Decision::ScaleTo { replicas: to, because } => {
            let cause = explain_cause(because, active);
            format!("{replicas} → {to}  {}: {}", cause.name, cause.meaning)
        }
        Decision::Hold(Hold::CoolingDown { .. }) => {
            let (floor, seconds) = (policy.floor(), policy.cooldown.period.num_seconds());
            format!("cooling down: no trigger is active; {floor} replicas after {seconds} s without activity")
        }
        Decision::Hold(hold) => {
            let hold = explain_hold(hold);
            format!("{}: {}", hold.name, hold.meaning)
        }
    }
}

/// The metrics of the HPA: those of the triggers, or that of the formula in their place.
fn served(triggers: &[TriggerReport], composite: Option<(&Composite, &CompositeOutcome)>) -> Vec<ServedMetric> {
    if let Some((composite, outcome)) = composite {
        let missing = || outcome.why().map(ToString::to_string).unwrap_or_default();
        return vec![ServedMetric {
            label: "the formula".to_owned(),
            spec: composite_spec(composite),
            target: composite.target,
            metric_type: composite.metric_type,
            series: outcome.served().map(|value| vec![value]).ok_or_else(missing),
        }];
    }
    let of_trigger = |trigger| {
        move |metric: &MetricReport| ServedMetric {
            label: if trigger_has_one(trigger) { short_name(trigger).to_owned() } else { metric.name.clone() },
            spec: metric.spec.clone(),
            target: metric.target,
            metric_type: metric.metric_type,
            series: match &metric.answer {
                Ok(known) => Ok(known.values.iter().map(|value| published(*value)).collect()),
                Err(problem) => Err(problem.problem.clone()),
            },
        }
    };
    triggers.iter().flat_map(|trigger: &TriggerReport| trigger.metrics().iter().map(of_trigger(trigger))).collect()
}

fn trigger_has_one(trigger: &TriggerReport) -> bool {
    trigger.metrics().len() == 1
}

/// A value as the metrics API publishes it.
fn published(value: f64) -> Milli {
    Quantity::parse(&format_float(value)).map_or(Milli(0), |quantity| Milli(quantity.milli_value()))
}

fn as_number(Milli(milli): Milli) -> f64 {
    milli as f64 / 1000.0
}

/// The next sync of the HPA controller, with replicas that have long been ready.
fn sync(object: &ScaledObject, metrics: &[ServedMetric], from: i32, now: DateTime<Utc>) -> Option<HpaStep> {
    let (api_version, kind) = object.spec.scale_target_ref.api_version_and_kind();
    let target = TargetKind { api_version: api_version.to_owned(), kind: kind.to_owned() };
    let specs = metrics.iter().map(|metric| metric.spec.clone()).collect();
    let hpa = render(object, &target, specs, env!("CARGO_PKG_VERSION")).ok()?;
    let readings: Vec<_> = metrics.iter().map(|metric| MetricReading::Series(metric.series.clone())).collect();
    let status = HorizontalPodAutoscalerStatus::default();
    let subject = HpaSnapshot { namespace: "", spec: &hpa.spec, status: &status };
    let scale = Ok(ObservedScale { current: from, reported: from, selection: Selection::Clear });
    let pods: Vec<ObservedPod> = (0..from).map(|index| ready_pod(index, now)).collect();
    let seen = HpaObservation { now, scale, readings: &readings, pods: &pods };
    let outcome = reconcile(subject, &seen, ScalingHistory::default(), &Settings::default()).assume_written();
    let to = outcome.rescaled_to.unwrap_or(from);
    let bounds = (hpa.spec.min_replicas.unwrap_or(1), hpa.spec.max_replicas);
    let (needed, why) = match outcome.calculation {
        Calculation::Decided { raw, normalised, .. } => {
            let named: Vec<NamedMetric<'_>> = metrics.iter().map(named).collect();
            let held = if normalised.stabilised > raw { "; the stabilization window holds the rest" } else { "" };
            let why = format!("{}{held}", explain_rescale((from, from), &named, &outcome.status));
            (Some(raw.max(bounds.0).min(bounds.1)), why)
        }
        Calculation::None | Calculation::Undecided { .. } => {
            (None, "a metric is missing, and no other one needs more replicas".to_owned())
        }
    };
    Some(HpaStep { from, to, needed, why })
}

fn named(metric: &ServedMetric) -> NamedMetric<'_> {
    NamedMetric {
        name: metric.spec.external.as_ref().map_or("", |external| &external.metric.name),
        label: &metric.label,
        target: as_number(metric.target),
        is_per_replica: metric.metric_type == MetricType::AverageValue,
    }
}

fn ready_pod(index: i32, now: DateTime<Utc>) -> ObservedPod {
    ObservedPod {
        name: format!("pod-{index}"),
        phase: Phase::Running,
        is_deleting: false,
        started_at: Some(now),
        readiness: Some(Readiness { state: ReadyState::Ready, since: now }),
        own_requests: None,
        containers: Vec::new(),
    }
}
