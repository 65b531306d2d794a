//! Leader election: the next action on the Lease that the replicas share, by client-go's rules, so that other clients can
//! share the Lease.
//!
//! Clocks differ, so the times in a Lease are for people to read. A holder that stopped is recognised by a Lease that no
//! longer changes: the lease duration counts from when *we* last saw it change.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

/// The spec of a Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// `None` if it was released or never held.
    pub holder: Option<String>,
    pub term: Option<Duration>,
    pub acquired_at: Option<DateTime<Utc>>,
    pub renewed_at: Option<DateTime<Utc>>,
    pub transitions: i32,
}

/// A Lease, and when we first saw it in this state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedLease {
    pub record: LeaseRecord,
    pub since: Instant,
}

impl ObservedLease {
    /// The observation after another read: a Lease that did not change keeps its age.
    #[must_use]
    pub fn after(before: Option<Self>, record: LeaseRecord, now: Instant) -> Self {
        match before {
            Some(before) if before.record == record => before,
            _ => Self { record, since: now },
        }
    }
}

/// How long a Lease is valid, how long its holder tries to renew it, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTiming {
    pub lease_duration: Duration,
    pub renew_deadline: Duration,
    pub retry_period: Duration,
}

impl Default for LeaseTiming {
    // KEDA: its defaults, and those of Kubernetes' own controllers.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease_duration: seconds(15), renew_deadline: seconds(10), retry_period: seconds(2) }
    }
}

/// What to do with the Lease next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseAction {
    /// There is none: create this one.
    Create(LeaseRecord),
    /// It is ours, or free, or its term is over: write this.
    Write(LeaseRecord),
    /// Another replica holds it until then at least.
    Wait { until: Instant },
}

/// Chooses the next action.
pub fn next_action(
    seen: Option<&ObservedLease>,
    me: &str,
    timing: LeaseTiming,
    now: Instant,
    wall: DateTime<Utc>,
) -> LeaseAction {
    let fresh = |transitions| LeaseRecord {
        holder: Some(me.to_owned()),
        term: Some(timing.lease_duration),
        acquired_at: Some(wall),
        renewed_at: Some(wall),
        transitions,
    };
    let Some(ObservedLease { record, since }) = seen else { return LeaseAction::Create(fresh(0)) };
    match record.holder.as_deref().filter(|holder| !holder.is_empty()) {
        Some(holder) if holder == me => {
            let acquired_at = record.acquired_at.or(Some(wall));
            LeaseAction::Write(LeaseRecord { acquired_at, ..fresh(record.transitions) })
        }
        Some(_) if *since + record.term.unwrap_or(timing.lease_duration) > now => {
            LeaseAction::Wait { until: *since + record.term.unwrap_or(timing.lease_duration) }
        }
        _ => LeaseAction::Write(fresh(record.transitions.saturating_add(1))),
    }
}

/// The released Lease: another replica may acquire it at once.
pub fn released(record: &LeaseRecord, wall: DateTime<Utc>) -> LeaseRecord {
    LeaseRecord {
        holder: None,
        // Kubernetes does not accept a duration of zero.
        term: Some(Duration::from_secs(1)),
        acquired_at: Some(wall),
        renewed_at: Some(wall),
        transitions: record.transitions,
    }
}

