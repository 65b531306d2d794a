//! The board: the newest reading of every trigger, in memory, and the one place where sources are asked.
//!
//! The scale loop and the metrics API read through it. Whoever comes while a source is being asked waits for that answer;
//! a query counts at most one failure, whoever asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_api::scaled_object::Fallback;
use kedge_core::fallback::{Failures, MetricType, Outcome};
use kedge_core::milli::Milli;
use kedge_core::quantity::Quantity;
use kedge_scalers::{Known, ReadError, Scaler};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::key::Key;
use crate::telemetry::Telemetry;

/// A reading of at most this age is as good as a new one.
pub const FRESH: Duration = Duration::from_secs(1);

/// The readings of all objects.
#[derive(Debug, Default)]
pub struct Board {
    objects: RwLock<HashMap<Key, Arc<ObjectBoard>>>,
}

/// The triggers of one object, built for one generation of it.
#[derive(Debug)]
pub struct ObjectBoard {
    pub key: Key,
    pub uid: String,
    pub generation: i64,
    pub fallback: Option<Fallback>,
    pub triggers: Vec<BoardTrigger>,
    pub telemetry: Arc<Telemetry>,
}

/// One trigger.
#[derive(Debug)]
pub struct BoardTrigger {
    pub index: usize,
    pub kind: String,
    pub name: Option<String>,
    pub scaler: Result<BuiltScaler, String>,
}

/// A trigger that could be built.
#[derive(Debug)]
pub struct BuiltScaler {
    pub scaler: Arc<dyn Scaler>,
    pub specs: Vec<MetricSpec>,
    pub metrics: Vec<ExternalMetric>,
    pub service: Service,
}

/// From where the metrics API answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// From the source, unless a fresh reading is there.
    Live,
    /// From the last poll.
    LastPoll,
}

/// One external metric of a trigger.
#[derive(Debug)]
pub struct ExternalMetric {
    pub name: String,
    pub target: Milli,
    pub metric_type: MetricType,
    /// Held while the source is asked.
    last: tokio::sync::Mutex<Option<Reading>>,
    failures: Mutex<Failures>,
}

/// One answer of a source, or why there is none.
#[derive(Clone, Debug)]
pub struct Reading {
    pub answer: Result<Known, ReadError>,
    pub at: Instant,
    pub wall: DateTime<Utc>,
    /// How long the source took.
    pub took: Duration,
}

impl Board {
    pub fn get(&self, key: &Key) -> Option<Arc<ObjectBoard>> {
        self.objects.read().expect("nobody panics holding it").get(key).cloned()
    }

    pub fn put(&self, key: Key, object: Arc<ObjectBoard>) {
        self.objects.write().expect("nobody panics holding it").insert(key, object);
    }

    pub fn remove(&self, key: &Key) -> Option<Arc<ObjectBoard>> {
        self.objects.write().expect("nobody panics holding it").remove(key)
    }
}

impl ObjectBoard {
    /// Every external metric, with its trigger.
    pub fn metrics(&self) -> impl Iterator<Item = (&BoardTrigger, &BuiltScaler, &ExternalMetric)> {
        self.triggers.iter().flat_map(|trigger| {
            let built = trigger.scaler.as_ref().ok();
            built.into_iter().flat_map(move |built| built.metrics.iter().map(move |metric| (trigger, built, metric)))
        })
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
        &self,
        trigger: &BoardTrigger,
        metric: &ExternalMetric,
        age_max: Duration,
        clock: Clock,
    ) -> Reading {
        let mut last = metric.last.lock().await;
        if let Some(reading) = last.as_ref().filter(|reading| reading.at.elapsed() <= age_max) {
            return reading.clone();
        }
        let started = Instant::now();
        let wall = clock.now();
        let answer = match &trigger.scaler {
            Ok(built) => built.scaler.read(&metric.name, wall).await,
            Err(_) => unreachable!("a trigger that could not be built has no metrics"),
        };
        let outcome = if answer.is_ok() { Outcome::Answered } else { Outcome::Failed };
        metric.count(outcome, self.threshold());
        let reading = Reading { answer, at: Instant::now(), wall, took: started.elapsed() };
        self.telemetry.read(&self.key, trigger, metric, &reading);
        *last = Some(reading.clone());
        reading
    }
}

impl ExternalMetric {
    /// The external metric that a spec asks for, if it asks for one.
    pub fn of(spec: &MetricSpec, failures: Failures) -> Option<Self> {
        let external = spec.external.as_ref()?;
        let (metric_type, quantity) = match (&external.target.average_value, &external.target.value) {
            (Some(average), _) => (MetricType::AverageValue, average),
            (None, Some(value)) => (MetricType::Value, value),
            (None, None) => return None,
        };
        let target = Quantity::parse(&quantity.0).map_or(Milli(0), |target| Milli(target.milli_value()));
        let name = external.metric.name.clone();
        Some(Self { name, target, metric_type, last: tokio::sync::Mutex::new(None), failures: Mutex::new(failures) })
    }

    pub fn failures(&self) -> Failures {
        *self.failures.lock().expect("nobody panics holding it")
    }

    fn count(&self, outcome: Outcome, threshold: i32) {
        let mut failures = self.failures.lock().expect("nobody panics holding it");
        *failures = failures.after(outcome, threshold);
    }
}
