//! One request: a deadline over all of it, redirects, one more try on a connection that had died, a bounded body.

use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::uri::Scheme;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::address::Address;
use super::error_chain::{find, innermost};
use super::proxy::Proxy;
use super::{HttpClient, KeepAlive, USER_AGENT, tls};
use crate::error::{Endpoint, ReadError};
use crate::observer;

const REDIRECTS_MAX: usize = 10;
const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;

/// A request to a source, or to a service that gives credentials for it.
#[derive(Clone)]
pub(crate) struct Call {
    method: Method,
    address: Address,
    /// Everything the trigger adds. Any of it may be a credential, so none of it goes to another host.
    headers: HeaderMap,
    body: Bytes,
    limit: Duration,
    accepted: Accepted,
}

/// Which statuses are a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepted {
    /// All of 2xx.
    Successes,
    /// 200 alone.
    Ok,
}

impl Call {
    pub(crate) fn get(address: Address, headers: HeaderMap, limit: Duration) -> Self {
        Self::new(Method::GET, address, headers, Bytes::new(), limit)
    }

    pub(crate) fn new(method: Method, address: Address, mut headers: HeaderMap, body: Bytes, limit: Duration) -> Self {
        address.sign(&mut headers);
        Self { method, address, headers, body, limit, accepted: Accepted::Successes }
    }

    /// The same request, for which only status 200 is a success.
    pub(crate) fn only_ok(self) -> Self {
        Self { accepted: Accepted::Ok, ..self }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::from_uri(&self.address.uri)
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.address.uri
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Adds a header, in place of any of its name.
    pub(crate) fn set_header(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    /// Replaces the query by one that is escaped already.
    pub(crate) fn set_query(&mut self, query: &str) -> Result<(), &'static str> {
        self.address.set_query(query)
    }

    /// The same request at the address that a redirect named.
    fn redirected(&self, address: Address) -> Self {
        let headers = match self.address.may_hand_credentials_to(&address) {
            true => self.headers.clone(),
            false => HeaderMap::new(),
        };
        let call = Self::new(self.method.clone(), address, headers, self.body.clone(), self.limit);
        Self { accepted: self.accepted, ..call }
    }

    fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.address.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().entry(header::USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT));
        request
    }
}

impl HttpClient {
    /// The body of a successful answer.
    pub(crate) async fn fetch(&self, call: &Call) -> Result<Bytes, ReadError> {
        let (status, body) = self.fetch_any(call).await?;
        let is_accepted = match call.accepted {
            Accepted::Successes => status.is_success(),
            Accepted::Ok => status == StatusCode::OK,
        };
        if is_accepted { Ok(body) } else { Err(ReadError::Status { endpoint: call.endpoint(), code: status.as_u16() }) }
    }

    /// Status and body of the answer, whatever they are.
    pub(crate) async fn fetch_any(&self, call: &Call) -> Result<(StatusCode, Bytes), ReadError> {
        let endpoint = call.endpoint();
        match tokio::time::timeout(call.limit, self.follow(call, &endpoint)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ReadError::Timeout { endpoint, limit: call.limit }),
        }
    }

    async fn follow(&self, call: &Call, endpoint: &Endpoint) -> Result<(StatusCode, Bytes), ReadError> {
        let mut redirected = None;
        for _ in 0..=REDIRECTS_MAX {
            let call = redirected.as_ref().unwrap_or(call);
            let response = self.send_observed(call).await.map_err(|error| explain(&error, endpoint))?;
            // What is posted are credentials: they are for the one that was named.
            let location = location(&response).filter(|_| call.method == Method::GET);
            let Some(location) = location else {
                return Ok((response.status(), read_body(response, endpoint).await?));
            };
            let next = call
                .address
                .resolve(location)
                .map_err(|problem| malformed(endpoint, format!("it redirects to an address that {problem}")))?;
            redirected = Some(call.redirected(next));
        }
        Err(malformed(endpoint, format!("it redirects more than {REDIRECTS_MAX} times")))
    }

    /// KEDA: the time until the headers counts, and each redirect is a request of its own.
    async fn send_observed(&self, call: &Call) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
        let reported = Reported { started: Instant::now(), status: None };
        let response = self.send(call).await;
        reported.end(response.as_ref().ok().map(|response| response.status().as_u16()));
        response
    }

    async fn send(&self, call: &Call) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
        match self.client.request(self.request(call)).await {
            // A kept connection may have been closed by the source just now; a request can be sent twice.
            Err(error) if !error.is_connect() && !is_garbled(&error) => self.client.request(self.request(call)).await,
            outcome => outcome,
        }
    }

    /// The request, with what belongs to the connection.
    fn request(&self, call: &Call) -> Request<Full<Bytes>> {
        let mut request = call.request();
        if self.keep_alive == KeepAlive::Off {
            request.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        // In a tunnel, the proxy reads no request: its credentials are sent with `CONNECT`.
        let is_seen = request.uri().scheme() == Some(&Scheme::HTTP);
        let proxy = self.proxies.for_uri(request.uri()).filter(|_| is_seen);
        if let Some(credentials) = proxy.and_then(Proxy::credentials) {
            request.headers_mut().insert(header::PROXY_AUTHORIZATION, credentials.clone());
        }
        request
    }
}

/// A request that is reported when it ends, also where nothing waits for it any more.
struct Reported {
    started: Instant,
    status: Option<u16>,
}

impl Reported {
    fn end(mut self, status: Option<u16>) {
        self.status = status;
    }
}

impl Drop for Reported {
    fn drop(&mut self) {
        observer::report(|observer| observer.http(self.status, self.started.elapsed()));
    }
}

/// Where a redirect leads. One that names no place is an answer like any other.
fn location(response: &Response<Incoming>) -> Option<&str> {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308)
        .then(|| response.headers().get(header::LOCATION)?.to_str().ok())
        .flatten()
        .filter(|location| !location.is_empty())
}

async fn read_body(response: Response<Incoming>, endpoint: &Endpoint) -> Result<Bytes, ReadError> {
    match Limited::new(response.into_body(), BODY_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(malformed(endpoint, format!("it is longer than {BODY_BYTES_MAX} bytes")))
        }
        Err(error) => Err(malformed(endpoint, format!("it broke off: {}", innermost(error.as_ref())))),
    }
}

fn malformed(endpoint: &Endpoint, problem: String) -> ReadError {
    ReadError::Malformed { endpoint: endpoint.clone(), problem }
}

/// The meaning of a failure before the response.
fn explain(error: &hyper_util::client::legacy::Error, endpoint: &Endpoint) -> ReadError {
    let endpoint = endpoint.clone();
    if let Some(problem) = tls::failure::find(error) {
        return ReadError::Untrusted { endpoint, problem };
    }
    let problem = innermost(error);
    match is_garbled(error) {
        true => ReadError::Malformed { endpoint, problem },
        false => ReadError::Connect { endpoint, problem },
    }
}

fn is_garbled(error: &hyper_util::client::legacy::Error) -> bool {
    find::<hyper::Error>(error).is_some_and(hyper::Error::is_parse)
}
