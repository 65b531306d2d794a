//! A plane behind a socket, as a process of its own: TLS, authentication by certificates and tokens, an audit log,
//! and backends over the network. For clients that cannot use it as a transport: kubectl,
//! and an operator that runs beside it.
//!
//! | module | what it holds |
//! |---|---|
//! | `connection` | one connection, and the requests on it |
//! | `caller` | authentication |
//! | [`tokens`] | issued bearer tokens |
//! | [`audit`] | the audit log |
//! | [`tls`] | keys and certificates |
//! | [`front_proxy`] | the ConfigMap by which aggregated API servers verify the plane |
//! | [`network_backends`], `dial` | backends over the network, and calls to them |
//! | [`resource_metrics`] | `metrics.k8s.io` |
//!
//! There is no authorization: every authenticated user may do everything.

pub mod audit;
mod caller;
mod connection;
mod dial;
pub mod front_proxy;
pub mod network_backends;
pub mod resource_metrics;
pub mod tls;
pub mod tokens;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use rustls::ServerConfig;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub use audit::AuditLog;
pub use network_backends::NetworkBackends;
pub use tokens::Tokens;

use crate::api::error::ApiError;
use crate::api::request::{Call, Verb};
use crate::api::resource::Gvr;
use crate::plane::Plane;
use connection::Host;

/// After a connection that could not be accepted: out of file handles, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A duration as flags have it: `1m30s`.
pub fn parse_duration(text: &str) -> Option<TimeDelta> {
    kedge_schema::duration::parse(text)
}

/// Serves the plane on a listening socket until it is dropped. Connections are tasks of their own.
pub async fn serve(plane: Plane, listener: TcpListener, tls: ServerConfig, audit: Option<AuditLog>) -> Infallible {
    let host = Host { plane, tls: TlsAcceptor::from(Arc::new(tls)), audit };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(host.clone().serve(stream))),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Creates an object that the plane has from the start.
async fn create(plane: &Plane, resource: Gvr, namespace: Option<&str>, object: Value) -> Result<(), ApiError> {
    let (namespace, body) = (namespace.map(str::to_owned), Some(object));
    let call = Call { namespace, body, ..Call::new("system:apiserver", Verb::Create, resource) };
    plane.call(call).await.map(drop)
}
