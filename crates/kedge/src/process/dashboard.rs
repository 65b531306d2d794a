//! Serving the dashboard.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use kedge_dashboard::{BODY_BYTES_MAX, Dashboard};
use kedge_serving::{ClientChain, Limits, Security, ServeError};
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
    let limits = Limits { drain_limit: Duration::from_secs(1), ..Limits::default() };
    let handler = move |_: ClientChain, request: Request<Incoming>| {
        let dashboard = dashboard.clone();
        async move { answer(&dashboard, request).await }
    };
    kedge_serving::serve(listener, security, limits, handler, stop).await.map(drop)
}

async fn answer(dashboard: &Dashboard, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let read = Limited::new(body, BODY_BYTES_MAX).collect();
    match tokio::time::timeout(BODY_LIMIT, read).await {
        Ok(Ok(body)) => dashboard.handle(&head, &body.to_bytes()).await,
        Ok(Err(_)) => refuse(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => refuse(StatusCode::REQUEST_TIMEOUT),
    }
}

fn refuse(code: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = code;
    response
}
