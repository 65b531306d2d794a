//! The requests that a scaler makes, observed for telemetry. Who calls a scaler says who observes; the clients report to that observer.

use std::sync::Arc;
use std::time::Duration;

/// Receives what happens while a scaler is called.
pub trait RequestObserver: Send + Sync {
    /// An HTTP request ended: with a status, or without an answer.
    fn http(&self, status: Option<u16>, took: Duration);

    /// Something happened to a call of a gRPC server.
    fn grpc(&self, call: GrpcCall, event: GrpcEvent);

    /// A source answered, and the answer has no value.
    fn empty_response(&self, ignored: bool);
}

/// A call of a gRPC server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrpcCall {
    pub method: &'static str,
    pub is_stream: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrpcEvent {
    /// The call began, and its one message was sent.
    Started,
    Received,
    /// The call ended with this code, by Go's names.
    Ended {
        code: &'static str,
        took: Duration,
    },
}

tokio::task_local! {
    static OBSERVER: Option<Arc<dyn RequestObserver>>;
}

/// Does some work whose requests are reported to an observer.
pub async fn observed<T>(observer: Arc<dyn RequestObserver>, work: impl Future<Output = T>) -> T {
    OBSERVER.scope(Some(observer), work).await
}

/// Does some work whose requests are not reported.
pub(crate) async fn unobserved<T>(work: impl Future<Output = T>) -> T {
    OBSERVER.scope(None, work).await
}

/// Reports to the observer of this task, if there is one.
pub(crate) fn report(report: impl FnOnce(&dyn RequestObserver)) {
    let _ = OBSERVER.try_with(|observer| {
        if let Some(observer) = observer {
            report(observer.as_ref());
        }
    });
}
