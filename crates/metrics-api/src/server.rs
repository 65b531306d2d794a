//! The server: the API behind TLS, with optional client certificates. `kedge-serving` handles connections, and `api` requests.

use std::fmt;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use kedge_serving::{ClientCertificates, ClientChain, Security, ServeError, ServingCertificate, Stopped, Tls};
use tokio::net::TcpListener;

use crate::api::Api;
use crate::authentication::Trust;
use crate::health::Readiness;
use crate::review::Reviewer;
use crate::settings::Settings;
use crate::source::MetricSource;

/// What the process gives the server to work with.
#[derive(Clone)]
pub struct Parts {
    pub source: Arc<dyn MetricSource>,
    pub reviewer: Arc<dyn Reviewer>,
    pub trust: Trust,
    pub certificate: ServingCertificate,
    pub readiness: Readiness,
}

impl fmt::Debug for Parts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Parts").finish_non_exhaustive()
    }
}

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
