//! An object is polled in time, whatever other objects do.

use std::time::Duration;

use super::RunRecord;

/// The time that requests of a reconcile take, beside the polls.
const MARGIN: Duration = Duration::from_secs(5);

/// Between two polls of the object lies at most twice its interval.
pub(super) fn polled_within_twice_the_interval(record: &RunRecord) -> Vec<String> {
    let Some((query, interval)) = record.scenario.expects.polled_every.filter(|_| record.is_uninterrupted()) else {
        return Vec::new();
    };
    let polls: Vec<_> = record.served.iter().filter(|one| one.query == query).map(|one| one.at).collect();
    if polls.is_empty() {
        return vec!["the object was never polled".to_owned()];
    }
    let late = polls.windows(2).filter(|pair| pair[1].duration_since(pair[0]) > 2 * interval + MARGIN);
    let describe = |pair: &[tokio::time::Instant]| {
        let (at, gap) = (record.since_start(pair[0]).as_secs_f64(), pair[1].duration_since(pair[0]));
        format!("after {at:.1} s the object was not polled for {gap:?}")
    };
    late.map(describe).collect()
}
