//! A streaming call: opened, then listened to, until it ends or its connection is given up.

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use tokio::sync::watch;
use tonic::{Response, Status, Streaming};

use super::channel::{Channel, Line};
use crate::error::ReadError;

/// A streaming call under way.
pub(super) struct Listening<T, F> {
    channel: Arc<Channel>,
    method: &'static str,
    line: Arc<Line>,
    lines: watch::Receiver<Arc<Line>>,
    state: State<T, F>,
}

enum State<T, F> {
    Opening(Pin<Box<F>>),
    Open(Box<Streaming<T>>),
    Ended,
}

impl<T, F> Listening<T, F>
where
    F: Future<Output = Result<Response<Streaming<T>>, Status>>,
{
    pub(super) fn new(
        channel: Arc<Channel>,
        method: &'static str,
        line: Arc<Line>,
        lines: watch::Receiver<Arc<Line>>,
        opening: F,
    ) -> Self {
        Self { channel, method, line, lines, state: State::Opening(Box::pin(opening)) }
    }

    /// The messages, until the server ends them. An error is the last.
    pub(super) fn messages(self) -> impl Stream<Item = Result<T, ReadError>> {
        futures::stream::unfold(self, |mut listening| async move {
            let message = listening.next().await?;
            Some((message, listening))
        })
    }

    async fn next(&mut self) -> Option<Result<T, ReadError>> {
        loop {
            let outcome = tokio::select! {
                biased;
                outcome = self.state.step() => outcome,
                () = gone(&mut self.lines, &self.line) => {
                    self.state = State::Ended;
                    let problem = "nothing is heard on the connection any more".to_owned();
                    return Some(Err(ReadError::Connect { endpoint: self.channel.endpoint(), problem }));
                }
            };
            match outcome {
                Ok(Step::Opened(messages)) => self.state = State::Open(messages),
                Ok(Step::Message(message)) => {
                    self.line.heard();
                    return Some(Ok(message));
                }
                Ok(Step::End) => {
                    self.state = State::Ended;
                    return None;
                }
                Err(status) => {
                    self.state = State::Ended;
                    return Some(Err(self.channel.failed(&self.line, &status, self.method)));
                }
            }
        }
    }
}

enum Step<T> {
    Opened(Box<Streaming<T>>),
    Message(T),
    End,
}

impl<T, F> State<T, F>
where
    F: Future<Output = Result<Response<Streaming<T>>, Status>>,
{
    async fn step(&mut self) -> Result<Step<T>, Status> {
        match self {
            Self::Opening(opening) => Ok(Step::Opened(Box::new(opening.as_mut().await?.into_inner()))),
            Self::Open(messages) => Ok(messages.message().await?.map_or(Step::End, Step::Message)),
            Self::Ended => Ok(Step::End),
        }
    }
}

/// Waits until the channel has another line than this one.
async fn gone(lines: &mut watch::Receiver<Arc<Line>>, line: &Arc<Line>) {
    // The channel outlives those who listen: they hold it.
    if lines.wait_for(|current| !Arc::ptr_eq(current, line)).await.is_err() {
        std::future::pending().await
    }
}
