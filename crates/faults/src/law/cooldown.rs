//! The cooldown is kept: a target is laid to sleep not before it has passed, and not long after.

use std::time::Duration;

use tokio::time::Instant;

use super::{Evidence, Step, told};
use crate::fault::Fault;

/// How late a step may be: two polls, and what a process that was away needs to begin again.
const LATE_MAX: Duration = Duration::from_secs(95);

/// The time between two polls: activity that only the HPA controller asked about in between does not count.
const POLL: Duration = Duration::from_secs(30);

/// Judged only where sources answer: polls that get no answer see no activity either, and the cooldown counts from the last that
/// did.
pub(super) fn not_early(evidence: &Evidence) -> Vec<String> {
    let silent = evidence.has(|fault| matches!(fault, Fault::Source { .. }));
    let Some(cooldown) = judged(evidence).filter(|_| !silent) else { return Vec::new() };
    let broken = asleep(evidence).filter_map(|step| {
        let quiet_for = step.issued_at.duration_since(last_active(evidence, step.issued_at)?);
        let early = quiet_for + POLL + Duration::from_secs(1) < cooldown;
        early.then(|| format!("{} only {} s after it was last active", told(evidence, &step), quiet_for.as_secs()))
    });
    broken.collect()
}

/// Judged only where nothing but processes went wrong: other faults hold a step up for longer.
pub(super) fn not_late(evidence: &Evidence) -> Vec<String> {
    let others = |fault: &Fault| !matches!(fault, Fault::Crash { .. } | Fault::Kill { .. } | Fault::Meddle { .. });
    let Some(cooldown) = judged(evidence).filter(|_| !evidence.has(others)) else { return Vec::new() };
    let away: Duration = evidence.faults.iter().map(away).sum();
    let broken = asleep(evidence).filter_map(|step| {
        let late = step.issued_at.duration_since(last_active(evidence, step.issued_at)?).checked_sub(cooldown)?;
        (late > LATE_MAX + away)
            .then(|| format!("{}, {} s later than it should", told(evidence, &step), late.as_secs()))
    });
    broken.collect()
}

/// The cooldown, where it is judged and the clock was not set.
fn judged(evidence: &Evidence) -> Option<Duration> {
    let set = evidence.has(|fault| matches!(fault, Fault::Clock { .. }));
    evidence.scenario.expects.cooldown.filter(|_| !set)
}

fn away(fault: &Fault) -> Duration {
    match fault {
        Fault::Crash { away, .. } | Fault::Kill { away, .. } => *away,
        _ => Duration::ZERO,
    }
}

/// The steps by which the operator lays the target to sleep.
fn asleep(evidence: &Evidence) -> impl Iterator<Item = Step<'_>> {
    evidence.own_steps().filter(|step| step.to == 0)
}

/// When a source last said that there is work, to anybody.
fn last_active(evidence: &Evidence, before: Instant) -> Option<Instant> {
    let active = |value: f64| value > 0.0;
    evidence.served.iter().filter(|one| one.at <= before && one.value.is_some_and(active)).map(|one| one.at).next_back()
}
