//! HorizontalPodAutoscalers: when each is reconciled, and what the controller remembers of it. Every decision comes from
//! the exact model of the real controller; here is only what surrounds it.
//!
//! | module | what it holds |
//! |---|---|
//! | `schedule` | when which autoscaler is due |
//! | `reconcile` | one reconcile of one autoscaler: read, decide, write |
//! | `target` | the scale of the target, whatever its kind |
//! | `metrics` | what the metrics APIs answer |
//! | `request` | questions to APIs, and their errors in the words of the controller's client |
//! | `report` | status and events |
//!
//! Left out against the real controller: metrics of pods and objects (`custom.metrics.k8s.io`), and the merging of
//! events that say the same.

mod metrics;
mod reconcile;
mod report;
mod request;
mod schedule;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::LazyLock;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kedge_core::hpa::model::history::ScalingHistory;
use kedge_core::hpa::model::reconcile::Outcome;
use kedge_core::hpa::model::settings::Settings;
use tokio::time::Instant;

use super::client::{ControllerClient, ObjectKey, wait};
use crate::api::resource::Gvr;
use crate::plane::Plane;
use crate::storage::store::ChangeType;
use reconcile::HpaContext;
use schedule::Schedule;

/// Who the controller is to the plane.
pub const IDENTITY: &str = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";

static AUTOSCALERS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("autoscaling", "v2", "horizontalpodautoscalers"));

/// How many autoscalers are reconciled concurrently.
const WORKERS: usize = 5;

/// The HPA controller.
#[derive(Debug)]
pub struct HpaController {
    context: HpaContext,
    schedule: Schedule,
    /// The scaling history of each autoscaler. One that is deleted is forgotten when its next reconcile is due, so that one
    /// of the same name that takes its place before inherits it, as with the real controller.
    histories: BTreeMap<ObjectKey, ScalingHistory>,
    /// The last revision that was processed.
    seen: u64,
}

impl HpaController {
    pub fn new(plane: &Plane, settings: Settings) -> Self {
        let period = settings.sync_period.to_std().unwrap_or(Duration::from_secs(15));
        Self {
            context: HpaContext::new(ControllerClient::new(plane, IDENTITY), settings),
            schedule: Schedule::new(period),
            histories: BTreeMap::new(),
            seen: 0,
        }
    }

    /// Reconciles every autoscaler at its sync period, until it is dropped.
    pub async fn run(self) -> Infallible {
        let Self { context, mut schedule, mut histories, mut seen } = self;
        let mut revision = context.plane().revision();
        // Reconciles borrow only the controller's context, while everything else continues.
        let (context, mut reconciles, mut busy) = (&context, FuturesUnordered::new(), BTreeSet::new());
        loop {
            seen = notice(context, &mut schedule, seen, revision.see());
            while reconciles.len() < WORKERS
                && let Some(key) = schedule.take_due(&busy)
            {
                let history = histories.remove(&key).unwrap_or_default();
                busy.insert(key.clone());
                reconciles.push(async move { (context.reconcile(&key, history).await, key) });
            }
            let next_at = if reconciles.len() < WORKERS { schedule.next_at(&busy) } else { None };
            tokio::select! {
                biased;
                Some((outcome, key)) = reconciles.next() => {
                    busy.remove(&key);
                    settle(&mut schedule, &mut histories, key, outcome.as_ref());
                }
                () = wait(&mut revision, next_at) => {}
            }
        }
    }

    /// Reconciles one autoscaler now, out of its period; none if there is no such autoscaler. A caller that uses this instead of
    /// [`run`](Self::run) decides when to reconcile.
    pub async fn reconcile(&mut self, namespace: &str, name: &str) -> Option<Outcome> {
        let newest = self.context.plane().revision().see();
        self.seen = notice(&self.context, &mut self.schedule, self.seen, newest);
        let key = ObjectKey::new(namespace, name);
        let history = self.histories.remove(&key).unwrap_or_default();
        let outcome = self.context.reconcile(&key, history).await;
        settle(&mut self.schedule, &mut self.histories, key, outcome.as_ref());
        outcome
    }
}

/// Learns which autoscalers came, changed and went; answers with the revision up to which that is known.
fn notice(context: &HpaContext, schedule: &mut Schedule, seen: u64, newest: u64) -> u64 {
    let now = Instant::now();
    let Some(changes) = context.plane().changes_since(seen) else {
        for key in context.autoscalers() {
            context.register(&key);
            schedule.request(key, now);
        }
        return newest;
    };
    for change in changes.iter().filter(|change| change.resource == *AUTOSCALERS) {
        let key = ObjectKey::new(change.namespace.as_deref().unwrap_or_default(), &change.name);
        if change.change_type == ChangeType::Deleted {
            context.forget(&key);
        } else {
            context.register(&key);
            schedule.request(key, now);
        }
    }
    changes.last().map_or(newest, |change| change.revision)
}

/// Stores the history and schedules the next reconcile, unless there was no autoscaler.
fn settle(
    schedule: &mut Schedule,
    histories: &mut BTreeMap<ObjectKey, ScalingHistory>,
    key: ObjectKey,
    outcome: Option<&Outcome>,
) {
    if let Some(outcome) = outcome {
        histories.insert(key.clone(), outcome.history.clone());
        schedule.request(key, Instant::now());
    }
}
