//! Proposals from an amount per pod: Resource, ContainerResource and Pods metrics. They are computed in two steps:
//! from the pods that count, and again with assumptions for the others that reduce the change.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::convert::to_i32;
use super::external::Proposal;
use super::pods::{Classes, ObservedPod, PodsError, classify, requests_of};
use super::samples::PodSamples;
use super::settings::Settings;
use super::tolerance::Tolerances;
use crate::milli::Milli;

/// The input of all proposals per pod.
#[derive(Clone, Copy, Debug)]
pub struct PerPodInput<'a> {
    pub pods: &'a [ObservedPod],
    pub samples: &'a PodSamples,
    pub current: i32,
    pub tolerances: Tolerances,
    pub settings: &'a Settings,
    pub now: DateTime<Utc>,
}

/// A resource of pods, or of one container of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource<'a> {
    pub name: &'a str,
    pub container: Option<&'a str>,
}

/// A proposal that compares usage with requests. The reported numbers come from the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtilisationProposal {
    pub replicas: i32,
    pub reported_percent: i32,
    pub reported_average: Milli,
}

/// The proposal for an `averageUtilization` target.
pub fn propose_by_utilisation(
    seen: PerPodInput<'_>,
    resource: Resource<'_>,
    target_percent: i32,
) -> Result<UtilisationProposal, PodsError> {
    let (classes, values) = first_values(seen, Some(resource.name))?;
    let gate = seen.settings.gates.pod_level_resources;
    let requests = requests_of(seen.pods, resource.name, resource.container, gate)?;
    let utilisation = Utilisation { requests, target_percent };
    let (replicas, first) = propose(seen, &classes, values, &utilisation)?;
    Ok(UtilisationProposal { replicas, reported_percent: first.level, reported_average: Milli(first.average) })
}

/// The proposal for an `averageValue` target. `resource` is absent for metrics that are no resource.
pub fn propose_by_usage(seen: PerPodInput<'_>, resource: Option<&str>, target: Milli) -> Result<Proposal, PodsError> {
    let (classes, values) = first_values(seen, resource)?;
    let (replicas, first) = propose(seen, &classes, values, &Usage { target: target.0 })?;
    Ok(Proposal { replicas, reported: Milli(first.average) })
}

/// Amounts by pod, measured or assumed.
type Values<'a> = BTreeMap<&'a str, i64>;

/// How a set of amounts compares with the target.
#[derive(Clone, Copy, Debug)]
struct Measure {
    ratio: f64,
    average: i64,
    /// The utilisation in percent, where the target is one.
    level: i32,
}

/// What a target compares amounts with.
trait Target {
    fn measure(&self, values: &Values<'_>) -> Result<Measure, PodsError>;

    /// What a pod without a sample is assumed to use when fewer replicas seem enough.
    fn assumed_use(&self, pod: &str) -> i64;
}

struct Utilisation<'a> {
    requests: BTreeMap<&'a str, i64>,
    target_percent: i32,
}

impl Target for Utilisation<'_> {
    fn measure(&self, values: &Values<'_>) -> Result<Measure, PodsError> {
        let pairs = || values.iter().filter_map(|(pod, value)| Some((*value, *self.requests.get(pod)?)));
        let used = pairs().map(|(value, _)| value).fold(0, i64::wrapping_add);
        let requested = pairs().map(|(_, request)| request).fold(0, i64::wrapping_add);
        if requested == 0 {
            return Err(PodsError::NothingMatched);
        }
        // HPA: integer percents, cut off: 55.9 % of a target of 50 % is still within a tenth.
        let level = used.wrapping_mul(100).wrapping_div(requested) as i32;
        let average = used / pairs().count().max(1) as i64;
        Ok(Measure { ratio: f64::from(level) / f64::from(self.target_percent), average, level })
    }

    fn assumed_use(&self, pod: &str) -> i64 {
        let request = self.requests.get(pod).copied().unwrap_or_default();
        request.wrapping_mul(i64::from(self.target_percent.max(100))) / 100
    }
}

struct Usage {
    target: i64,
}

impl Target for Usage {
    fn measure(&self, values: &Values<'_>) -> Result<Measure, PodsError> {
        let average = values.values().copied().fold(0, i64::wrapping_add) / values.len().max(1) as i64;
        Ok(Measure { ratio: average as f64 / self.target as f64, average, level: 0 })
    }

    fn assumed_use(&self, _pod: &str) -> i64 {
        self.target
    }
}

/// The classes of the pods, and the samples that count.
fn first_values<'a>(seen: PerPodInput<'a>, resource: Option<&str>) -> Result<(Classes<'a>, Values<'a>), PodsError> {
    if seen.pods.is_empty() {
        return Err(PodsError::NoPods);
    }
    let classes = classify(seen.pods, seen.samples, resource, seen.settings, seen.now);
    let counts = |pod: &str| !classes.ignored.contains(pod) && !classes.unready.contains(pod);
    let samples = seen.samples.iter().map(|(pod, sample)| (pod.as_str(), sample.amount.0));
    let values: Values<'a> = samples.filter(|(pod, _)| counts(pod)).collect();
    if values.is_empty() { Err(PodsError::NoSamples) } else { Ok((classes, values)) }
}

/// The replicas to propose, and the measure of the first step.
fn propose<'a>(
    seen: PerPodInput<'a>,
    classes: &Classes<'a>,
    mut values: Values<'a>,
    target: &impl Target,
) -> Result<(i32, Measure), PodsError> {
    let first = target.measure(&values)?;
    let up_despite_unready = !classes.unready.is_empty() && first.ratio > 1.0;
    if !up_despite_unready && classes.missing.is_empty() {
        let unchanged = seen.tolerances.contain(first.ratio);
        // HPA: the ratio is applied to the pods that count, not to the current replicas.
        let replicas = if unchanged { seen.current } else { scale(first.ratio, classes.ready_count) };
        return Ok((replicas, first));
    }
    for pod in &classes.missing {
        if first.ratio < 1.0 {
            values.insert(pod, target.assumed_use(pod));
        } else if first.ratio > 1.0 {
            values.insert(pod, 0);
        }
    }
    if up_despite_unready {
        values.extend(classes.unready.iter().map(|pod| (*pod, 0)));
    }
    let second = target.measure(&values)?;
    Ok((second_opinion(seen, first.ratio, second.ratio, values.len()), first))
}

/// The change that remains when pods without samples are assumed to counteract it.
fn second_opinion(seen: PerPodInput<'_>, first: f64, second: f64, count: usize) -> i32 {
    let turned = (first < 1.0 && second > 1.0) || (first > 1.0 && second < 1.0);
    if turned || seen.tolerances.contain(second) {
        return seen.current;
    }
    let replicas = scale(second, count);
    let against = (second < 1.0 && replicas > seen.current) || (second > 1.0 && replicas < seen.current);
    if against { seen.current } else { replicas }
}

fn scale(ratio: f64, count: usize) -> i32 {
    to_i32((ratio * count as f64).ceil())
}
