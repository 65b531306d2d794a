//! The scalers cache: the scalers of every object, and the newest reading of every trigger. Sources are queried here alone.
//!
//! The scale loop and the metrics API read through the cache. A reader that comes while a query is in flight waits for its result;
//! a query counts at most one failure, however many readers wait for it. A trigger that cannot be built keeps the metrics that it is
//! known to have, and fails them.

pub mod composite;
mod metric;
mod waiting;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_api::names::COMPOSITE_METRIC;
use kedge_api::scaled_object::Fallback;
use kedge_cluster::{Clock, ObjectKey};
use kedge_core::conditions::FallbackState;
use kedge_core::fallback::MetricHealth;
use kedge_core::formula::settings::Composite;
use kedge_core::milli::Milli;
use kedge_scalers::observer::{GrpcCall, GrpcEvent, RequestObserver, observed};
use kedge_scalers::{Known, ReadError, Scaler};
use tokio::time::{Instant, timeout, timeout_at};

use crate::compact::Compact;
use crate::credentials::Resolved;
use crate::panics::without_panic;
use crate::push_listener::PushListener;
use crate::query_limits::{LastAnswer, QueryLimit};
use crate::telemetry::{RequestName, Telemetry, TriggerLabels};
use crate::work_queue::WorkQueue;
pub use metric::{ExternalMetric, Failure, Reading};

/// A reading of at most this age is served instead of a new query.
pub const FRESH: Duration = Duration::from_secs(1);

/// A reading of at most this age that the HPA asked for serves the scale loop, while the HPA scales. By default the HPA asks four times
/// as often.
pub const ASKED_BY_HPA: Duration = Duration::from_secs(60);

/// The scalers of all objects.
#[derive(Debug, Default)]
pub struct ScalersCache {
    objects: RwLock<HashMap<ObjectKey, Arc<ObjectScalers>>>,
}

/// The scalers of one object, built for one generation of it.
#[derive(Debug)]
pub struct ObjectScalers {
    pub key: ObjectKey,
    pub uid: String,
    pub generation: i64,
    pub fallback: Option<Fallback>,
    /// Shared with the previous entry where nothing changed for them.
    pub triggers: Vec<Arc<CachedTrigger>>,
    pub polling_interval: Duration,
    /// Whether the HPA alone decides about replicas while it scales.
    pub is_left_to_hpa: bool,
    /// How long a query may take at most, whatever timeout the trigger has.
    pub query_limit: Duration,
    /// How long the metrics API waits for the first answer of a source.
    pub first_answer_limit: Duration,
    /// The one metric that the HPA sees in place of the external ones, where there is a formula.
    pub composite: Option<Composite>,
    pub telemetry: Arc<Telemetry>,
    /// Where the object is enqueued when a reading changes what its status says.
    pub queue: Arc<WorkQueue<ObjectKey>>,
    /// The count of changes of its credentials for which it was built.
    pub credentials: u64,
    /// The term of this replica in which it was built.
    pub term: u64,
    /// When credentials expire, or are to be resolved again.
    pub refresh_at: Option<Instant>,
    /// Whether a source did not accept the credentials: those that no watch reports are resolved again.
    pub credentials_denied: AtomicBool,
    /// Set when another entry replaced this one: the result of a query that ends later is not reported.
    pub retired: AtomicBool,
}

/// One trigger.
#[derive(Debug)]
pub struct CachedTrigger {
    pub index: usize,
    pub trigger_type: String,
    pub name: Option<String>,
    pub scaler: Result<Arc<dyn Scaler>, NotBuilt>,
    /// The metrics for the HPA: as the scaler describes them, or as it last did.
    pub specs: Compact<Vec<MetricSpec>>,
    /// The external ones among them.
    pub metrics: Vec<Arc<ExternalMetric>>,
    pub service: Service,
    /// The limit of queries to its host, if it has one.
    pub query_limit: Option<Arc<QueryLimit>>,
    /// The listener of a push source.
    pub push: Option<Arc<PushListener>>,
    /// The credentials that the scaler was built with.
    pub credentials: Resolved,
}

/// Why a trigger has no scaler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBuilt {
    /// The trigger is invalid until its object, or a reference of it, changes.
    #[error("{0}")]
    Invalid(String),
    /// The source did not describe its metrics; it is queried again at the next poll.
    #[error("{0}")]
    NoAnswer(String),
}

