//! Serving the dashboard.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, request};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use kedge_dashboard::{BODY_BYTES_MAX, Dashboard};
use kedge_serving::{ClientChain, Handler, Limits, Security, ServeError};
use tokio::net::TcpListener;

/// How long a client may take to send a body.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// Serves until `stop`.
pub(crate) async fn serve(
    listener: TcpListener,
    security: Security,
    dashboard: Arc<Dashboard>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let handler = with_body(move |head, body| {
        let dashboard = dashboard.clone();
        async move { dashboard.handle(&head, &body).await }
    });
    kedge_serving::serve(listener, security, limits(), handler, stop).await.map(drop)
}

/// The limits of a server of pages.
pub(crate) fn limits() -> Limits {
    Limits { drain_limit: Duration::from_secs(1), ..Limits::default() }
}

/// A handler that is given whole requests. The head has the client's certificates among its extensions.
pub(crate) fn with_body<F>(
    answer: impl Fn(request::Parts, Bytes) -> F + Clone + Send + Sync + 'static,
) -> impl Handler<Body = Full<Bytes>>
where
    F: Future<Output = Response<Full<Bytes>>> + Send,
{
    move |chain: ClientChain, mut request: Request<Incoming>| {
        let answer = answer.clone();
        request.extensions_mut().insert(chain);
        async move {
            let (head, body) = request.into_parts();
            let read = Limited::new(body, BODY_BYTES_MAX).collect();
            match tokio::time::timeout(BODY_LIMIT, read).await {
                Ok(Ok(body)) => answer(head, body.to_bytes()).await,
                Ok(Err(_)) => refuse(StatusCode::PAYLOAD_TOO_LARGE),
                Err(_) => refuse(StatusCode::REQUEST_TIMEOUT),
            }
        }
    }
}

fn refuse(code: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = code;
    response
}
