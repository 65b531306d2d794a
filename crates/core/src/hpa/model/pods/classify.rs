//! Which pods count toward a metric per pod.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

use super::{ObservedPod, Phase, Readiness, ReadyState};
use crate::hpa::model::samples::{PodSample, PodSamples};
use crate::hpa::model::settings::Settings;

/// The pods by how their samples count.
#[derive(Debug, Default)]
pub(in crate::hpa::model) struct Classes<'a> {
    pub(in crate::hpa::model) ready_count: usize,
    pub(in crate::hpa::model) unready: BTreeSet<&'a str>,
    pub(in crate::hpa::model) missing: BTreeSet<&'a str>,
    pub(in crate::hpa::model) ignored: BTreeSet<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Ready,
    Unready,
    Missing,
    Ignored,
}

/// Sorts the pods for a metric. `resource` is absent for metrics that are no resource.
pub(in crate::hpa::model) fn classify<'a>(
    pods: &'a [ObservedPod],
    samples: &PodSamples,
    resource: Option<&str>,
    settings: &Settings,
    now: DateTime<Utc>,
) -> Classes<'a> {
    let mut classes = Classes::default();
    for pod in pods {
        match class_of(pod, samples.get(&pod.name), resource, settings, now) {
            Class::Ready => classes.ready_count += 1,
            Class::Unready => drop(classes.unready.insert(&pod.name)),
            Class::Missing => drop(classes.missing.insert(&pod.name)),
            Class::Ignored => drop(classes.ignored.insert(&pod.name)),
        }
    }
    classes
}

fn class_of(
    pod: &ObservedPod,
    sample: Option<&PodSample>,
    resource: Option<&str>,
    settings: &Settings,
    now: DateTime<Utc>,
) -> Class {
    match (pod.phase, sample) {
        _ if pod.is_deleting => Class::Ignored,
        (Phase::Failed, _) => Class::Ignored,
        (Phase::Pending, _) => Class::Unready,
        (_, None) => Class::Missing,
        // HPA: readiness matters to cpu alone; of other metrics every sample counts.
        (_, Some(sample)) if resource == Some("cpu") && !cpu_counts(pod, sample, settings, now) => Class::Unready,
        (_, Some(_)) => Class::Ready,
    }
}

/// Whether a sample of cpu measures the load, and not the start of the pod.
fn cpu_counts(pod: &ObservedPod, sample: &PodSample, settings: &Settings, now: DateTime<Utc>) -> bool {
    let (Some(Readiness { state, since }), Some(started_at)) = (pod.readiness, pod.started_at) else { return false };
    if ends_after(started_at, settings.cpu_initialization_period, now) {
        state != ReadyState::Unready && !ends_after(since, sample.window, sample.measured_at)
    } else {
        // Unready since its first moments: it has never been ready.
        state != ReadyState::Unready || !ends_after(started_at, settings.initial_readiness_delay, since)
    }
}

/// Whether the time that starts at `from` is still running at `at`. Its last instant no longer belongs to it.
fn ends_after(from: DateTime<Utc>, length: TimeDelta, at: DateTime<Utc>) -> bool {
    from.checked_add_signed(length).is_none_or(|end| end > at)
}
