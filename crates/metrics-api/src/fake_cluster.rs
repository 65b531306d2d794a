//! A Kubernetes client without a cluster, for tests: every request goes to a function.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use tower_service::Service;

/// A body of any kind, of which reading cannot fail.
pub(crate) type AnyBody = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// A client whose requests go to `respond`.
pub(crate) fn client<F, A>(response: F) -> kube::Client
where
    F: FnMut(Request<Body>) -> A + Send + 'static,
    A: Future<Output = Response<AnyBody>> + Send + 'static,
{
    kube::Client::new(Responding(response), "default")
}

struct Responding<F>(F);

impl<F, A> Service<Request<Body>> for Responding<F>
where
    F: FnMut(Request<Body>) -> A,
    A: Future<Output = Response<AnyBody>> + Send + 'static,
{
    type Response = Response<AnyBody>;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let response = (self.0)(request);
        Box::pin(async { Ok(response.await) })
    }
}
