//! What happened to each object lately, for people to look at: its readings and replicas over time, and each change with who made it and
//! why. It is kept where a dashboard is served, and costs nothing elsewhere.
//!
//! | module | what it holds |
//! |---|---|
//! | `series` | samples in bounded memory |
//! | `object` | the history of one object |
//! | `foreign` | replicas that Kedge did not change: by the HPA, or by others |
//! | `view` | all of it as the dashboard shows it |

mod foreign;
mod object;
mod series;
mod view;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};

use chrono::{DateTime, Utc};
use kedge_cluster::{Clock, ObjectKey};
use kedge_core::activity::Activity;
use kedge_core::decide::Decision;
use kedge_core::decide::words::explain_cause;
use kedge_dashboard::view::{Actor, Step};
use tokio::sync::Notify;

use self::foreign::ForeignChange;
use self::object::ObjectHistory;
pub use self::view::OperatorView;
use crate::cluster_cache::{ScalingObserver, Stabilized, WatchedReplicas};
use crate::leadership::Leadership;
use crate::scalers_cache::ObjectScalers;

/// How much is kept of each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistorySettings {
    /// How many samples; each takes about 80 bytes, and 16 for each metric.
    pub samples_max: usize,
    /// How many changes; each takes about 250 bytes.
    pub steps_max: usize,
}

/// The histories of all objects.
#[derive(Debug)]
pub struct Histories {
    settings: HistorySettings,
    clock: Clock,
    objects: Mutex<BTreeMap<ObjectKey, ObjectHistory>>,
    /// A standby polls nothing, and keeps nothing.
    leadership: Arc<Leadership>,
    /// Numbers the entries of all logs.
    entries: Arc<AtomicU64>,
    /// Changes that are to be attributed.
    foreign: Mutex<Vec<ForeignChange>>,
    has_foreign: Notify,
}

/// One poll of an object.
pub(crate) struct PollRecord<'a> {
    pub(crate) scalers: &'a ObjectScalers,
    pub(crate) replicas: Option<i32>,
    pub(crate) ready: Option<i32>,
    pub(crate) activity: Activity,
    pub(crate) decision: Decision,
}

impl Histories {
    pub fn new(settings: HistorySettings, clock: Clock, leadership: Arc<Leadership>) -> Arc<Self> {
        let (objects, foreign) = (Mutex::default(), Mutex::default());
        Arc::new(Self {
            settings,
            clock,
            objects,
            leadership,
            entries: Arc::default(),
            foreign,
            has_foreign: Notify::new(),
        })
    }

    /// Drops all histories: the next leader keeps its own.
    pub(crate) fn clear(&self) {
        self.lock().clear();
        self.foreign.lock().expect("no holder panics").clear();
    }

    /// Records a poll: its readings, and what was decided on them.
    pub(crate) fn record_poll(&self, key: &ObjectKey, poll: &PollRecord<'_>) {
        if let (Some(replicas), Decision::Hold(_)) = (poll.replicas, poll.decision) {
            self.note_desired(key, replicas);
        }
        let now = self.clock.now();
        self.change(key, |history| history.record_poll(now, poll));
    }

    /// Records that Kedge scaled the target.
    pub(crate) fn record_scaled(&self, scalers: &ObjectScalers, (from, to): (i32, i32), decision: Decision) {
        let Decision::ScaleTo { because, .. } = decision else { return };
        let now = self.clock.now();
        self.change(&scalers.key, |history| {
            history.take_readings(now, scalers);
            let active = history.active_labels();
            let explanation = explain_cause(because, &active);
            let reason = format!("{}{}", explanation.meaning, history.readings_in_words());
            history.note_decision(explanation.name);
            history.note_replicas(to);
            history.push(step(now, Actor::Kedge, Some((from, to)), explanation.name, reason));
        });
    }

    /// Records replicas that were set without a decision: those of a pause, or the original ones.
    pub(crate) fn record_set(&self, key: &ObjectKey, (from, to): (i32, i32)) {
        let now = self.clock.now();
        self.change(key, |history| {
            history.note_replicas(to);
            history.push(step(
                now,
                Actor::Kedge,
                Some((from, to)),
                "replicas set",
                "as the pause, or the deletion, asks",
            ));
        });
    }

