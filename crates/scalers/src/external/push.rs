//! What an `external-push` server pushes: two streams, opened again whenever they end.

use std::time::Duration;

use futures::future::ready;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use tokio::time::Instant;

use super::backoff::{Backoff, Ending, PROVEN_AFTER};
use super::response::ServerMetricSpec;
use super::{ExternalScaler, LastSpecs, activity};
use crate::error::ReadError;
use crate::scaler::PushEvent;

/// Everything that the server pushes. All work is done while the stream is polled.
pub(super) fn events(scaler: &ExternalScaler) -> BoxStream<'static, PushEvent> {
    stream::select(activities(scaler.clone()), metrics(scaler.clone())).boxed()
}

fn activities(scaler: ExternalScaler) -> impl Stream<Item = PushEvent> + Send + 'static {
    let open = move || scaler.client.stream_is_active();
    Reopened::new(open, |_| After::OpenAgain).events().map(|message| match message {
        Ok(is_active) => PushEvent::Activity(activity(is_active)),
        Err(error) => PushEvent::Failed(error),
    })
}

fn metrics(scaler: ExternalScaler) -> impl Stream<Item = PushEvent> + Send + 'static {
    let client = scaler.client.clone();
    let open = move || newest(client.stream_metric_spec()).boxed();
    Reopened::new(open, |error| if is_unimplemented(error) { After::Stop } else { After::OpenAgain })
        .events()
        .filter_map(move |received| ready(metrics_event(&scaler, received)))
}

/// Servers need not have this stream; its absence is no event.
fn metrics_event(scaler: &ExternalScaler, received: Result<Vec<ServerMetricSpec>, ReadError>) -> Option<PushEvent> {
    match received.and_then(|received| scaler.parse_specs(&received)) {
        Ok(specs) => {
            scaler.specs.store(LastSpecs::Pushed(specs.clone()));
            Some(PushEvent::Specs(specs))
        }
        Err(error) if is_unimplemented(&error) => None,
        Err(error) => Some(PushEvent::Failed(error)),
    }
}

fn is_unimplemented(error: &ReadError) -> bool {
    matches!(error, ReadError::Rpc { code: "UNIMPLEMENTED", .. })
}

/// The last of several waiting messages: each replaces those before it.
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

/// A stream that is opened again after each end, with a growing delay while it fails.
struct Reopened<T, O> {
    open: O,
    after_error: fn(&ReadError) -> After,
    state: State<T>,
    backoff: Backoff,
}

enum State<T> {
    Open { messages: BoxStream<'static, Result<T, ReadError>>, since: Instant, received: Received },
    Waiting(Duration),
    Stopped,
}

/// Whether a stream brought a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Received {
    Nothing,
    Something,
}

impl<T, O> Reopened<T, O>
where
    T: Send + 'static,
    O: Fn() -> BoxStream<'static, Result<T, ReadError>> + Send + 'static,
{
    fn new(open: O, after_error: fn(&ReadError) -> After) -> Self {
        Self { open, after_error, state: State::Waiting(Duration::ZERO), backoff: Backoff::new() }
    }

    fn events(self) -> impl Stream<Item = Result<T, ReadError>> + Send + 'static {
        stream::unfold(self, |mut reopened| async move {
            let message = reopened.next().await?;
            Some((message, reopened))
        })
    }

    async fn next(&mut self) -> Option<Result<T, ReadError>> {
        loop {
            match &mut self.state {
                State::Stopped => return None,
                State::Waiting(wait) => {
                    tokio::time::sleep(*wait).await;
                    self.state =
                        State::Open { messages: (self.open)(), since: Instant::now(), received: Received::Nothing };
                }
                State::Open { messages, since, received } => match messages.next().await {
                    Some(Ok(message)) => {
                        *received = Received::Something;
                        return Some(Ok(message));
                    }
                    Some(Err(error)) if (self.after_error)(&error) == After::Stop => {
                        self.state = State::Stopped;
                        return Some(Err(error));
                    }
                    Some(Err(error)) => {
                        let proven = *received == Received::Something || since.elapsed() >= PROVEN_AFTER;
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
