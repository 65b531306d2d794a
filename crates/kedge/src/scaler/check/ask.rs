//! The calls of the contract, one after another, and what came of each.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::BoxStream;
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

/// Everything that was said, in order.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) calls: Vec<Call>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) took: Duration,
    pub(super) answer: Answer,
}

/// What a call came to.
#[derive(Debug)]
pub(super) enum Answer {
    Specs(Result<Vec<MetricSpec>, ReadError>),
    Activity(Result<bool, ReadError>),
    Values { metric: String, values: Result<Vec<MetricValue>, ReadError> },
    ActivityStream(Heard<bool>),
    SpecStream(Heard<Vec<MetricSpec>>),
}

/// What a stream brought in the time that it was listened to.
#[derive(Debug)]
pub(super) enum Heard<T> {
    /// The first message; the stream stayed open.
    Message(T),
    Silence,
    /// The server ended it, whatever it had brought.
    End,
    Failure(ReadError),
}

impl Transcript {
    async fn note(&mut self, answer: impl Future<Output = Answer>) {
        let started_at = Instant::now();
        let answer = answer.await;
        self.calls.push(Call { took: started_at.elapsed(), answer });
    }

    pub(super) fn specs(&self) -> &[MetricSpec] {
        let specs = self.calls.iter().find_map(|call| match &call.answer {
            Answer::Specs(specs) => specs.as_ref().ok(),
            _ => None,
        });
        specs.map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_active(&self) -> Option<bool> {
        self.calls.iter().find_map(|call| match &call.answer {
            Answer::Activity(is_active) => is_active.as_ref().ok().copied(),
            _ => None,
        })
    }

    /// Whether there is nobody to talk to: further calls would say the same again.
    fn is_hopeless(&self) -> bool {
        let unreachable = |error: &ReadError| matches!(error, ReadError::Connect { .. } | ReadError::Untrusted { .. });
        self.calls.iter().any(|call| matches!(&call.answer, Answer::Specs(Err(error)) if unreachable(error)))
    }
}

/// Calls the scaler as the operator would; with its streams, if wanted, each for as long as `listen`.
pub(super) async fn ask(client: &ExternalClient, scope: Scope, listen: Duration) -> Transcript {
    let mut transcript = Transcript::default();
    transcript.note(async { Answer::Specs(client.get_metric_spec().await) }).await;
    if transcript.is_hopeless() {
        return transcript;
    }
    transcript.note(async { Answer::Activity(client.is_active().await) }).await;
    let names: Vec<String> = transcript.specs().iter().map(|spec| spec.metric_name.clone()).collect();
    for metric in names.into_iter().chain([NO_METRIC.to_owned()]) {
        transcript
            .note(async {
                let values = client.get_metrics(&metric).await;
                Answer::Values { metric, values }
            })
            .await;
    }
    if scope == Scope::WithStreams {
        transcript.note(async { Answer::ActivityStream(hear(client.stream_is_active(), listen).await) }).await;
        transcript.note(async { Answer::SpecStream(hear(client.stream_metric_spec(), listen).await) }).await;
    }
    transcript
}

async fn hear<T>(mut stream: BoxStream<'static, Result<T, ReadError>>, listen: Duration) -> Heard<T> {
    let until = tokio::time::Instant::now() + listen;
    let mut first = None;
    loop {
        match tokio::time::timeout_at(until, stream.next()).await {
            Err(_) => return first.map_or(Heard::Silence, Heard::Message),
            Ok(None) => return Heard::End,
            Ok(Some(Ok(message))) => first = first.or(Some(message)),
            Ok(Some(Err(error))) => return Heard::Failure(error),
        }
    }
}
