//! The totals of a run.

use chrono::TimeDelta;

use super::Plan;
use super::event::{Change, SimulationEvent};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The most replicas there were at once.
    pub replicas_max: i32,
    /// Replica time: the sum over all replicas.
    pub used: TimeDelta,
    /// Replica time if there had always been `replicas_max`.
    pub always_on: TimeDelta,
    /// The time scaled to zero.
    pub at_zero: TimeDelta,
    /// How often the replicas changed.
    pub changes: usize,
    /// The longest time from an active trigger at zero ready pods to the first ready pod.
    pub waited_max: Option<TimeDelta>,
}

impl Summary {
    pub fn from_events(plan: &Plan<'_>, events: &[SimulationEvent]) -> Self {
        let mut summary = Self {
            replicas_max: plan.replicas,
            used: TimeDelta::zero(),
            always_on: TimeDelta::zero(),
            at_zero: TimeDelta::zero(),
            changes: 0,
            waited_max: None,
        };
        let (mut since, mut replicas) = (plan.start_at, plan.replicas);
        for event in events {
            match &event.what {
                Change::Replicas { to, .. } => {
                    summary.add(replicas, event.at - since);
                    (since, replicas) = (event.at, *to);
                    summary.changes += 1;
                    summary.replicas_max = summary.replicas_max.max(*to);
                }
                Change::Ready { waited } => summary.waited_max = summary.waited_max.max(*waited),
                _ => {}
            }
        }
        summary.add(replicas, plan.length - (since - plan.start_at));
        summary.always_on = times(plan.length, summary.replicas_max);
        summary
    }

    fn add(&mut self, replicas: i32, time: TimeDelta) {
        self.used = self.used.checked_add(&times(time, replicas)).unwrap_or(TimeDelta::MAX);
        if replicas == 0 {
            self.at_zero += time;
        }
    }
}

fn times(time: TimeDelta, replicas: i32) -> TimeDelta {
    time.checked_mul(replicas).unwrap_or(TimeDelta::MAX)
}
