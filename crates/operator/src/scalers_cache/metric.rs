//! One external metric of a trigger: its newest reading, its consecutive failures, and the query in flight.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_core::fallback::{Failures, MetricType, QueryOutcome};
use kedge_core::milli::Milli;
use kedge_core::quantity::Quantity;
use kedge_scalers::{Known, ReadError};
use tokio::time::Instant;

use super::waiting::wait_max;
use super::{FRESH, NotBuilt, Requester};
use crate::query_limits::LastAnswer;
use kedge_cluster::Clock;

/// One external metric of a trigger.
#[derive(Debug)]
pub struct ExternalMetric {
    pub name: String,
    pub target: Milli,
    pub metric_type: MetricType,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<Reading>,
    failures: Failures,
    in_flight: Option<InFlight>,
}

/// A query that has not ended.
#[derive(Debug)]
struct InFlight {
    started: Instant,
    asked_by: Requester,
    reading: Shared<BoxFuture<'static, Reading>>,
}

/// One answer of a source, or the reason for its absence.
#[derive(Clone, Debug)]
pub struct Reading {
    pub answer: Result<Known, Failure>,
    pub at: Instant,
    pub wall: DateTime<Utc>,
    /// How long the query took.
    pub took: Duration,
    pub asked_by: Requester,
}

/// The reason for a missing answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Source(ReadError),
    #[error(transparent)]
    NotBuilt(NotBuilt),
    #[error("the scaler panicked: this is a defect of Kedge, and its log has the place")]
    Panicked,
    #[error(
        "the source gave no answer within {limit:?}, the longest time for a query; raise pollingInterval, or use a cheaper query"
    )]
    Late { limit: Duration },
    #[error("the source has given no answer for {so_far:?}")]
    Pending { so_far: Duration },
}

impl Reading {
    pub(super) fn not_built(why: &NotBuilt, clock: &Clock) -> Self {
        let answer = Err(Failure::NotBuilt(why.clone()));
        let asked_by = Requester::ScaleLoop;
        Self { answer, at: Instant::now(), wall: clock.now(), took: Duration::ZERO, asked_by }
    }

    pub fn is_active(&self) -> bool {
        matches!(&self.answer, Ok(known) if known.activity == kedge_scalers::Activity::Active)
    }

    /// Whether the source did not accept the credentials.
    pub(super) fn is_denied(&self) -> bool {
        matches!(&self.answer, Err(Failure::Source(error)) if error.is_denied())
    }

    /// Whether it serves a requester instead of a new query. The scale loop takes older readings only from the metrics API.
    fn serves(&self, requester: Requester, age_max: Duration) -> bool {
        let age_max = match (requester, self.asked_by) {
            (Requester::ScaleLoop, Requester::ScaleLoop) => age_max.min(FRESH),
            _ => age_max,
        };
        self.at.elapsed() <= age_max
    }
}

impl ExternalMetric {
    /// The external metric of a spec, if it is external.
    pub fn from_spec(spec: &MetricSpec, failures: impl FnOnce(&str) -> Failures) -> Option<Self> {
        let external = spec.external.as_ref()?;
        let (metric_type, quantity) = match (&external.target.average_value, &external.target.value) {
            (Some(average), _) => (MetricType::AverageValue, average),
            (None, Some(value)) => (MetricType::Value, value),
            (None, None) => return None,
        };
        let target = Quantity::parse(&quantity.0).map_or(Milli(0), |target| Milli(target.milli_value()));
        let name = external.metric.name.clone();
        let state = Mutex::new(State { failures: failures(&name), ..State::default() });
        Some(Self { name, target, metric_type, state })
    }

    pub fn failures(&self) -> Failures {
        self.state().failures
    }

    /// Whether a query has ended since the metric was built.
    pub fn is_read(&self) -> bool {
        self.state().last.is_some()
    }

    /// The result of the last query.
    pub(super) fn last_answer(&self) -> LastAnswer {
        match self.state().last.as_ref().map(|last| &last.answer) {
            Some(Err(_)) => LastAnswer::Failed,
            Some(Ok(_)) | None => LastAnswer::AnsweredOrNotRead,
        }
    }

    pub(crate) fn last(&self) -> Option<Reading> {
        self.state().last.clone()
    }

    /// The newest reading if it is of at most this age; else the result of the query in flight, or of a new one. What the metrics API
    /// takes counts as asked for by it, whoever began the query.
    pub(super) async fn cached_or_queried(
        &self,
        age_max: Duration,
        requester: Requester,
        query: impl FnOnce() -> BoxFuture<'static, Reading>,
    ) -> Reading {
        let in_flight = {
            let mut state = self.state();
            if let Some(reading) = state.last.as_mut().filter(|reading| reading.serves(requester, age_max)) {
                reading.asked_by = reading.asked_by.joined_by(requester);
                return reading.clone();
            }
            let start = || InFlight { started: Instant::now(), asked_by: requester, reading: query().shared() };
            let in_flight = state.in_flight.get_or_insert_with(start);
            in_flight.asked_by = in_flight.asked_by.joined_by(requester);
            in_flight.reading.clone()
        };
        in_flight.await
    }

    /// How long the metrics API waits for a reading; `None` if as long as the query takes.
    pub(super) fn wait_max(&self, first_answer_limit: Duration) -> Option<Duration> {
        let state = self.state();
        let in_flight_for = state.in_flight.as_ref().map(|in_flight| in_flight.started.elapsed());
        wait_max(state.last.as_ref(), in_flight_for, first_answer_limit)
    }

    /// The reading for a reader that does not wait any longer: the last failure, or that there is no answer yet.
    pub(super) fn not_awaited(&self, clock: &Clock) -> Reading {
        let state = self.state();
        if let Some(failed) = state.last.as_ref().filter(|last| last.answer.is_err()) {
            return failed.clone();
        }
        let so_far = state.in_flight.as_ref().map_or(Duration::ZERO, |in_flight| in_flight.started.elapsed());
        let (answer, asked_by) = (Err(Failure::Pending { so_far }), Requester::MetricsApi);
        Reading { answer, at: Instant::now(), wall: clock.now(), took: so_far, asked_by }
    }

    /// Records a reading, which ends the query that it came from.
    pub(super) fn record(&self, reading: &Reading, threshold: i32) {
        let outcome = if reading.answer.is_ok() { QueryOutcome::Answered } else { QueryOutcome::Failed };
        let mut state = self.state();
        state.failures = state.failures.after(outcome, threshold);
        let asked_by = state.in_flight.take().map_or(reading.asked_by, |in_flight| in_flight.asked_by);
        state.last = Some(Reading { asked_by, ..reading.clone() });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the lock panics")
    }
}
