//! A run: the schedule, Kedge's polls, and the list of events.

use chrono::{DateTime, TimeDelta, Utc};

use super::autoscaler::Autoscaler;
use super::event::{Change, ScaledBy, SimulationEvent};
use super::load::{Load, Reading};
use super::pods::Pods;
use super::sources::{Replicas, SourceChange, Sources};
use super::{Plan, Timing};
use crate::activity::{Activity, ActivityHistory, activity};
use crate::decide::{Current, Decision, Hold, Observation, decide};
use crate::policy::Policy;

const SECOND: TimeDelta = TimeDelta::seconds(1);

pub(super) struct Run<'a> {
    policy: Policy,
    timing: Timing,
    start_at: DateTime<Utc>,
    end_at: DateTime<Utc>,
    load: &'a dyn Load,
    plan: &'a Plan<'a>,
    autoscaler: Autoscaler<'a>,
    sources: Sources,
    pods: Pods,
    history: ActivityHistory,
    activity: Option<Activity>,
    hold: Option<Hold>,
    polled_at: Option<DateTime<Utc>>,
    waiting: Waiting,
    events: Vec<SimulationEvent>,
}

/// Whether the target has no ready pod and is about to get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    No,
    ForPod,
    /// A trigger has been active since this instant.
    WhileActive {
        since: DateTime<Utc>,
    },
}

/// What is due, in the order in which it is done at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Ready,
    Poll,
    HpaReconcile,
}

impl<'a> Run<'a> {
    pub(super) fn new(plan: &'a Plan<'a>, load: &'a dyn Load) -> Self {
        let Plan { object, hpa, start_at, length, replicas, timing } = plan;
        let timing = Timing {
            polling_interval: timing.polling_interval.max(SECOND),
            sync_period: timing.sync_period.max(SECOND),
            pod_start_up: timing.pod_start_up.max(TimeDelta::zero()),
        };
        Self {
            policy: Policy::from_spec(&object.spec, object.metadata.annotations.as_ref()),
            timing,
            start_at: *start_at,
            end_at: add(*start_at, *length),
            load,
            plan,
            autoscaler: Autoscaler::new(object.metadata.namespace.as_deref().unwrap_or("default"), hpa),
            sources: Sources::new(&object.spec, hpa),
            pods: Pods::ready_since(*start_at, *replicas, timing.pod_start_up),
            history: ActivityHistory::NeverActive { created_at: *start_at },
            activity: None,
            hold: None,
            polled_at: None,
            waiting: Waiting::No,
            events: Vec::new(),
        }
    }

    pub(super) fn finish(mut self) -> Vec<SimulationEvent> {
        let mut poll_at = self.start_at;
        let mut reconcile_at = add(self.start_at, self.timing.sync_period);
        loop {
            let ready = self.pods.first_ready_at().filter(|_| self.waiting != Waiting::No);
            let due = [(poll_at, Due::Poll), (reconcile_at, Due::HpaReconcile)]
                .into_iter()
                .chain(ready.map(|at| (at, Due::Ready)));
            let Some((now, due)) = due.min().filter(|(now, _)| *now < self.end_at) else {
                return self.events;
            };
            match due {
                Due::Ready => self.become_ready(now),
                Due::Poll => {
                    self.poll(now);
                    poll_at = add(now, self.timing.polling_interval);
                }
                Due::HpaReconcile => {
                    self.reconcile_hpa(now);
                    reconcile_at = add(now, self.timing.sync_period);
                }
            }
        }
    }

