//! The history of one object.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use kedge_api::names::COMPOSITE_METRIC;
use kedge_core::activity::Activity;
use kedge_core::conditions::FallbackState;
use kedge_core::decide::words::explain_hold;
use kedge_core::decide::{Decision, Hold};
use kedge_core::fallback::MetricType;
use kedge_core::hpa::explain::NamedMetric;
use kedge_dashboard::view::{Actor, ObjectState, Step};

use super::series::ThinnedSeries;
use super::{HistorySettings, PollRecord, step};
use crate::cluster_cache::Stabilized;
use crate::scalers_cache::{ObjectScalers, Reading};

/// One poll.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) at: DateTime<Utc>,
    pub(super) replicas: Option<i32>,
    pub(super) ready: Option<i32>,
    pub(super) state: ObjectState,
    /// In the order of the metrics.
    pub(super) values: Box<[Option<f64>]>,
}

/// A metric, with its newest reading.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Metric {
    pub(super) name: String,
    /// The name of the trigger, or its type.
    pub(super) label: String,
    pub(super) target: f64,
    pub(super) is_per_replica: bool,
    pub(super) value: Option<f64>,
    pub(super) error: Option<String>,
    pub(super) read_at: Option<DateTime<Utc>>,
    pub(super) is_active: bool,
}

#[derive(Debug)]
pub(super) struct ObjectHistory {
    pub(super) samples: ThinnedSeries<Sample>,
    pub(super) steps: VecDeque<Step>,
    entries: Arc<AtomicU64>,
    steps_max: usize,
    pub(super) metrics: Vec<Metric>,
    /// The target of the formula, if there is one, and whether it is for each replica.
    formula: Option<(f64, bool)>,
    /// The replicas that were seen last.
    pub(super) replicas: Option<i32>,
    /// The ready ones, once a watch has reported them.
    pub(super) ready: Option<i32>,
    /// Whether the HPA controller waits.
    stabilized: Option<Stabilized>,
    pub(super) state: ObjectState,
    /// When the cooldown ends, if it runs.
    pub(super) cooldown_until: Option<DateTime<Utc>>,
    pub(super) next_poll_at: Option<DateTime<Utc>>,
    /// The name of the last decision.
    decision: &'static str,
}

impl ObjectHistory {
    pub(super) fn new(settings: HistorySettings, entries: Arc<AtomicU64>) -> Self {
        Self {
            samples: ThinnedSeries::new(settings.samples_max),
            steps: VecDeque::new(),
            entries,
            steps_max: settings.steps_max.max(1),
            metrics: Vec::new(),
            formula: None,
            replicas: None,
            ready: None,
            stabilized: None,
            state: ObjectState::Waiting,
            cooldown_until: None,
            next_poll_at: None,
            decision: "",
        }
    }

    pub(super) fn record_poll(&mut self, now: DateTime<Utc>, poll: &PollRecord<'_>) {
        self.take_readings(now, poll.scalers);
        self.next_poll_at =
            now.checked_add_signed(TimeDelta::from_std(poll.scalers.polling_interval).unwrap_or_default());
        let was_in_fallback = self.state == ObjectState::Fallback;
        self.state = state(poll);
        match (was_in_fallback, self.state == ObjectState::Fallback) {
            (false, true) => self.push(step(
                now,
                Actor::Kedge,
                None,
                "fallback",
                "a source failed too often: the fallback takes its place",
            )),
            (true, false) => self.push(step(now, Actor::Kedge, None, "fallback ended", "the sources answer again")),
            _ => {}
        }
        self.ready = poll.ready.or(self.ready);
        self.note_hold(now, poll.decision);
        // After a step the target has other replicas than those that were decided on.
        let replicas = match poll.decision {
            Decision::ScaleTo { replicas, .. } => Some(replicas),
            Decision::Hold(_) => poll.replicas.or(self.replicas),
        };
        self.sample(now, replicas);
    }

    pub(super) fn record_paused(&mut self, now: DateTime<Utc>) {
        self.state = ObjectState::Paused;
        self.note_hold(now, Decision::Hold(Hold::Paused));
        self.next_poll_at = None;
        self.sample(now, self.replicas);
    }

