//! The server: the API behind TLS, with optional client certificates. `kedge-serving` handles connections, and `api` requests.

use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use kedge_serving::{ClientCertificates, ClientChain, Security, ServeError, Stopped, Tls};
use tokio::net::TcpListener;

use crate::api::Api;
use crate::parts::Parts;
use crate::settings::Settings;

/// Serves the API on a listening socket until `shutdown` is over. Then no connection is accepted any more, requests
/// under way are completed, and connections are closed.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    parts: Parts,
    shutdown: impl Future<Output = ()>,
) -> Result<Stopped, ServeError> {
    let tls = Tls {
        clients: ClientCertificates::Requested,
        wall_clock: settings.wall_clock.clone(),
        ..Tls::new(parts.certificate.clone())
    };
    let api = Arc::new(Api::new(&settings, parts));
    let stopping = api.clone();
    let shutdown = async move {
        shutdown.await;
        stopping.mark_stopping();
    };
    let handler = move |chain: ClientChain, request: Request<Incoming>| {
        let api = api.clone();
        async move { api.handle(&chain, &request.into_parts().0).await }
    };
    kedge_serving::serve(listener, Security::Tls(tls), settings.limits, handler, shutdown).await
}
