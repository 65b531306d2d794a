//! The decision how many Jobs to create. Nothing is ever decided on Jobs that could not be counted.

use super::demand::Demand;
use super::jobs::JobCounts;
use super::policy::{Bounds, JobPolicy, Strategy};

/// What to do. Users see the name of every outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobDecision {
    Create { count: i64, because: Cause },
    Hold(Hold),
}

/// Why to create Jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Fewer Jobs run than `minReplicaCount`. The queue waits for the next poll.
    BelowMinimum,
    /// The queue asks for more Jobs than there are.
    QueueLength,
}

/// Why not to create any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Paused,
    /// The Jobs could not be listed.
    JobsUnknown,
    /// No trigger is active.
    Inactive,
    /// As many Jobs run as `maxReplicaCount` allows.
    AtMaximum,
    /// The queue asks for no more Jobs than there are.
    EnoughJobs,
}

impl Cause {
    /// The name of the cause in `docs/job-decision.md`.
    pub fn name(self) -> &'static str {
        match self {
            Self::BelowMinimum => "below minimum",
            Self::QueueLength => "queue length",
        }
    }
}

impl Hold {
    /// The name of the outcome in `docs/job-decision.md`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::JobsUnknown => "Jobs unknown",
            Self::Inactive => "inactive",
            Self::AtMaximum => "at maximum",
            Self::EnoughJobs => "enough Jobs",
        }
    }
}

/// Decides how many Jobs to create. `counts` is `None` where the Jobs are not known.
pub fn decide(policy: &JobPolicy, demand: &Demand, counts: Option<JobCounts>) -> JobDecision {
    let Bounds { min, max } = policy.bounds;
    let counts = match counts {
        _ if policy.is_paused => return JobDecision::Hold(Hold::Paused),
        None => return JobDecision::Hold(Hold::JobsUnknown),
        _ if !demand.is_active => return JobDecision::Hold(Hold::Inactive),
        Some(counts) => counts,
    };
    if counts.running < min {
        return JobDecision::Create { count: min - counts.running, because: Cause::BelowMinimum };
    }
    let running = counts.running - min;
    match wanted(policy.strategy, demand, max, JobCounts { running, ..counts }) {
        count @ 1.. => JobDecision::Create { count, because: Cause::QueueLength },
        _ if running >= max => JobDecision::Hold(Hold::AtMaximum),
        _ => JobDecision::Hold(Hold::EnoughJobs),
    }
}

/// The new Jobs that a strategy asks for, below zero where there are too many. `counts` is without the Jobs of the minimum.
fn wanted(strategy: Strategy, demand: &Demand, max: i64, counts: JobCounts) -> i64 {
    let JobCounts { running, pending } = counts;
    let Demand { queue_length, jobs, .. } = *demand;
    match strategy {
        Strategy::Default => queue_length.min(jobs - running),
        Strategy::Custom { deduction, running_share } => {
            let share = (running as f64 * running_share).trunc() as i64;
            queue_length.min(jobs.saturating_sub(deduction).saturating_sub(share).min(max))
        }
        Strategy::Accurate => queue_length.min(jobs - pending).min(max - running),
        // KEDA: pending Jobs are running Jobs too, and count twice.
        Strategy::Eager => jobs.min(max - running - pending),
    }
}

#[cfg(test)]
mod tests;
