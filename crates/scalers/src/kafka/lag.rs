//! From offsets to a lag: pure.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// For how long the committed offset of a partition must have stayed the same before its lag counts as persistent. Consumers commit
/// every 5 seconds unless they are configured otherwise; HPAs read every 15, and polls are 30 seconds apart.
pub(super) const PERSISTENT_AFTER: Duration = Duration::from_secs(10);

/// What is known about one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartitionOffsets {
    pub(super) topic: Arc<str>,
    pub(super) index: i32,
    /// None where the group has committed none.
    pub(super) committed: Option<i64>,
    /// That of the next message.
    pub(super) latest: i64,
    /// That of the first message that is kept, where it is known.
    pub(super) first: Option<i64>,
}

/// How a lag is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LagRules {
    /// The lag that one replica is for; above 0.
    pub(super) threshold: i64,
    pub(super) reset_policy: ResetPolicy,
    pub(super) uncommitted: Uncommitted,
    pub(super) distribution: Distribution,
    pub(super) limit: ReplicaLimit,
}

/// Where a group begins that has committed no offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResetPolicy {
    Latest,
    Earliest,
}

/// Whether partitions without a committed offset count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uncommitted {
    Counts,
    IsZero,
}

/// For how many replicas there can be work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplicaLimit {
    /// Any number: some may be idle.
    None,
    /// One for each partition.
    Partitions,
    /// One for each partition with a lag.
    PartitionsWithLag,
}

/// Which numbers of replicas are aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    Any,
    /// Those that the partitions can be divided by.
    Even,
}

/// The lag of all partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lag {
    /// What the HPA gets.
    pub(super) value: i64,
    /// What the activation threshold is compared with: neither limited, nor without persistent lag.
    pub(super) whole: i64,
}

/// Since when partitions have had the committed offset that they have.
#[derive(Debug, Default)]
pub(super) struct Progress(HashMap<(Arc<str>, i32), (i64, Instant)>);

/// The lag of some partitions. With a progress, lag that persists has no effect on the value.
pub(super) fn lag(
    partitions: &[PartitionOffsets],
    rules: LagRules,
    progress: Option<&mut Progress>,
    now: Instant,
) -> Lag {
    let persists = match progress {
        Some(progress) => progress.observe(partitions, now),
        None => vec![false; partitions.len()],
    };
    let (mut counted, mut whole, mut with_lag) = (0_i64, 0_i64, 0);
    for (partition, persists) in partitions.iter().zip(persists) {
        let lag = partition_lag(partition, rules);
        whole = whole.saturating_add(lag);
        if !persists {
            counted = counted.saturating_add(lag);
            with_lag += i64::from(lag > 0);
        }
    }
    let count = i64::try_from(partitions.len()).unwrap_or(i64::MAX);
    Lag { value: limited(counted, count, with_lag, rules), whole }
}

/// The lag of one partition. It is negative where the group is ahead, because messages are gone.
fn partition_lag(partition: &PartitionOffsets, rules: LagRules) -> i64 {
    match (partition.committed, rules.uncommitted, rules.reset_policy) {
        (Some(committed), _, _) => partition.latest.saturating_sub(committed),
        (None, Uncommitted::IsZero, _) => 0,
        // KEDA: one, so that a consumer is started, and commits.
        (None, Uncommitted::Counts, ResetPolicy::Latest) => 1,
        // KEDA: what is kept; the first offset may have moved past the last one that was read before.
        (None, Uncommitted::Counts, ResetPolicy::Earliest) => {
            partition.latest.saturating_sub(partition.first.unwrap_or(0)).max(0)
        }
    }
}

fn limited(lag: i64, partitions: i64, with_lag: i64, rules: LagRules) -> i64 {
    let lag = match rules.distribution {
        Distribution::Any => lag,
        // KEDA: also without any lag this is one replica at least.
        Distribution::Even => even_replicas(lag, partitions, rules.threshold).saturating_mul(rules.threshold),
    };
    let replicas_max = match rules.limit {
        ReplicaLimit::None => return lag,
        ReplicaLimit::Partitions => partitions,
        ReplicaLimit::PartitionsWithLag => with_lag,
    };
    // KEDA: a division of whole numbers, so that a rest above the limit stays.
    if lag / rules.threshold > replicas_max { replicas_max.saturating_mul(rules.threshold) } else { lag }
}