/// From where the metrics API is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// From the source, unless a fresh reading is cached.
    Live,
    /// From the last poll.
    LastPoll,
}

/// Who asks for a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// A reconcile, which writes the status itself.
    ScaleLoop,
    /// The metrics API: a change that the status shows must be enqueued.
    MetricsApi,
}

impl Requester {
    /// Who asked, after another took the same reading.
    fn joined_by(self, other: Self) -> Self {
        if other == Requester::MetricsApi { other } else { self }
    }
}

impl ScalersCache {
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<ObjectScalers>> {
        self.objects.read().expect("no holder of the lock panics").get(key).cloned()
    }

    pub fn put(&self, object: Arc<ObjectScalers>) {
        retire(self.objects.write().expect("no holder of the lock panics").insert(object.key.clone(), object));
    }

    pub fn clear(&self) {
        let old = std::mem::take(&mut *self.objects.write().expect("no holder of the lock panics"));
        old.into_values().for_each(|old| drop(retire(Some(old))));
    }

    pub fn remove(&self, key: &ObjectKey) -> Option<Arc<ObjectScalers>> {
        retire(self.objects.write().expect("no holder of the lock panics").remove(key))
    }
}

fn retire(old: Option<Arc<ObjectScalers>>) -> Option<Arc<ObjectScalers>> {
    old.inspect(|old| old.retired.store(true, Ordering::Relaxed))
}

/// KEDA: the labels of the series about a formula.
const COMPOSITE_LABELS: TriggerLabels<'static> =
    TriggerLabels { index: 0, trigger_type: "", name: Some(COMPOSITE_METRIC), metric: COMPOSITE_METRIC };

impl CachedTrigger {
    /// Whether its source did not describe its metrics.
    pub fn is_silent(&self) -> bool {
        matches!(self.scaler, Err(NotBuilt::NoAnswer(_)))
    }

    /// The labels of a trigger without a metric of its own: cpu or memory.
    fn resource_labels(&self) -> Option<TriggerLabels<'_>> {
        (self.scaler.is_ok() && self.metrics.is_empty()).then(|| TriggerLabels {
            index: self.index,
            trigger_type: &self.trigger_type,
            name: self.name.as_deref(),
            metric: &self.trigger_type,
        })
    }

    fn labels<'a>(&'a self, metric: &'a ExternalMetric) -> TriggerLabels<'a> {
        TriggerLabels {
            index: self.index,
            trigger_type: &self.trigger_type,
            name: self.name.as_deref(),
            metric: &metric.name,
        }
    }
}

impl ObjectScalers {
    /// Whether it was built for this generation of the object.
    pub fn fits(&self, uid: Option<&str>, generation: Option<i64>) -> bool {
        Some(self.generation) == generation && Some(self.uid.as_str()) == uid
    }

    /// Every external metric, with its trigger.
    pub fn metrics(&self) -> impl Iterator<Item = (&Arc<CachedTrigger>, &Arc<ExternalMetric>)> {
        self.triggers.iter().flat_map(|trigger| trigger.metrics.iter().map(move |metric| (trigger, metric)))
    }

    /// The trigger at this index, if it has this type.
    pub fn trigger(&self, index: usize, trigger_type: &str) -> Option<&Arc<CachedTrigger>> {
        self.triggers.iter().find(|trigger| trigger.index == index && trigger.trigger_type == trigger_type)
    }

    pub(crate) fn push_listeners(&self) -> impl Iterator<Item = &Arc<PushListener>> {
        self.triggers.iter().filter_map(|trigger| trigger.push.as_ref())
    }

    /// Whether a push source reported work that no reconcile has acted on.
    pub fn is_pushed(&self) -> bool {
        self.push_listeners().any(|push| push.is_active())
    }

    /// Whether a push source announced other metrics.
    pub fn has_changed_metrics(&self) -> bool {
        self.push_listeners().any(|push| push.metrics_change().is_some())
    }

    /// Whether a source did not describe its metrics, or announced other ones.
    pub fn needs_rebuild(&self) -> bool {
        self.has_changed_metrics() || self.triggers.iter().any(|trigger| trigger.is_silent())
    }

    /// The indexes of the triggers that are built.
    pub fn built(&self) -> Vec<usize> {
        self.triggers.iter().filter(|trigger| trigger.scaler.is_ok()).map(|trigger| trigger.index).collect()
    }

