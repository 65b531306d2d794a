//! The floor of reads: a server that answers every read with the same value, registered in place of an operator.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::external_metrics::{self, Certificate};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A running responder. It ends when this value is dropped.
pub(super) struct StaticResponder {
    _server: JoinSet<()>,
}

impl StaticResponder {
    /// Starts it, and returns when the API server reads metrics from it.
    pub(super) async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        let certificate = Certificate::for_metrics_api()?;
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&certificate)?));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        external_metrics::register(cluster, listener.local_addr()?.port(), &certificate)?;
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(acceptor.clone(), stream));
                while connections.try_join_next().is_some() {}
            }
        });
        external_metrics::until_available(cluster, || Ok(())).await?;
        Ok(Self { _server: server })
    }
}

/// Serves a connection until its client ends it.
async fn serve(acceptor: TlsAcceptor, stream: TcpStream) {
    // Each write is an answer that a client waits for.
    let _ = stream.set_nodelay(true);
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let respond = service_fn(async |request: http::Request<_>| Ok::<_, Infallible>(respond(request.uri().path())));
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), respond).await;
}

fn respond(path: &str) -> Response<Full<Bytes>> {
    let answer = |value: Value| Response::new(Full::from(value.to_string()));
    let version = "external.metrics.k8s.io/v1beta1";
    match path.strip_prefix("/apis/external.metrics.k8s.io/v1beta1") {
        Some("") => {
            let resource = json!({
                "name": "externalmetrics", "singularName": "", "namespaced": true, "kind": "ExternalMetricValueList", "verbs": ["get"],
            });
            answer(
                json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": [resource] }),
            )
        }
        Some(metric) if metric.starts_with("/namespaces/") => {
            let name = metric.rsplit('/').next().unwrap_or_default();
            let item =
                json!({ "metricName": name, "metricLabels": null, "timestamp": "2026-01-01T00:00:00Z", "value": "5" });
            answer(json!({ "kind": "ExternalMetricValueList", "apiVersion": version, "metadata": {}, "items": [item] }))
        }
        _ => {
            let mut unknown = Response::new(Full::default());
            *unknown.status_mut() = StatusCode::NOT_FOUND;
            unknown
        }
    }
}

fn server_config(certificate: &Certificate) -> anyhow::Result<ServerConfig> {
    let chain = CertificateDer::pem_slice_iter(certificate.chain.as_bytes()).collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_serves_the_api_and_every_metric_of_it() {
        let status = |path: &str| respond(path).status().as_u16();
        assert_eq!(status("/apis/external.metrics.k8s.io/v1beta1"), 200);
        assert_eq!(status("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/s0-prometheus"), 200);
        assert_eq!(status("/openapi/v2"), 404);
    }
}