    fn poll(&mut self, now: DateTime<Utc>) {
        // A full pause: the sources are not queried.
        if !self.policy.overrides.is_fully_paused() {
            let (contributions, changes) = self.sources.poll(self.load.readings_at(now), self.replicas(now));
            self.record_sources(now, changes);
            let activity = activity(&contributions);
            self.history = self.history.after(activity, now);
            if self.activity.replace(activity) != Some(activity) {
                self.record(now, Change::Activity(activity));
            }
            self.track_waiting(activity, now);
        }
        self.polled_at = Some(now);
        let seen = Observation {
            activity: self.activity.unwrap_or(Activity::Unknown),
            history: self.history,
            current: Current::Replicas(self.pods.current()),
        };
        match decide(&self.policy, &seen, now) {
            Decision::ScaleTo { replicas, because } => {
                self.hold = None;
                self.scale(now, replicas, ScaledBy::Kedge(because));
            }
            Decision::Hold(hold) => {
                if self.hold.replace(hold) != Some(hold) {
                    self.record(now, Change::Hold(hold));
                }
            }
        }
    }

    fn reconcile_hpa(&mut self, now: DateTime<Utc>) {
        // A full pause removes the HPA.
        if self.policy.overrides.is_fully_paused() {
            return;
        }
        let readings = if self.autoscaler.reads_metrics(self.pods.current()) {
            let (readings, changes) =
                self.sources.serve(self.plan.hpa, &self.load.readings_at(now), self.replicas(now));
            self.record_sources(now, changes);
            readings
        } else {
            vec![]
        };
        let reconciled = self.autoscaler.reconcile(&readings, &self.pods, now);
        if let Some((to, by)) = reconciled.rescaled {
            self.scale(now, to, by);
        }
        for change in reconciled.changes {
            self.record(now, change);
        }
    }

    /// Tracks since when an active trigger waits for a pod.
    fn track_waiting(&mut self, activity: Activity, now: DateTime<Utc>) {
        match (activity, self.waiting) {
            (Activity::Active, Waiting::No | Waiting::ForPod) if self.pods.ready(now) == 0 => {
                self.waiting = Waiting::WhileActive { since: self.find_activation(now) };
            }
            (Activity::Inactive, Waiting::WhileActive { .. }) => {
                self.waiting = if self.pods.current() > 0 { Waiting::ForPod } else { Waiting::No };
            }
            _ => {}
        }
    }

    /// When the activity that this poll found began, to the second.
    fn find_activation(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let contributions = |readings: Vec<Reading>| readings.iter().map(|one| one.contribution).collect::<Vec<_>>();
        let is_active = |at: &DateTime<Utc>| activity(&contributions(self.load.readings_at(*at))) == Activity::Active;
        let Some(polled_at) = self.polled_at else { return now };
        let seconds = std::iter::successors(Some(add(polled_at, SECOND)), |at| Some(add(*at, SECOND)));
        seconds.take_while(|at| *at < now).find(is_active).unwrap_or(now)
    }

    fn become_ready(&mut self, now: DateTime<Utc>) {
        let waited = match std::mem::replace(&mut self.waiting, Waiting::No) {
            Waiting::WhileActive { since } => Some(now - since),
            Waiting::ForPod | Waiting::No => None,
        };
        self.record(now, Change::Ready { waited });
    }

    fn scale(&mut self, now: DateTime<Utc>, to: i32, by: ScaledBy) {
        let from = self.pods.current();
        self.pods.scale(to, now);
        self.waiting = match self.waiting {
            Waiting::ForPod if to == 0 => Waiting::No,
            Waiting::No if to > 0 && self.pods.ready(now) == 0 => Waiting::ForPod,
            waiting => waiting,
        };
        self.record(now, Change::Replicas { from, to, by });
    }

    fn replicas(&self, now: DateTime<Utc>) -> Replicas {
        Replicas { current: self.pods.current(), ready: self.pods.ready(now) }
    }

    fn record_sources(&mut self, now: DateTime<Utc>, changes: Vec<SourceChange>) {
        for (trigger, state) in changes {
            self.record(now, Change::Source { trigger, state });
        }
    }

    fn record(&mut self, at: DateTime<Utc>, what: Change) {
        let Replicas { current, ready } = self.replicas(at);
        self.events.push(SimulationEvent { at, current, ready, what });
    }
}

fn add(at: DateTime<Utc>, delta: TimeDelta) -> DateTime<Utc> {
    at.checked_add_signed(delta).unwrap_or(DateTime::<Utc>::MAX_UTC)
}