    pub fn is_any_built(&self) -> bool {
        self.triggers.iter().any(|trigger| trigger.scaler.is_ok())
    }

    /// What the object's fallback does, by the newest readings: one of the metrics API counts like one of a poll.
    pub fn fallback_state(&self) -> FallbackState {
        let Some(fallback) = &self.fallback else { return FallbackState::Absent };
        if self.metrics().any(|(_, metric)| metric.failures().exceed_threshold(fallback)) {
            FallbackState::InUse
        } else if self.metrics().any(|(_, metric)| !metric.is_read()) {
            FallbackState::NotYetKnown
        } else {
            FallbackState::Idle
        }
    }

    /// Drops the series of all its metrics.
    pub fn drop_series(&self) {
        let external = self.metrics().map(|(trigger, metric)| trigger.labels(metric));
        let others = self.triggers.iter().filter_map(|trigger| trigger.resource_labels());
        let labels: Vec<_> = external.chain(others).chain([COMPOSITE_LABELS]).collect();
        self.telemetry.drop_triggers(&self.key, &labels);
    }

    /// Records which metrics were active at a poll, by name. KEDA: a metric whose activity is not known keeps its last one.
    pub fn record_active(&self, active: &BTreeMap<String, bool>) {
        let record = |labels: &TriggerLabels<'_>, is_active| self.telemetry.record_active(&self.key, labels, is_active);
        // KEDA: the HPA alone reads these, and they count as active.
        for labels in self.triggers.iter().filter_map(|trigger| trigger.resource_labels()) {
            record(&labels, true);
        }
        if let Some(is_active) = active.get(COMPOSITE_METRIC) {
            return record(&COMPOSITE_LABELS, *is_active);
        }
        for (trigger, metric) in self.metrics() {
            if let Some(is_active) = active.get(&metric.name) {
                record(&trigger.labels(metric), *is_active);
            }
        }
    }

    /// Records the value of the formula.
    pub fn record_composite(&self, value: Milli) {
        self.telemetry.record_value(&self.key, &COMPOSITE_LABELS, value.as_f64());
    }

    /// Records the value of a fallback.
    pub fn record_fallback(&self, trigger: &CachedTrigger, metric: &ExternalMetric, value: Milli) {
        self.telemetry.record_value(&self.key, &trigger.labels(metric), value.as_f64());
    }

    /// A reading of at most this age, or a new one. The metrics API does not wait for a source that hangs.
    pub async fn read(
        self: &Arc<Self>,
        trigger: &Arc<CachedTrigger>,
        metric: &Arc<ExternalMetric>,
        age_max: Duration,
        requester: Requester,
        clock: &Clock,
    ) -> Reading {
        match &trigger.scaler {
            Ok(scaler) => {
                let query = || self.query(trigger, metric, scaler, requester, clock);
                let wait_max = match requester {
                    Requester::ScaleLoop => None,
                    Requester::MetricsApi => metric.wait_max(self.first_answer_limit),
                };
                let reading = metric.cached_or_queried(age_max, requester, query);
                match wait_max {
                    None => reading.await,
                    Some(limit) => timeout(limit, reading).await.unwrap_or_else(|_| metric.not_awaited(clock)),
                }
            }
            Err(why) => metric.last().unwrap_or_else(|| Reading::not_built(why, clock)),
        }
    }