/// Whether a holder that renewed the Lease at this instant may still act. It stops well before another replica may start.
pub fn may_lead(renewed: Instant, timing: LeaseTiming, now: Instant) -> bool {
    now < renewed + timing.renew_deadline
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[allow(clippy::disallowed_methods)] // any origin will do
    fn origin() -> Instant {
        Instant::now()
    }

    fn held(holder: &str, since: Instant) -> ObservedLease {
        let record = LeaseRecord {
            holder: Some(holder.to_owned()),
            term: Some(Duration::from_secs(15)),
            acquired_at: Some(DateTime::UNIX_EPOCH),
            renewed_at: Some(DateTime::UNIX_EPOCH),
            transitions: 4,
        };
        ObservedLease { record, since }
    }

    #[test]
    fn each_state_of_the_lease_has_its_action() {
        let (start, wall) = (origin(), DateTime::UNIX_EPOCH + chrono::TimeDelta::seconds(100));
        let after = |seconds| start + Duration::from_secs(seconds);
        let unheld = ObservedLease { record: LeaseRecord { transitions: 4, ..LeaseRecord::default() }, since: start };
        let given_up = ObservedLease {
            record: LeaseRecord { holder: Some(String::new()), ..unheld.record.clone() },
            since: start,
        };
        let rows = [
            ("none is created", None, after(0), "create 0"),
            ("ours is renewed", Some(held("me", start)), after(0), "write 4"),
            ("ours is renewed, also late", Some(held("me", start)), after(100), "write 4"),
            ("another's is waited for", Some(held("you", start)), after(14), "wait"),
            ("another's whose term is over is taken", Some(held("you", start)), after(15), "write 5"),
            ("a free one is taken", Some(unheld), after(0), "write 5"),
            ("a released one is taken", Some(given_up), after(0), "write 5"),
        ];
        for (name, seen, now, expected) in rows {
            let word = match next_action(seen.as_ref(), "me", LeaseTiming::default(), now, wall) {
                LeaseAction::Create(record) => format!("create {}", record.transitions),
                LeaseAction::Write(record) => {
                    let ours = seen.as_ref().is_some_and(|seen| seen.record.holder.as_deref() == Some("me"));
                    assert_eq!(record.acquired_at == Some(wall), !ours, "{name}: when it was acquired stays");
                    assert_eq!((record.renewed_at, record.holder.as_deref()), (Some(wall), Some("me")), "{name}");
                    format!("write {}", record.transitions)
                }
                LeaseAction::Wait { until } => {
                    assert_eq!(until, after(15), "{name}");
                    "wait".to_owned()
                }
            };
            assert_eq!(word, expected, "{name}");
        }
    }

    #[test]
    fn a_released_lease_is_free_at_once() {
        let (start, wall) = (origin(), DateTime::UNIX_EPOCH);
        let seen = ObservedLease { record: released(&held("you", start).record, wall), since: start };
        assert!(matches!(next_action(Some(&seen), "me", LeaseTiming::default(), start, wall), LeaseAction::Write(_)));
    }

    proptest! {
        /// Whatever the wall clocks show, and whenever the two read the Lease, they never both act.
        #[test]
        fn two_replicas_never_lead_at_once(
            renewals in proptest::collection::vec(0..3_000_u64, 1..20),
            looks in proptest::collection::vec(0..60_000_u64, 1..200),
            skew in -100_000..100_000_i64,
        ) {
            let (start, timing) = (origin(), LeaseTiming::default());
            let at = |millis: u64| start + Duration::from_millis(millis);
            // The holder renews for a while, then is cut off and stops acting by its own clock.
            let mut times = vec![0];
            renewals.iter().for_each(|pause| times.push(times.last().copied().unwrap_or(0) + pause));
            let record = |millis: u64| LeaseRecord {
                renewed_at: DateTime::from_timestamp_millis(i64::try_from(millis).unwrap() + skew),
                ..held("you", start).record
            };
            let mut looks = looks;
            looks.sort_unstable();
            let mut seen = None;
            for look in looks {
                let renewed = times.iter().copied().filter(|time| *time <= look).max().unwrap_or(0);
                let sight = ObservedLease::after(seen.take(), record(renewed), at(look));
                if let LeaseAction::Write(_) = next_action(Some(&sight), "me", timing, at(look), DateTime::UNIX_EPOCH) {
                    prop_assert!(!may_lead(at(renewed), timing, at(look)));
                    break;
                }
                seen = Some(sight);
            }
        }
    }
}