    fn sample(&mut self, at: DateTime<Utc>, replicas: Option<i32>) {
        let values = self.metrics.iter().map(|metric| metric.value).collect();
        self.samples.push(Sample { at, replicas, ready: self.ready, state: self.state, values });
    }

    /// Notes the desired replicas, as they were found; returns those before.
    pub(super) fn note_watched(&mut self, now: DateTime<Utc>, replicas: i32) -> Option<i32> {
        let before = self.note_replicas(replicas);
        if before.is_some_and(|before| before != replicas) {
            self.sample_between_polls(now);
        }
        before
    }

    /// Notes the ready replicas.
    pub(super) fn note_ready(&mut self, now: DateTime<Utc>, ready: i32) {
        if self.ready.replace(ready) != Some(ready) {
            self.sample_between_polls(now);
        }
    }

    /// The charts have each change of replicas when it happened.
    fn sample_between_polls(&mut self, now: DateTime<Utc>) {
        if !self.samples.as_slice().is_empty() {
            self.sample(now, self.replicas);
        }
    }

    /// Notes whether the HPA controller waits, and logs when it begins to.
    pub(super) fn note_stabilized(&mut self, now: DateTime<Utc>, stabilized: Option<Stabilized>) {
        if std::mem::replace(&mut self.stabilized, stabilized) == stabilized {
            return;
        }
        let (name, reason) = match stabilized {
            Some(Stabilized::ScaleIn) => {
                ("waits to scale in", "its metrics needed more lately; the stabilization window ends first")
            }
            Some(Stabilized::ScaleOut) => {
                ("waits to scale out", "its metrics needed less lately; the stabilization window ends first")
            }
            None => return,
        };
        self.push(step(now, Actor::Hpa, None, name, reason));
    }

    /// Logs a decision not to scale, where it is another one than before.
    fn note_hold(&mut self, now: DateTime<Utc>, decision: Decision) {
        self.cooldown_until = match decision {
            Decision::Hold(Hold::CoolingDown { until }) => Some(until),
            _ => None,
        };
        let Decision::Hold(hold) = decision else { return };
        let explanation = explain_hold(hold);
        let before = std::mem::replace(&mut self.decision, explanation.name);
        // That the HPA decides once the target is activated, and that nothing is left to do at zero, goes without saying.
        let follows = matches!(
            (before, hold),
            ("trigger active" | "forced active" | "below minimum", Hold::LeftToHpa)
                | ("cooldown passed", Hold::AtMinimum)
        );
        if before != explanation.name && !follows {
            let until = self.cooldown_until.map(|until| format!(", at {}", until.format("%H:%M:%S")));
            let reason = format!("{}{}", explanation.meaning, until.unwrap_or_default());
            self.push(step(now, Actor::Kedge, None, explanation.name, reason));
        }
    }

    /// Notes the name of a decision to scale.
    pub(super) fn note_decision(&mut self, name: &'static str) {
        self.decision = name;
    }

    /// Notes the replicas; returns those before.
    pub(super) fn note_replicas(&mut self, replicas: i32) -> Option<i32> {
        self.replicas.replace(replicas)
    }

    pub(super) fn push(&mut self, step: Step) {
        if self.steps.len() >= self.steps_max {
            self.steps.pop_front();
        }
        let id = self.entries.fetch_add(1, Ordering::Relaxed) + 1;
        self.steps.push_back(Step { id, ..step });
    }

