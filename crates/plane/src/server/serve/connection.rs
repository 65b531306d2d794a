//! One connection: TLS, HTTP/1.1 or HTTP/2, and the authentication of its requests.

use std::convert::Infallible;
use std::sync::Arc;

use chrono::Utc;
use http::header::USER_AGENT;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kube::client::Body;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::audit::{AuditLog, Noted};
use super::caller;
use crate::api::error::ApiError;
use crate::api::identity::Identity;
use crate::plane::Plane;
use crate::server::http::header;
use crate::server::http::path::Target;
use crate::server::response::{ResponseBody, refused};

/// All that a connection needs.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) plane: Plane,
    pub(super) tls: TlsAcceptor,
    pub(super) audit: Option<AuditLog>,
}

impl Host {
    /// Serves a connection until it ends. Connection errors are ignored.
    pub(super) async fn serve(self, stream: TcpStream) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection was lost");
            return;
        }
        let stream = match self.tls.accept(stream).await {
            Ok(stream) => stream,
            Err(error) => return tracing::debug!(%error, "a handshake failed"),
        };
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let certified: Arc<Option<Identity>> = Arc::new(chain.first().and_then(caller::of_certificate));
        let service = service_fn(move |request: Request<Incoming>| {
            let (host, certified) = (self.clone(), certified.clone());
            async move { Ok::<_, Infallible>(host.answer(certified.as_ref().as_ref(), request).await) }
        });
        let builder = auto::Builder::new(TokioExecutor::new());
        if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
            tracing::debug!(error, "a connection broke");
        }
    }

    async fn answer(&self, certified: Option<&Identity>, request: Request<Incoming>) -> Response<ResponseBody> {
        let received_at = Utc::now();
        let user = caller::of_request(certified, request.headers(), |token| self.plane.holder(token));
        let user = match user {
            Ok(user) => user,
            Err(error) => return refused(&error),
        };
        let audited = AuditedRequest::from_request(&request);
        let answer = match admitted(&user, &request) {
            Ok(()) => self.pass_on(&user, request).await,
            Err(error) => refused(&error),
        };
        if let Some(audit) = &self.audit {
            let (code, answered_at) = (answer.status().as_u16(), Utc::now());
            let AuditedRequest { verb, uri, agent, target } = audited;
            audit.note(&Noted { user, verb, uri, agent, target, code, received_at, answered_at });
        }
        answer
    }

    async fn pass_on(&self, user: &Identity, request: Request<Incoming>) -> Response<ResponseBody> {
        let (mut head, body) = request.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return refused(&ApiError::bad_request(error.to_string())),
        };
        head.extensions.insert(user.clone());
        self.plane.serve(&user.name, Request::from_parts(head, Body::from(body))).await
    }
}

/// Authenticated users may do everything; anonymous ones may only query the health endpoints.
fn admitted(user: &Identity, request: &Request<Incoming>) -> Result<(), ApiError> {
    let path = request.uri().path();
    let is_open = ["/healthz", "/livez", "/readyz", "/version"].iter().any(|open| path.starts_with(open));
    if is_open || *user != caller::anonymous() {
        return Ok(());
    }
    let verb = request.method().as_str().to_lowercase();
    let message = format!("forbidden: User {:?} cannot {verb} path {path:?}", user.name);
    Err(ApiError::new(403, "Forbidden", message))
}

/// What the audit log records of a request.
struct AuditedRequest {
    verb: &'static str,
    uri: String,
    agent: String,
    target: Option<Target>,
}

impl AuditedRequest {
    fn from_request(request: &Request<Incoming>) -> Self {
        let target = Target::parse(request.uri().path());
        Self {
            verb: verb(request, target.as_ref()),
            uri: request.uri().path_and_query().map(ToString::to_string).unwrap_or_default(),
            agent: header(request.headers(), &USER_AGENT).to_owned(),
            target,
        }
    }
}

fn verb(request: &Request<Incoming>, target: Option<&Target>) -> &'static str {
    let query = request.uri().query().unwrap_or_default();
    let watches = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
    let is_collection = target.is_some_and(|target| target.name.is_none());
    match *request.method() {
        Method::GET if target.is_some() && watches => "watch",
        Method::GET if is_collection => "list",
        Method::POST if target.is_none() => "post",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_collection => "deletecollection",
        Method::DELETE => "delete",
        _ => "get",
    }
}
