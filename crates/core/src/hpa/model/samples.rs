//! What was measured of each pod, and how the metrics of a pod's containers become one sample.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::milli::Milli;

/// Samples by the name of their pod.
pub type PodSamples = BTreeMap<String, PodSample>;

/// The window of a sample whose source names none.
pub const DEFAULT_WINDOW: TimeDelta = TimeDelta::seconds(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodSample {
    pub amount: Milli,
    pub measured_at: DateTime<Utc>,
    /// The time before `measured_at` that the amount speaks of.
    pub window: TimeDelta,
}

/// One item of the resource metrics API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodUsage {
    pub pod: String,
    pub measured_at: DateTime<Utc>,
    pub window: TimeDelta,
    pub containers: Vec<ContainerUsage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUsage {
    pub name: String,
    /// Amounts by the name of their resource.
    pub usage: BTreeMap<String, Milli>,
}

/// The samples of pods, summed over their containers. A pod without containers, or with one that lacks the resource, has none.
pub fn sample_pods(items: &[PodUsage], resource: &str) -> PodSamples {
    let sum = |item: &PodUsage| {
        let amounts: Option<Vec<i64>> = item.containers.iter().map(|container| amount(container, resource)).collect();
        amounts.filter(|amounts| !amounts.is_empty()).map(|amounts| amounts.into_iter().fold(0, i64::wrapping_add))
    };
    collect(items, sum)
}

/// The samples of one container of each pod.
pub fn sample_container(items: &[PodUsage], resource: &str, container: &str) -> PodSamples {
    let find = |item: &PodUsage| {
        item.containers.iter().find(|known| known.name == container).and_then(|container| amount(container, resource))
    };
    collect(items, find)
}

fn amount(container: &ContainerUsage, resource: &str) -> Option<i64> {
    container.usage.get(resource).map(|amount| amount.0)
}

fn collect(items: &[PodUsage], amount: impl Fn(&PodUsage) -> Option<i64>) -> PodSamples {
    let sample = |item: &PodUsage| {
        let amount = Milli(amount(item)?);
        Some((item.pod.clone(), PodSample { amount, measured_at: item.measured_at, window: item.window }))
    };
    items.iter().filter_map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_a_sample_only_when_all_its_containers_do() {
        let container = |name: &str, resource: &str, amount| ContainerUsage {
            name: name.to_owned(),
            usage: BTreeMap::from([(resource.to_owned(), Milli(amount))]),
        };
        let rows = [
            (
                "containers add up",
                vec![container("main", "cpu", 300), container("side", "cpu", 50)],
                Some(350),
                Some(50),
            ),
            (
                "one that lacks the resource spoils the sum",
                vec![container("main", "memory", 1), container("side", "cpu", 50)],
                None,
                Some(50),
            ),
            ("no containers, no sample", vec![], None, None),
        ];
        for (name, containers, pod, side) in rows {
            let measured_at = DateTime::UNIX_EPOCH;
            let items = [PodUsage { pod: "p".to_owned(), measured_at, window: DEFAULT_WINDOW, containers }];
            let of = |samples: PodSamples| samples.get("p").map(|sample| sample.amount.0);
            assert_eq!(
                (of(sample_pods(&items, "cpu")), of(sample_container(&items, "cpu", "side"))),
                (pod, side),
                "{name}"
            );
        }
    }
}
