//! The sources as Kedge serves them: counts failures, applies fallbacks, keeps cached readings.

use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscalerSpec, MetricSpec};
use kedge_api::scaled_object::{Fallback, ScaledObjectSpec};

use super::event::SourceState;
use super::load::Reading;
use crate::activity::Contribution;
use crate::fallback::{self, Failures, MetricType, QueryOutcome};
use crate::hpa::model::metric::MetricReading;
use crate::milli::Milli;
use crate::quantity::Quantity;

#[derive(Debug)]
pub(super) struct Sources {
    fallback: Option<Fallback>,
    sources: Vec<Source>,
    targets: Vec<Target>,
}

/// The source of one trigger.
#[derive(Debug)]
struct Source {
    failures: Failures,
    state: SourceState,
    reading_age: ReadingAge,
    polled: Option<Reading>,
}

/// Which reading the HPA gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadingAge {
    Fresh,
    /// `useCachedMetrics`: as of the last poll.
    LastPoll,
}

/// What the HPA compares a metric with.
#[derive(Debug)]
struct Target {
    metric: String,
    metric_type: MetricType,
    amount: Milli,
}

/// The pods that a fallback may depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replicas {
    pub(super) current: i32,
    pub(super) ready: i32,
}

/// A change in the state of a source.
pub(super) type SourceChange = (usize, SourceState);

impl Sources {
    pub(super) fn new(spec: &ScaledObjectSpec, hpa: &HorizontalPodAutoscalerSpec) -> Self {
        let source = |cached: Option<bool>| Source {
            failures: Failures::default(),
            state: SourceState::Healthy,
            reading_age: if cached == Some(true) { ReadingAge::LastPoll } else { ReadingAge::Fresh },
            polled: None,
        };
        Self {
            fallback: fallback::usable_fallback(spec).cloned(),
            sources: spec.triggers.iter().map(|trigger| source(trigger.use_cached_metrics)).collect(),
            targets: hpa.metrics.iter().flatten().filter_map(Target::from_spec).collect(),
        }
    }

    /// What each trigger contributes to a poll.
    pub(super) fn poll(
        &mut self,
        readings: Vec<Reading>,
        replicas: Replicas,
    ) -> (Vec<Contribution>, Vec<SourceChange>) {
        let changes = self.record(&readings, replicas, |_| true);
        let contribute = |(source, reading): (&mut Source, Reading)| {
            let contribution = match (reading.contribution, &source.state) {
                (Contribution::Unknown, SourceState::InFallback { replicas }) => {
                    Contribution::FallenBack { replicas: *replicas }
                }
                (contribution, _) => contribution,
            };
            source.polled = Some(reading);
            contribution
        };
        (self.sources.iter_mut().zip(readings).map(contribute).collect(), changes)
    }

    /// The reading of each metric of the HPA.
    pub(super) fn serve(
        &mut self,
        hpa: &HorizontalPodAutoscalerSpec,
        readings: &[Reading],
        replicas: Replicas,
    ) -> (Vec<MetricReading>, Vec<SourceChange>) {
        // KEDA: polls and requests of the HPA both count failures.
        let changes = self.record(readings, replicas, |source| source.reading_age == ReadingAge::Fresh);
        let served = hpa.metrics.iter().flatten().map(|metric| self.serve_one(metric, readings, replicas)).collect();
        (served, changes)
    }

    fn serve_one(&self, metric: &MetricSpec, readings: &[Reading], replicas: Replicas) -> MetricReading {
        let Some(external) = &metric.external else {
            return MetricReading::Pods(Err(format!("{} metrics are not simulated", metric.type_)));
        };
        let name = &external.metric.name;
        let reading = self.sources.iter().zip(readings).find_map(|(source, fresh)| {
            let reading = match source.reading_age {
                ReadingAge::Fresh => fresh,
                ReadingAge::LastPoll => source.polled.as_ref().unwrap_or(fresh),
            };
            let measured = reading.metrics.iter().find(|measured| measured.metric == *name)?;
            Some((source, &measured.value))
        });
        MetricReading::Series(match reading {
            Some((_, Ok(value))) => Ok(vec![*value]),
            Some((source, Err(error))) => {
                self.substitute(source, name, replicas).map(|value| vec![value]).ok_or_else(|| error.clone())
            }
            None => Err(format!("no trigger has the metric {name}")),
        })
    }

    /// Counts failed queries, and tracks the states of the sources.
    fn record(
        &mut self,
        readings: &[Reading],
        replicas: Replicas,
        queried: impl Fn(&Source) -> bool,
    ) -> Vec<SourceChange> {
        let threshold = self.fallback.as_ref().map_or(0, |fallback| fallback.failure_threshold);
        let mut changes = Vec::new();
        for (index, reading) in readings.iter().enumerate().take(self.sources.len()) {
            if !queried(&self.sources[index]) {
                continue;
            }
            let failed = reading.metrics.iter().find_map(|measured| Some((measured, measured.value.as_ref().err()?)));
            let outcome = if failed.is_some() { QueryOutcome::Failed } else { QueryOutcome::Answered };
            self.sources[index].failures = self.sources[index].failures.after(outcome, threshold);
            let state = match failed {
                None => SourceState::Healthy,
                Some((measured, error)) => match self.fallback_replicas(index, &measured.metric, replicas) {
                    Some(replicas) => SourceState::InFallback { replicas },
                    None => SourceState::Failing { error: error.clone() },
                },
            };
            if self.sources[index].state != state {
                self.sources[index].state = state.clone();
                changes.push((index, state));
            }
        }
        changes
    }

    fn fallback_replicas(&self, index: usize, metric: &str, seen: Replicas) -> Option<i32> {
        let source = self.sources.get(index)?;
        self.substitute(source, metric, seen)?;
        fallback::replicas(self.fallback.as_ref()?, Some(seen.current)).ok()
    }

    /// The substitute value of a metric whose source failed more often than the threshold.
    fn substitute(&self, source: &Source, metric: &str, seen: Replicas) -> Option<Milli> {
        let fallback = self.fallback.as_ref().filter(|fallback| source.failures.exceed_threshold(fallback))?;
        let target = self.targets.iter().find(|target| target.metric == metric)?;
        let replicas = fallback::replicas(fallback, Some(seen.current)).ok()?;
        fallback::substitute(replicas, target.amount, target.metric_type, Some(seen.ready)).ok()
    }
}

impl Target {
    fn from_spec(metric: &MetricSpec) -> Option<Self> {
        let external = metric.external.as_ref()?;
        let (metric_type, text) = match (&external.target.average_value, &external.target.value) {
            (Some(text), _) => (MetricType::AverageValue, text),
            (None, Some(text)) => (MetricType::Value, text),
            (None, None) => return None,
        };
        let amount = Milli(Quantity::parse(&text.0).ok()?.milli_value());
        Some(Self { metric: external.metric.name.clone(), metric_type, amount })
    }
}