    /// Queries the source. A query runs to its end and counts, even where no reader waits for it any more.
    fn query(
        self: &Arc<Self>,
        trigger: &Arc<CachedTrigger>,
        metric: &Arc<ExternalMetric>,
        scaler: &Arc<dyn Scaler>,
        requester: Requester,
        clock: &Clock,
    ) -> futures::future::BoxFuture<'static, Reading> {
        let (scalers, trigger, metric, scaler) = (self.clone(), trigger.clone(), metric.clone(), scaler.clone());
        let clock = clock.clone();
        let query = tokio::spawn(async move {
            let (started, wall) = (Instant::now(), clock.now());
            let limit = scalers.query_limit;
            let read = without_panic(async {
                let last = metric.last_answer();
                let _permit = match &trigger.query_limit {
                    Some(limit) => Some(limit.acquire(last).await),
                    None => None,
                };
                let read = query_twice(scaler.as_ref(), &metric.name, &clock, last, started + limit);
                let (scalers, trigger, metric) = (scalers.clone(), trigger.clone(), metric.clone());
                let observer = Arc::new(QueryObserver { scalers, trigger, metric });
                observed(observer, read).await.map_err(Failure::Source)
            });
            let read = timeout(limit, read).await;
            let answer = read.map_or(Err(Failure::Late { limit }), |read| read.unwrap_or(Err(Failure::Panicked)));
            let reading = Reading { answer, at: Instant::now(), wall, took: started.elapsed(), asked_by: requester };
            scalers.record(&trigger, &metric, &reading, requester);
            reading
        });
        query.map(|ended| ended.unwrap_or_else(|broken| std::panic::resume_unwind(broken.into_panic()))).boxed()
    }

    /// Counts a poll of each trigger that is not built as a failure of its metrics.
    pub fn fail_unbuilt(&self, clock: &Clock) {
        for (trigger, metric) in self.metrics() {
            if let Err(why) = &trigger.scaler {
                self.record(trigger, metric, &Reading::not_built(why, clock), Requester::ScaleLoop);
            }
        }
    }

    fn record(&self, trigger: &CachedTrigger, metric: &ExternalMetric, reading: &Reading, requester: Requester) {
        let before = self.health(metric);
        if self.refresh_at.is_some() && reading.is_denied() {
            self.credentials_denied.store(true, Ordering::Relaxed);
        }
        metric.record(reading, self.fallback.as_ref().map_or(0, |fallback| fallback.failure_threshold));
        if self.retired.load(Ordering::Relaxed) {
            return;
        }
        let answer = reading.answer.as_ref().ok();
        self.telemetry.record_reading(&self.key, &trigger.labels(metric), answer, reading.took);
        // Without this the Fallback condition would be wrong until the next poll.
        let changed = before.zip(self.health(metric)).is_some_and(|(before, after)| before.needs_reconcile(after));
        if requester == Requester::MetricsApi && changed {
            self.queue.add_now(self.key.clone());
        }
    }

    /// What the failures of a metric mean for the fallback, where there is one.
    fn health(&self, metric: &ExternalMetric) -> Option<MetricHealth> {
        let fallback = self.fallback.as_ref()?;
        let is_read = metric.is_read();
        Some(if is_read { MetricHealth::from_failures(metric.failures(), fallback) } else { MetricHealth::NotRead })
    }
}

/// Observes the requests of a query.
struct QueryObserver {
    scalers: Arc<ObjectScalers>,
    trigger: Arc<CachedTrigger>,
    metric: Arc<ExternalMetric>,
}

impl QueryObserver {
    fn name(&self) -> RequestName<'_> {
        RequestName {
            trigger_type: &self.trigger.trigger_type,
            trigger_name: self.trigger.name.as_deref().unwrap_or_default(),
            metric: &self.metric.name,
        }
    }

    /// Whether the object may exist: the series of a deleted one must not come back.
    fn may_exist(&self) -> bool {
        !self.scalers.retired.load(Ordering::Relaxed)
    }
}

impl RequestObserver for QueryObserver {
    fn http(&self, status: Option<u16>, took: Duration) {
        if self.may_exist() {
            self.scalers.telemetry.record_http(&self.scalers.key, self.name(), status, took);
        }
    }

    fn grpc(&self, call: GrpcCall, event: GrpcEvent) {
        self.scalers.telemetry.record_grpc(&self.trigger.trigger_type, call, event);
    }

    fn empty_response(&self, ignored: bool) {
        if self.may_exist() {
            self.scalers.telemetry.record_empty_response(&self.scalers.key, self.name(), ignored);
        }
    }
}

/// Queries a source, and once more if that fails and there is time.
async fn query_twice(
    scaler: &dyn Scaler,
    metric: &str,
    clock: &Clock,
    last: LastAnswer,
    ends_at: Instant,
) -> Result<Known, ReadError> {
    let error = match scaler.read(metric, clock.now()).await {
        Err(error) if is_retried(&error, last) => error,
        first => return first,
    };
    timeout_at(ends_at, scaler.read(metric, clock.now())).await.unwrap_or(Err(error))
}

/// Whether a failed query is repeated at once, before it counts.
// KEDA: every one is. A source that hangs would be queried all the time, so it is not waited for twice in a row.
fn is_retried(error: &ReadError, last: LastAnswer) -> bool {
    !matches!((error, last), (ReadError::Timeout { .. }, LastAnswer::Failed))
}

#[cfg(test)]
mod tests;
