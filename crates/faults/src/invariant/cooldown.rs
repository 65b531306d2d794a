//! A target is scaled to zero after its cooldown: not before, and not long after.

use std::time::Duration;

use tokio::time::Instant;

use super::{RunRecord, Step, describe};
use crate::fault::Fault;

/// How late a step may be: two polls, and the start of a process.
const LATE_MAX: Duration = Duration::from_secs(95);

/// The time between two polls: activity that only the HPA controller read in between does not count.
const POLL: Duration = Duration::from_secs(30);

/// Checked only where sources respond: a poll without a response sees no activity either.
pub(super) fn not_before_cooldown(record: &RunRecord) -> Vec<String> {
    let failing = record.has(|fault| matches!(fault, Fault::Source { .. }));
    let Some(cooldown) = checked_cooldown(record).filter(|_| !failing) else { return Vec::new() };
    let broken = scaled_to_zero(record).filter_map(|step| {
        let quiet_for = step.issued_at.duration_since(last_active(record, step.issued_at)?);
        let early = quiet_for + POLL + Duration::from_secs(1) < cooldown;
        early.then(|| format!("{} only {} s after it was last active", describe(record, &step), quiet_for.as_secs()))
    });
    broken.collect()
}

/// Checked only where processes alone fail: other faults delay a step for longer.
pub(super) fn not_long_after_cooldown(record: &RunRecord) -> Vec<String> {
    let others =
        |fault: &Fault| !matches!(fault, Fault::Crash { .. } | Fault::Kill { .. } | Fault::ConcurrentWrite { .. });
    let Some(cooldown) = checked_cooldown(record).filter(|_| !record.has(others)) else { return Vec::new() };
    let downtime: Duration = record.faults.iter().map(downtime).sum();
    let broken = scaled_to_zero(record).filter_map(|step| {
        let late = step.issued_at.duration_since(last_active(record, step.issued_at)?).checked_sub(cooldown)?;
        (late > LATE_MAX + downtime).then(|| format!("{}, {} s too late", describe(record, &step), late.as_secs()))
    });
    broken.collect()
}

/// The cooldown, where it is checked and the clock was not adjusted.
fn checked_cooldown(record: &RunRecord) -> Option<Duration> {
    let set = record.has(|fault| matches!(fault, Fault::Clock { .. }));
    record.scenario.expects.cooldown.filter(|_| !set)
}

fn downtime(fault: &Fault) -> Duration {
    match fault {
        Fault::Crash { downtime, .. } | Fault::Kill { downtime, .. } => *downtime,
        _ => Duration::ZERO,
    }
}

/// The steps of the operator to zero.
fn scaled_to_zero(record: &RunRecord) -> impl Iterator<Item = Step<'_>> {
    record.own_steps().filter(|step| step.to == 0)
}

/// When a source last returned activity.
fn last_active(record: &RunRecord, before: Instant) -> Option<Instant> {
    let active = |value: f64| value > 0.0;
    record.served.iter().filter(|one| one.at <= before && one.value.is_some_and(active)).map(|one| one.at).next_back()
}