    /// Takes over the newest readings, and logs which sources begin to fail, and which answer again.
    pub(super) fn take_readings(&mut self, now: DateTime<Utc>, scalers: &ObjectScalers) {
        let metrics = read_metrics(scalers);
        let composite = scalers.composite.as_ref();
        self.formula = composite.map(|one| (one.target.as_f64(), one.metric_type == MetricType::AverageValue));
        if !metrics.iter().map(|metric| &metric.name).eq(self.metrics.iter().map(|metric| &metric.name)) {
            self.reorder(&metrics);
        }
        let before = std::mem::replace(&mut self.metrics, metrics);
        let mut steps = Vec::new();
        for metric in &self.metrics {
            let failed_before = before.iter().any(|one| one.name == metric.name && one.error.is_some());
            match (&metric.error, failed_before) {
                (Some(error), false) => {
                    steps.push(step(now, Actor::Source, None, "source fails", format!("{}: {error}", metric.label)));
                }
                (None, true) => {
                    steps.push(step(
                        now,
                        Actor::Source,
                        None,
                        "source answers",
                        format!("{} answers again", metric.label),
                    ));
                }
                _ => {}
            }
        }
        steps.into_iter().for_each(|step| self.push(step));
    }

    /// Gives the values of all samples the order of other metrics.
    fn reorder(&mut self, metrics: &[Metric]) {
        let position = |metric: &Metric| self.metrics.iter().position(|one| one.name == metric.name);
        let positions: Vec<Option<usize>> = metrics.iter().map(position).collect();
        for sample in self.samples.iter_mut() {
            sample.values = positions.iter().map(|at| at.and_then(|at| *sample.values.get(at)?)).collect();
        }
    }

    /// The labels of the metrics that are active.
    pub(super) fn active_labels(&self) -> Vec<&str> {
        self.metrics.iter().filter(|metric| metric.is_active).map(|metric| metric.label.as_str()).collect()
    }

    /// The metrics of the HPA.
    pub(super) fn named_metrics(&self) -> Vec<NamedMetric<'_>> {
        let metrics = self.metrics.iter().map(|metric| NamedMetric {
            name: &metric.name,
            label: &metric.label,
            target: metric.target,
            is_per_replica: metric.is_per_replica,
        });
        let formula = self.formula.map(|(target, is_per_replica)| NamedMetric {
            name: COMPOSITE_METRIC,
            label: "the formula",
            target,
            is_per_replica,
        });
        metrics.chain(formula).collect()
    }

    /// The readings, as the end of a sentence.
    pub(super) fn readings_in_words(&self) -> String {
        let known = self.metrics.iter().filter_map(|metric| Some((metric, metric.value?)));
        let all: Vec<String> = known.map(|(metric, value)| in_words(metric, value)).collect();
        if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
    }
}

/// `orders is at 48.2, 20 per replica`
fn in_words(metric: &Metric, value: f64) -> String {
    let per = if metric.is_per_replica { " per replica" } else { " at most" };
    format!("{} is at {}, {}{per}", metric.label, number(value), number(metric.target))
}

/// With two decimals at most.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn state(poll: &PollRecord<'_>) -> ObjectState {
    match (poll.decision, poll.scalers.fallback_state(), poll.activity) {
        (Decision::Hold(Hold::Paused), ..) => ObjectState::Paused,
        (_, FallbackState::InUse, _) => ObjectState::Fallback,
        (_, _, Activity::Active) => ObjectState::Active,
        (_, _, Activity::Inactive) => ObjectState::Inactive,
        (_, _, Activity::Unknown) => ObjectState::Unknown,
    }
}

fn read_metrics(scalers: &ObjectScalers) -> Vec<Metric> {
    let metrics = scalers.metrics().map(|(trigger, metric)| {
        let reading = metric.last();
        Metric {
            name: metric.name.clone(),
            label: trigger.name.clone().unwrap_or_else(|| trigger.trigger_type.clone()),
            target: metric.target.as_f64(),
            is_per_replica: metric.metric_type == MetricType::AverageValue,
            value: reading.as_ref().and_then(value),
            error: reading.as_ref().and_then(|reading| reading.answer.as_ref().err().map(ToString::to_string)),
            read_at: reading.as_ref().map(|reading| reading.wall),
            is_active: reading.as_ref().is_some_and(Reading::is_active)
                || trigger.push.as_ref().is_some_and(|push| push.is_active()),
        }
    });
    metrics.collect()
}

/// What the HPA makes of the values of a reading: their sum.
fn value(reading: &Reading) -> Option<f64> {
    reading.answer.as_ref().ok().map(|known| known.values.iter().sum())
}