/// The least divisor of the number of partitions that is enough for the lag.
fn even_replicas(lag: i64, partitions: i64, threshold: i64) -> i64 {
    let mut divisors = (1..=partitions).filter(|divisor| partitions % divisor == 0);
    divisors.find(|divisor| divisor.saturating_mul(threshold) >= lag).unwrap_or(partitions)
}

impl Progress {
    /// Notes the committed offsets. Returns for each partition whether its lag persists.
    // KEDA: compares with the reading before, and an HPA reads at any moment: the next reading may be too soon for a commit.
    fn observe(&mut self, partitions: &[PartitionOffsets], now: Instant) -> Vec<bool> {
        let before = std::mem::take(&mut self.0);
        let observe = |partition: &PartitionOffsets| {
            let Some(offset) = partition.committed else { return false };
            let key = (Arc::clone(&partition.topic), partition.index);
            let since = match before.get(&key) {
                Some((same, since)) if *same == offset => *since,
                _ => now,
            };
            self.0.insert(key, (offset, since));
            now.saturating_duration_since(since) >= PERSISTENT_AFTER
        };
        partitions.iter().map(observe).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULES: LagRules = LagRules {
        threshold: 10,
        reset_policy: ResetPolicy::Latest,
        uncommitted: Uncommitted::Counts,
        distribution: Distribution::Any,
        limit: ReplicaLimit::Partitions,
    };
    const EARLIEST: LagRules = LagRules { reset_policy: ResetPolicy::Earliest, ..RULES };
    const ZERO: LagRules = LagRules { uncommitted: Uncommitted::IsZero, ..RULES };
    const IDLE: LagRules = LagRules { limit: ReplicaLimit::None, ..RULES };
    const WITH_LAG: LagRules = LagRules { limit: ReplicaLimit::PartitionsWithLag, ..RULES };
    const EVEN: LagRules = LagRules { distribution: Distribution::Even, ..RULES };

    fn partition(index: i32, committed: i64, first: Option<i64>, latest: i64) -> PartitionOffsets {
        PartitionOffsets {
            topic: "orders".into(),
            index,
            committed: (committed >= 0).then_some(committed),
            latest,
            first,
        }
    }

    /// A committed and a latest offset for each partition; −1 is none.
    type Offsets<'a> = &'a [(i64, i64)];

    fn partitions(offsets: Offsets<'_>) -> Vec<PartitionOffsets> {
        offsets
            .iter()
            .zip(0..)
            .map(|((committed, latest), index)| partition(index, *committed, None, *latest))
            .collect()
    }

    fn count(partitions: &[PartitionOffsets], rules: LagRules) -> (i64, i64) {
        let Lag { value, whole } = lag(partitions, rules, None, Instant::now());
        (value, whole)
    }

    #[test]
    fn the_lag_is_what_was_produced_and_not_committed() {
        let rows: [(&str, Offsets<'_>, LagRules, (i64, i64)); 20] = [
            ("nothing to do", &[(7, 7)], RULES, (0, 0)),
            ("the sum of all partitions", &[(5, 9), (0, 3)], RULES, (7, 7)),
            ("a group that is ahead counts negative", &[(9, 5), (0, 6)], RULES, (2, 2)),
            ("no offset is one, so that a consumer starts", &[(-1, 90), (-1, 0)], RULES, (2, 2)),
            ("no offset is nothing, if so wished", &[(-1, 90), (4, 5)], ZERO, (1, 1)),
            ("no offset, from the beginning", &[(-1, 9), (0, 3)], EARLIEST, (12, 12)),
            (
                "no offset, from the beginning, is nothing if so wished",
                &[(-1, 90)],
                LagRules { uncommitted: Uncommitted::IsZero, ..EARLIEST },
                (0, 0),
            ),
            ("a replica for each partition at most", &[(0, 100), (0, 100)], RULES, (20, 200)),
            ("a rest below one more replica stays", &[(0, 19)], RULES, (19, 19)),
            ("one more replica is cut", &[(0, 20)], RULES, (10, 20)),
            ("idle consumers are allowed", &[(0, 100), (0, 100)], IDLE, (200, 200)),
            ("partitions without lag are no limit", &[(0, 100), (5, 5), (0, 1)], WITH_LAG, (20, 101)),
            ("no partition with lag", &[(5, 5), (9, 5)], WITH_LAG, (-4, -4)),
            ("even: two of four partitions each", &[(0, 15), (0, 0), (0, 0), (0, 0)], EVEN, (20, 15)),
            ("even: three replicas would not be", &[(0, 25), (0, 0), (0, 0), (0, 0)], EVEN, (40, 25)),
            ("even: never more than partitions", &[(0, 500), (0, 0), (0, 0), (0, 0)], EVEN, (40, 500)),
            ("even: one replica also without lag", &[(0, 0), (0, 0)], EVEN, (10, 0)),
            ("even: a prime number of partitions", &[(0, 11), (0, 0), (0, 0)], EVEN, (30, 11)),
            (
                "even, and no more than have lag",
                &[(0, 25), (0, 0)],
                LagRules { limit: ReplicaLimit::PartitionsWithLag, ..EVEN },
                (10, 25),
            ),
            ("offsets at their ends", &[(0, i64::MAX), (0, i64::MAX)], IDLE, (i64::MAX, i64::MAX)),
        ];
        for (name, offsets, rules, expected) in rows {
            assert_eq!(count(&partitions(offsets), rules), expected, "{name}");
        }
    }

    #[test]
    fn from_the_beginning_only_what_is_kept_counts() {
        let rows = [
            ("all is kept", Some(0), 9, 9),
            ("some is kept", Some(7), 9, 2),
            ("nothing is kept", Some(9), 9, 0),
            ("deleted since the end was read", Some(12), 9, 0),
            ("the beginning is not known", None, 9, 9),
        ];
        for (name, first, latest, expected) in rows {
            assert_eq!(
                count(&[partition(0, -1, first, latest)], LagRules { limit: ReplicaLimit::None, ..EARLIEST }).0,
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn lag_persists_when_offsets_stay_for_longer_than_consumers_take_to_commit() {
        let start = Instant::now();
        let mut progress = Progress::default();
        let rows: [(&str, u64, Offsets<'_>, (i64, i64)); 9] = [
            ("the first reading counts", 0, &[(5, 8), (0, 4)], (7, 7)),
            ("a reading at once is too soon for a commit", 1, &[(5, 8), (0, 4)], (7, 7)),
            ("and one within the interval of commits", 9, &[(5, 8), (0, 4)], (7, 7)),
            ("one partition went on", 10, &[(5, 8), (2, 4)], (2, 5)),
            ("more messages on the stuck one change nothing", 25, &[(5, 9), (4, 6)], (2, 6)),
            ("both are stuck", 40, &[(5, 9), (4, 6)], (0, 6)),
            ("the stuck one goes on, and counts", 41, &[(6, 9), (4, 6)], (3, 5)),
            ("a partition without an offset is never stuck", 90, &[(-1, 9)], (1, 1)),
            ("a partition that was away begins again", 99, &[(6, 9), (4, 6)], (5, 5)),
        ];
        for (name, seconds, offsets, expected) in rows {
            let now = start + Duration::from_secs(seconds);
            let Lag { value, whole } = lag(&partitions(offsets), RULES, Some(&mut progress), now);
            assert_eq!((value, whole), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn more_messages_never_mean_less_lag(
            offsets in proptest::collection::vec((-1..50_i64, 0..50_i64), 1..6), more in 0..100_i64, at: proptest::sample::Index, threshold in 1..30_i64,
            distribution in prop_oneof![Just(Distribution::Any), Just(Distribution::Even)],
        ) {
            // A limit of replicas cuts the rest that was above it, and so may lessen the lag.
            let rules = LagRules { threshold, distribution, limit: ReplicaLimit::None, ..RULES };
            let before = partitions(&offsets);
            let mut after = before.clone();
            after[at.index(offsets.len())].latest += more;
            let (before, after) = (count(&before, rules), count(&after, rules));
            prop_assert!(after.0 >= before.0 && after.1 >= before.1, "{:?} {:?}", before, after);
        }

        #[test]
        fn an_even_number_of_replicas_divides_the_partitions(count in 1..200_i64, lag in -5..5000_i64, threshold in 1..50_i64) {
            prop_assert_eq!(count % even_replicas(lag, count, threshold), 0);
        }
    }
}
