//! How long the metrics API waits for a source. The HPA controller syncs a few HPAs at once, of all namespaces: while it waits for a source
//! that hangs, it scales nothing else.

use std::time::Duration;

use super::Reading;

/// A failure that took longer was slow.
const SLOW: Duration = Duration::from_secs(1);

/// After this time a query in flight counts as slow, too.
const IN_FLIGHT_SLOW: Duration = Duration::from_secs(10);

/// How long a slow source is waited for.
const WAIT_FOR_SLOW: Duration = Duration::from_millis(100);

/// How long the metrics API waits; `None` if as long as the query takes.
pub(super) fn wait_max(
    last: Option<&Reading>,
    in_flight_for: Option<Duration>,
    first_answer_limit: Duration,
) -> Option<Duration> {
    let is_slow = |reading: &Reading| reading.answer.is_err() && reading.took > SLOW;
    match last {
        Some(last) if is_slow(last) => Some(WAIT_FOR_SLOW),
        _ if in_flight_for.is_some_and(|so_far| so_far > IN_FLIGHT_SLOW) => Some(WAIT_FOR_SLOW),
        Some(_) => None,
        None => Some(first_answer_limit),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use kedge_scalers::Known;
    use tokio::time::Instant;

    use super::super::{Failure, Requester};
    use super::*;

    #[test]
    fn the_metrics_api_waits_for_sources_that_are_known_to_answer() {
        let limit = Duration::from_secs(3);
        let reading = |answer, seconds| Reading {
            answer,
            at: Instant::now(),
            wall: DateTime::UNIX_EPOCH,
            took: Duration::from_secs(seconds),
            asked_by: Requester::MetricsApi,
        };
        let (answered, failed) = (Ok(Known::above(0.0, 1.0)), Err(Failure::Late { limit }));
        let rows = [
            ("a source that was never read", None, None, Some(limit)),
            ("a slow source that answers", Some(reading(answered.clone(), 8)), None, None),
            ("a source that failed at once", Some(reading(failed.clone(), 0)), None, None),
            ("a source that was slow to fail", Some(reading(failed, 3)), None, Some(WAIT_FOR_SLOW)),
            ("a query that has just begun", Some(reading(answered.clone(), 0)), Some(1), None),
            ("a query that takes long", Some(reading(answered, 0)), Some(11), Some(WAIT_FOR_SLOW)),
            ("a first query that takes long", None, Some(11), Some(WAIT_FOR_SLOW)),
        ];
        for (name, last, in_flight, expected) in rows {
            let in_flight = in_flight.map(Duration::from_secs);
            assert_eq!(wait_max(last.as_ref(), in_flight, limit), expected, "{name}");
        }
    }
}
