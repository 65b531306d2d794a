//! Where replicas elect a leader, only the leader writes.

use std::time::Duration;

use tokio::time::Instant;

use super::Evidence;
use crate::journal::Entry;
use crate::lab::leases;

/// How long after its last renewal a leader may still act: the time within which it must renew, and the way of a request.
const ACTS_WITHIN: Duration = Duration::from_secs(11);

/// How long it may take a leader to hear that another has taken the lease: the pause between two renewals.
const HEARS_WITHIN: Duration = Duration::from_secs(3);

pub(super) fn only_the_leader_writes(evidence: &Evidence) -> Vec<String> {
    if evidence.scenario.operators == 1 {
        return Vec::new();
    }
    let held = lease_history(evidence);
    let wrong = evidence.entries.iter().filter(|entry| entry.is_write()).filter(|entry| !may_write(&held, entry));
    let told = |entry: &Entry| {
        let at = evidence.since_start(entry.issued_at).as_secs_f64();
        format!("at {at:.1} s {} wrote without leading: {}", entry.replica, entry.line)
    };
    wrong.map(told).collect()
}

/// Who wrote the lease as its holder, and when.
fn lease_history(evidence: &Evidence) -> Vec<(Instant, String)> {
    let leases = leases();
    let written = evidence.changes.iter().filter(|change| change.resource == leases);
    let held = written.filter_map(|change| {
        let holder = change.after["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty())?;
        Some((evidence.instant(change), holder.to_owned()))
    });
    held.collect()
}

fn may_write(held: &[(Instant, String)], entry: &Entry) -> bool {
    let before = || held.iter().filter(|(at, _)| *at <= entry.issued_at);
    let own = before().filter(|(_, holder)| *holder == entry.replica).map(|(at, _)| *at).next_back();
    let Some(own) = own else { return false };
    let taken = before().find(|(at, holder)| *at > own && *holder != entry.replica).map(|(at, _)| *at);
    let renewed = entry.issued_at.duration_since(own) <= ACTS_WITHIN;
    renewed && taken.is_none_or(|taken| entry.issued_at.duration_since(taken) <= HEARS_WITHIN)
}
