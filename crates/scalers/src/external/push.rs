//! What an `external-push` server tells unasked: two streams, opened again whenever they end.

use std::time::Duration;

use futures::future::ready;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use tokio::time::Instant;

use super::backoff::{Backoff, Ending, PROVEN_AFTER};
use super::{ExternalScaler, Told, activity, answer};
use crate::error::ReadError;
use crate::scaler::PushEvent;

/// Everything that the server tells, for as long as somebody listens. All work is done while the stream is polled.
pub(super) fn events(scaler: &ExternalScaler) -> BoxStream<'static, PushEvent> {
    stream::select(activities(scaler.clone()), metrics(scaler.clone())).boxed()
}

fn activities(scaler: ExternalScaler) -> impl Stream<Item = PushEvent> + Send + 'static {
    let open = move || scaler.client.stream_is_active();
    Reopened::new(open, |_| After::OpenAgain).events().map(|told| match told {
        Ok(is_active) => PushEvent::Activity(activity(is_active)),
        Err(error) => PushEvent::Failed(error),
    })
}

fn metrics(scaler: ExternalScaler) -> impl Stream<Item = PushEvent> + Send + 'static {
    let client = scaler.client.clone();
    let open = move || newest(client.stream_metric_spec()).boxed();
    Reopened::new(open, |error| if is_unimplemented(error) { After::Stop } else { After::OpenAgain })
        .events()
        .filter_map(move |told| ready(metrics_event(&scaler, told)))
}

/// Servers need not have this stream; that one has not is nothing to tell.
fn metrics_event(scaler: &ExternalScaler, told: Result<Vec<answer::Told>, ReadError>) -> Option<PushEvent> {
    match told.and_then(|told| scaler.read_specs(&told)) {
        Ok(specs) => {
            scaler.memory.keep(Told::Unasked(specs.clone()));
            Some(PushEvent::Specs(specs))
        }
        Err(error) if is_unimplemented(&error) => None,
        Err(error) => Some(PushEvent::Failed(error)),
    }
}

fn is_unimplemented(error: &ReadError) -> bool {
    matches!(error, ReadError::Rpc { code: "UNIMPLEMENTED", .. })
}

/// Of several messages that wait, the last: each replaces those before it.
fn newest<T: Send + 'static>(
    messages: BoxStream<'static, Result<T, ReadError>>,
) -> impl Stream<Item = Result<T, ReadError>> + Send + 'static {
    messages.ready_chunks(WAITING_MAX).flat_map(|mut waiting| {
        let end = waiting.pop_if(|last| last.is_err());
        stream::iter(waiting.pop().into_iter().chain(end))
    })
}

const WAITING_MAX: usize = 1024;

/// What follows an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    OpenAgain,
    Stop,
}

/// A stream that is opened again after each end, and later each time if it is of no use.
struct Reopened<T, O> {
    open: O,
    judge: fn(&ReadError) -> After,
    state: State<T>,
    backoff: Backoff,
}

enum State<T> {
    Open { messages: BoxStream<'static, Result<T, ReadError>>, since: Instant, use_: Use },
    Waiting(Duration),
    Stopped,
}

/// Whether a stream brought anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    None,
    Some,
}

impl<T, O> Reopened<T, O>
where
    T: Send + 'static,
    O: Fn() -> BoxStream<'static, Result<T, ReadError>> + Send + 'static,
{
    fn new(open: O, judge: fn(&ReadError) -> After) -> Self {
        Self { open, judge, state: State::Waiting(Duration::ZERO), backoff: Backoff::new() }
    }

    fn events(self) -> impl Stream<Item = Result<T, ReadError>> + Send + 'static {
        stream::unfold(self, |mut reopened| async move {
            let told = reopened.next().await?;
            Some((told, reopened))
        })
    }

    async fn next(&mut self) -> Option<Result<T, ReadError>> {
        loop {
            match &mut self.state {
                State::Stopped => return None,
                State::Waiting(wait) => {
                    tokio::time::sleep(*wait).await;
                    self.state = State::Open { messages: (self.open)(), since: Instant::now(), use_: Use::None };
                }
                State::Open { messages, since, use_ } => match messages.next().await {
                    Some(Ok(message)) => {
                        *use_ = Use::Some;
                        return Some(Ok(message));
                    }
                    Some(Err(error)) if (self.judge)(&error) == After::Stop => {
                        self.state = State::Stopped;
                        return Some(Err(error));
                    }
                    Some(Err(error)) => {
                        let proven = *use_ == Use::Some || since.elapsed() >= PROVEN_AFTER;
                        let ending = if proven { Ending::InOrder } else { Ending::Failed };
                        self.state = State::Waiting(self.backoff.wait(ending));
                        return Some(Err(error));
                    }
                    None => self.state = State::Waiting(self.backoff.wait(Ending::InOrder)),
                },
            }
        }
    }
}
