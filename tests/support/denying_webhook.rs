//! An admission webhook that denies every request, with a message.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// The webhook. It ends when this value is dropped. A test that waits for kubectl meanwhile needs more than one thread.
#[derive(Debug)]
pub struct DenyingWebhook {
    port: u16,
    ca_pem: String,
    server: JoinHandle<()>,
}

impl DenyingWebhook {
    /// Starts on a free port of the loopback address.
    pub async fn start(message: &'static str) -> anyhow::Result<Self> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)?;
        let tls = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let server = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(tls.clone(), connection, message));
            }
        });
        Ok(Self { port, ca_pem: made.cert.pem(), server })
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("https://localhost:{}/", self.port)
    }

    /// The CA of its certificate, PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }
}

impl Drop for DenyingWebhook {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(tls: TlsAcceptor, connection: TcpStream, message: &'static str) {
    let Ok(stream) = tls.accept(connection).await else { return };
    let service = service_fn(|request: Request<Incoming>| deny(request, message));
    // A client that closes the connection early loses its response.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn deny(request: Request<Incoming>, message: &str) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": { "uid": review["request"]["uid"], "allowed": false, "status": { "message": message } },
    });
    Ok(Response::new(Full::from(answer.to_string())))
}
