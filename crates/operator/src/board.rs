//! The board: the newest reading of every trigger, in memory, and the one place where sources are asked.
//!
//! The scale loop and the metrics API read through it. Whoever comes while a source is being asked waits for that answer;
//! a query counts at most one failure, whoever asked. A trigger that cannot be built keeps the metrics it is known to have,
//! and fails them.

pub mod composite;
mod metric;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_api::ScaledObject;
use kedge_api::scaled_object::Fallback;
use kedge_core::formula::settings::Composite;
use kedge_scalers::Scaler;
use tokio::time::Instant;

use crate::credentials::Resolved;
use crate::push::Push;
use crate::telemetry::Telemetry;
use kedge_cluster::Clock;
use kedge_cluster::ObjectKey;
pub use metric::{ExternalMetric, Failure, Reading};

/// A reading of at most this age is as good as a new one.
pub const FRESH: Duration = Duration::from_secs(1);

/// The readings of all objects.
#[derive(Debug, Default)]
pub struct Board {
    objects: RwLock<HashMap<ObjectKey, Arc<ObjectBoard>>>,
}

/// The triggers of one object, built for one generation of it.
#[derive(Debug)]
pub struct ObjectBoard {
    pub key: ObjectKey,
    pub uid: String,
    pub generation: i64,
    pub fallback: Option<Fallback>,
    /// Shared with the board before, where nothing changed for them.
    pub triggers: Vec<Arc<BoardTrigger>>,
    /// The one metric that the HPA sees in place of the external ones, where there is a formula.
    pub composite: Option<Composite>,
    pub telemetry: Arc<Telemetry>,
    /// The count of changes of its credentials for which it was built.
    pub credentials: u64,
    /// When credentials end, or are to be tried again.
    pub refresh_at: Option<Instant>,
    /// Set when another board took its place: a query that ends later is no news.
    pub retired: AtomicBool,
}

/// One trigger.
#[derive(Debug)]
pub struct BoardTrigger {
    pub index: usize,
    pub kind: String,
    pub name: Option<String>,
    pub scaler: Result<Arc<dyn Scaler>, NotBuilt>,
    /// Its metrics as the HPA wants them: what the scaler says, or else said when it was last asked.
    pub specs: Vec<MetricSpec>,
    /// Those of them that are external.
    pub metrics: Vec<Arc<ExternalMetric>>,
    pub service: Service,
    /// Its source, listened to, where it tells by itself.
    pub push: Option<Arc<Push>>,
    /// What it was built with.
    pub credentials: Resolved,
}

/// Why there is no scaler for a trigger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBuilt {
    /// It stays so until somebody changes the object, or what it refers to.
    #[error("{0}")]
    Mistake(String),
    /// The source did not say which metrics it has; it is asked again at the next poll.
    #[error("{0}")]
    NoAnswer(String),
}

/// From where the metrics API answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// From the source, unless a fresh reading is there.
    Live,
    /// From the last poll.
    LastPoll,
}

impl Board {
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<ObjectBoard>> {
        self.objects.read().expect("nobody panics holding it").get(key).cloned()
    }

    pub fn put(&self, key: ObjectKey, object: Arc<ObjectBoard>) {
        retire(self.objects.write().expect("nobody panics holding it").insert(key, object));
    }

    pub fn clear(&self) {
        let old = std::mem::take(&mut *self.objects.write().expect("nobody panics holding it"));
        old.into_values().for_each(|old| drop(retire(Some(old))));
    }

    pub fn remove(&self, key: &ObjectKey) -> Option<Arc<ObjectBoard>> {
        retire(self.objects.write().expect("nobody panics holding it").remove(key))
    }
}

fn retire(old: Option<Arc<ObjectBoard>>) -> Option<Arc<ObjectBoard>> {
    old.inspect(|old| old.retired.store(true, Ordering::Relaxed))
}

impl ObjectBoard {
    /// Whether it was built for this object as it is now.
    pub fn fits(&self, object: &ScaledObject) -> bool {
        Some(self.generation) == object.metadata.generation && Some(&self.uid) == object.metadata.uid.as_ref()
    }

    /// Every external metric, with its trigger.
    pub fn metrics(&self) -> impl Iterator<Item = (&Arc<BoardTrigger>, &Arc<ExternalMetric>)> {
        self.triggers.iter().flat_map(|trigger| trigger.metrics.iter().map(move |metric| (trigger, metric)))
    }

    /// Whether a trigger of this position and type is there, and which.
    pub fn trigger(&self, index: usize, kind: &str) -> Option<&Arc<BoardTrigger>> {
        self.triggers.iter().find(|trigger| trigger.index == index && trigger.kind == kind)
    }

    /// Whether a source has told something by itself that nobody has looked at.
    pub fn has_news(&self) -> bool {
        self.triggers.iter().filter_map(|trigger| trigger.push.as_ref()).any(|push| push.has_news())
    }

    /// The triggers that could be built.
    pub fn built(&self) -> Vec<usize> {
        self.triggers.iter().filter(|trigger| trigger.scaler.is_ok()).map(|trigger| trigger.index).collect()
    }

    /// Whether any trigger could be built.
    pub fn is_built_at_all(&self) -> bool {
        self.triggers.iter().any(|trigger| trigger.scaler.is_ok())
    }

    /// The failures after which the fallback counts, if there is one.
    fn threshold(&self) -> i32 {
        self.fallback.as_ref().map_or(0, |fallback| fallback.failure_threshold)
    }

    /// A reading of at most this age, or a new one.
    pub async fn read(
        self: &Arc<Self>,
        trigger: &Arc<BoardTrigger>,
        metric: &Arc<ExternalMetric>,
        age_max: Duration,
        clock: &Clock,
    ) -> Reading {
        match &trigger.scaler {
            Ok(scaler) => {
                let ask = || self.ask(trigger, metric, scaler, clock);
                metric.last_or_asked(age_max, ask).await
            }
            Err(why) => metric.last().unwrap_or_else(|| Reading::not_built(why, clock)),
        }
    }

    /// Asks the source. Once begun, a query goes on to its end and counts, though nobody may wait for it any more.
    fn ask(
        self: &Arc<Self>,
        trigger: &Arc<BoardTrigger>,
        metric: &Arc<ExternalMetric>,
        scaler: &Arc<dyn Scaler>,
        clock: &Clock,
    ) -> futures::future::BoxFuture<'static, Reading> {
        let (board, trigger, metric, scaler) = (self.clone(), trigger.clone(), metric.clone(), scaler.clone());
        let clock = clock.clone();
        let query = tokio::spawn(async move {
            let (started, wall) = (Instant::now(), clock.now());
            let answer = scaler.read(&metric.name, wall).await.map_err(Failure::Source);
            let reading = Reading { answer, at: Instant::now(), wall, took: started.elapsed() };
            board.take(&trigger, &metric, &reading);
            reading
        });
        query.map(|ended| ended.unwrap_or_else(|broken| std::panic::resume_unwind(broken.into_panic()))).boxed()
    }

    /// Counts a look at each trigger that is not built as a failure of its metrics.
    pub fn fail_unbuilt(&self, clock: &Clock) {
        for (trigger, metric) in self.metrics() {
            if let Err(why) = &trigger.scaler {
                self.take(trigger, metric, &Reading::not_built(why, clock));
            }
        }
    }

    fn take(&self, trigger: &BoardTrigger, metric: &ExternalMetric, reading: &Reading) {
        metric.take(reading, self.threshold());
        if !self.retired.load(Ordering::Relaxed) {
            self.telemetry.read(&self.key, trigger, metric, reading);
        }
    }
}

#[cfg(test)]
mod tests;
