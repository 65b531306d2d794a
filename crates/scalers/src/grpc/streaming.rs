//! A streaming call: opened, then read until it ends or its connection is replaced.

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use tokio::sync::watch;
use tonic::{Code, Response, Status, Streaming};

use super::channel::{Channel, Client, Connection, Origin};
use super::observed::ObservedCall;
use crate::error::ReadError;
use crate::observer::GrpcCall;

impl Channel {
    /// The messages of a streaming call. An error is the last of them.
    ///
    /// There is no limit: many servers send nothing, not even headers, before the first message.
    pub(crate) fn stream<T, F>(
        self: Arc<Self>,
        method: &'static str,
        open: impl FnOnce(Client, Origin) -> F + Send + 'static,
    ) -> impl Stream<Item = Result<T, ReadError>> + Send + 'static
    where
        T: Send + 'static,
        F: Future<Output = Result<Response<Streaming<T>>, Status>> + Send + 'static,
    {
        let ((connection, opening), connections) = (self.start(open), self.connections());
        let state = State::Opening(Box::pin(opening));
        StreamingCall { channel: self, method, connection, connections, state, observed: None }.messages()
    }
}

/// A streaming call under way.
struct StreamingCall<T, F> {
    channel: Arc<Channel>,
    method: &'static str,
    connection: Arc<Connection>,
    connections: watch::Receiver<Arc<Connection>>,
    state: State<T, F>,
    /// From the first poll to the end.
    observed: Option<ObservedCall>,
}

enum State<T, F> {
    Opening(Pin<Box<F>>),
    Open(Box<Streaming<T>>),
    Ended,
}

impl<T, F> StreamingCall<T, F>
where
    F: Future<Output = Result<Response<Streaming<T>>, Status>>,
{
    /// The messages, until the server ends them. An error is the last.
    fn messages(self) -> impl Stream<Item = Result<T, ReadError>> {
        futures::stream::unfold(self, |mut streaming| async move {
            let message = streaming.next().await?;
            Some((message, streaming))
        })
    }

    async fn next(&mut self) -> Option<Result<T, ReadError>> {
        if let State::Opening(_) = &self.state {
            self.observed = Some(ObservedCall::start(GrpcCall { method: self.method, is_stream: true }));
        }
        loop {
            let outcome = tokio::select! {
                biased;
                outcome = self.state.step() => outcome,
                () = gone(&mut self.connections, &self.connection) => {
                    self.end(Code::Unavailable);
                    let problem = "nothing is heard on the connection any more".to_owned();
                    return Some(Err(ReadError::Connect { endpoint: self.channel.endpoint(), problem }));
                }
            };
            match outcome {
                Ok(Step::Opened(messages)) => self.state = State::Open(messages),
                Ok(Step::Message(message)) => {
                    self.connection.record_activity();
                    self.observed.iter().for_each(ObservedCall::received);
                    return Some(Ok(message));
                }
                Ok(Step::End) => {
                    self.end(Code::Ok);
                    return None;
                }
                Err(status) => {
                    self.end(status.code());
                    return Some(Err(self.channel.failed(&self.connection, &status, self.method)));
                }
            }
        }
    }
}

impl<T, F> StreamingCall<T, F> {
    fn end(&mut self, code: Code) {
        self.state = State::Ended;
        if let Some(observed) = self.observed.take() {
            observed.end(code);
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

/// Waits until the channel has another connection than this one.
async fn gone(connections: &mut watch::Receiver<Arc<Connection>>, connection: &Arc<Connection>) {
    // The channel outlives its streams, which hold it.
    if connections.wait_for(|current| !Arc::ptr_eq(current, connection)).await.is_err() {
        std::future::pending().await
    }
}
