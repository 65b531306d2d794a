//! Where replicas elect a leader, only the leader writes.

use std::time::Duration;

use tokio::time::Instant;

use super::RunRecord;
use crate::environment::leases;
use crate::request_log::LoggedRequest;

/// How long after its last renewal a leader may still write: the renew deadline, and the duration of a request.
const WRITES_WITHIN: Duration = Duration::from_secs(11);

/// How long it may take a leader to notice that another holds the lease: the time between two renewals.
const NOTICES_WITHIN: Duration = Duration::from_secs(3);

pub(super) fn only_the_leader_writes(record: &RunRecord) -> Vec<String> {
    if record.scenario.operators == 1 {
        return Vec::new();
    }
    let held = lease_history(record);
    let violating = record.entries.iter().filter(|entry| entry.is_write()).filter(|entry| !may_write(&held, entry));
    let describe = |entry: &LoggedRequest| {
        let at = record.since_start(entry.issued_at).as_secs_f64();
        format!("at {at:.1} s {} wrote without leading: {}", entry.replica, entry.line)
    };
    violating.map(describe).collect()
}

/// The holders of the lease, and when each wrote it.
fn lease_history(record: &RunRecord) -> Vec<(Instant, String)> {
    let leases = leases();
    let written = record.changes.iter().filter(|change| change.resource == leases);
    let held = written.filter_map(|change| {
        let holder = change.after["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty())?;
        Some((record.instant(change), holder.to_owned()))
    });
    held.collect()
}

fn may_write(held: &[(Instant, String)], entry: &LoggedRequest) -> bool {
    let before = || held.iter().filter(|(at, _)| *at <= entry.issued_at);
    let own = before().filter(|(_, holder)| *holder == entry.replica).map(|(at, _)| *at).next_back();
    let Some(own) = own else { return false };
    let taken = before().find(|(at, holder)| *at > own && *holder != entry.replica).map(|(at, _)| *at);
    let renewed = entry.issued_at.duration_since(own) <= WRITES_WITHIN;
    renewed && taken.is_none_or(|taken| entry.issued_at.duration_since(taken) <= NOTICES_WITHIN)
}
