//! The calls of the contract, one after another, and their results.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::BoxStream;
use kedge_cluster::instant_after;
use kedge_proto::externalscaler::{MetricSpec, MetricValue};
use kedge_scalers::ReadError;
use kedge_scalers::external::ExternalClient;

/// A metric that no scaler has.
pub(super) const NO_METRIC: &str = "kedge-check-no-such-metric";

/// Which calls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Calls,
    WithStreams,
}

/// All calls, in order.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) calls: Vec<Call>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) took: Duration,
    pub(super) result: CallResult,
}

/// The result of a call.
#[derive(Debug)]
pub(super) enum CallResult {
    Specs(Result<Vec<MetricSpec>, ReadError>),
    Activity(Result<bool, ReadError>),
    Values { metric: String, values: Result<Vec<MetricValue>, ReadError> },
    ActivityStream(StreamOutcome<bool>),
    SpecStream(StreamOutcome<Vec<MetricSpec>>),
}

/// The outcome of listening to a stream for some time.
#[derive(Debug)]
pub(super) enum StreamOutcome<T> {
    /// The first message; the stream stayed open.
    Message(T),
    Silence,
    /// The server ended the stream.
    End,
    Failure(ReadError),
}

impl Transcript {
    async fn record(&mut self, call: impl Future<Output = CallResult>) {
        let started_at = Instant::now();
        let result = call.await;
        self.calls.push(Call { took: started_at.elapsed(), result });
    }

    pub(super) fn specs(&self) -> &[MetricSpec] {
        let specs = self.calls.iter().find_map(|call| match &call.result {
            CallResult::Specs(specs) => specs.as_ref().ok(),
            _ => None,
        });
        specs.map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_active(&self) -> Option<bool> {
        self.calls.iter().find_map(|call| match &call.result {
            CallResult::Activity(is_active) => is_active.as_ref().ok().copied(),
            _ => None,
        })
    }

    /// Whether the scaler cannot be reached, so that further calls would fail in the same way.
    fn is_unreachable(&self) -> bool {
        let unreachable = |error: &ReadError| matches!(error, ReadError::Connect { .. } | ReadError::Untrusted { .. });
        self.calls.iter().any(|call| matches!(&call.result, CallResult::Specs(Err(error)) if unreachable(error)))
    }
}

/// Calls the scaler as the operator would; with its streams, if wanted, each for as long as `listen`.
pub(super) async fn call_all(client: &ExternalClient, scope: Scope, listen: Duration) -> Transcript {
    let mut transcript = Transcript::default();
    transcript.record(async { CallResult::Specs(client.get_metric_spec().await) }).await;
    if transcript.is_unreachable() {
        return transcript;
    }
    transcript.record(async { CallResult::Activity(client.is_active().await) }).await;
    let names: Vec<String> = transcript.specs().iter().map(|spec| spec.metric_name.clone()).collect();
    for metric in names.into_iter().chain([NO_METRIC.to_owned()]) {
        transcript
            .record(async {
                let values = client.get_metrics(&metric).await;
                CallResult::Values { metric, values }
            })
            .await;
    }
    if scope == Scope::WithStreams {
        transcript
            .record(async { CallResult::ActivityStream(listen_to(client.stream_is_active(), listen).await) })
            .await;
        transcript.record(async { CallResult::SpecStream(listen_to(client.stream_metric_spec(), listen).await) }).await;
    }
    transcript
}

async fn listen_to<T>(mut stream: BoxStream<'static, Result<T, ReadError>>, listen: Duration) -> StreamOutcome<T> {
    let until = instant_after(listen);
    let mut first = None;
    loop {
        match tokio::time::timeout_at(until, stream.next()).await {
            Err(_) => return first.map_or(StreamOutcome::Silence, StreamOutcome::Message),
            Ok(None) => return StreamOutcome::End,
            Ok(Some(Ok(message))) => first = first.or(Some(message)),
            Ok(Some(Err(error))) => return StreamOutcome::Failure(error),
        }
    }
}