    /// Records a full pause.
    pub(crate) fn record_paused(&self, key: &ObjectKey) {
        let now = self.clock.now();
        self.change(key, |history| history.record_paused(now));
    }

    /// Drops the history of an object that is gone.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.lock().remove(key);
    }

    fn change(&self, key: &ObjectKey, change: impl FnOnce(&mut ObjectHistory)) {
        if !self.leadership.leads() {
            return;
        }
        change(
            self.lock().entry(key.clone()).or_insert_with(|| ObjectHistory::new(self.settings, self.entries.clone())),
        );
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, ObjectHistory>> {
        self.objects.lock().expect("no holder panics")
    }
}

impl ScalingObserver for Histories {
    fn note_replicas(&self, key: &ObjectKey, replicas: WatchedReplicas) {
        self.note_desired(key, replicas.desired);
        let now = self.clock.now();
        self.change(key, |history| history.note_ready(now, replicas.ready));
    }

    fn note_stabilized(&self, key: &ObjectKey, stabilized: Option<Stabilized>) {
        let now = self.clock.now();
        self.change(key, |history| history.note_stabilized(now, stabilized));
    }
}

impl Histories {
    /// Notes the desired replicas of a target. Who changed them is found out later.
    fn note_desired(&self, key: &ObjectKey, replicas: i32) {
        let now = self.clock.now();
        let mut from = None;
        self.change(key, |history| from = history.note_watched(now, replicas));
        if let Some(from) = from.filter(|from| *from != replicas) {
            self.foreign.lock().expect("no holder panics").push(ForeignChange {
                key: key.clone(),
                at: now,
                from,
                to: replicas,
            });
            self.has_foreign.notify_one();
        }
    }
}

/// An entry of a log. It gets its number when it is added.
fn step(
    at: DateTime<Utc>,
    by: Actor,
    change: Option<(i32, i32)>,
    name: impl Into<String>,
    reason: impl Into<String>,
) -> Step {
    Step { id: 0, at: at.timestamp_millis(), by, change, name: name.into(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: HistorySettings = HistorySettings { samples_max: 100, steps_max: 3 };

    #[test]
    fn only_a_leader_keeps_histories_and_only_so_much() {
        let leadership = Arc::new(Leadership::default());
        let histories = Histories::new(SETTINGS, Clock::System, leadership.clone());
        let key = ObjectKey::scaled_object("shop", "web");
        (0..100).for_each(|replicas| histories.note_desired(&key, replicas));
        assert!(histories.lock().is_empty() && histories.foreign.lock().unwrap().is_empty(), "a standby keeps nothing");
        leadership.become_leader();
        histories.note_desired(&key, 1);
        histories.note_desired(&key, 1);
        assert!(histories.foreign.lock().unwrap().is_empty(), "nothing has changed");
        histories.note_desired(&key, 4);
        assert_eq!(histories.foreign.lock().unwrap().len(), 1);
        (0..10).for_each(|replicas| histories.record_set(&key, (replicas, replicas + 1)));
        let kept: Vec<u64> = histories.lock()[&key].steps.iter().map(|step| step.id).collect();
        assert_eq!(kept, [8, 9, 10], "the newest");
        leadership.become_standby();
        histories.clear();
        assert!(histories.lock().is_empty() && histories.foreign.lock().unwrap().is_empty());
    }

    /// As docs/dashboard.md states it, for an object with one metric.
    #[test]
    fn an_object_takes_about_45_kib() {
        /// The heap of a sample: a value, and what the allocator adds.
        const VALUES_BYTES: usize = 32;
        /// The texts of a change.
        const TEXT_BYTES: usize = 170;
        let (samples, steps) = (360, 50);
        let bytes = samples * (size_of::<object::Sample>() + VALUES_BYTES) + steps * (size_of::<Step>() + TEXT_BYTES);
        assert!((35 << 10..=45 << 10).contains(&bytes), "{bytes} bytes");
    }
}
