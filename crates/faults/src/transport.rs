//! The transport between a replica of the operator and the API server, which delays requests and injects faults.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use kedge_plane::{AsOf, Plane};
use kube::client::Body;
use serde_json::json;
use tokio::time::Instant;
use tower_service::Service;

use crate::fault::{ApiFault, Cut, EventFault};
use crate::request_log::{LoggedRequest, RequestKind, RequestLog};
use crate::scenario::CANARY;

/// How long a client waits for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

type HttpResponse = Response<BoxedBody>;
type BoxedBody = StreamBody<BoxStream<'static, Result<Frame<Bytes>, io::Error>>>;

/// The transport of one process of the operator.
#[derive(Clone, Debug)]
pub struct FaultyTransport {
    pub plane: Plane,
    pub replica: String,
    pub requests: Arc<RequestLog>,
    pub process: Arc<ProcessState>,
    /// How many objects a page of a list has, where that is fewer than the client asks for.
    pub page_size: Option<u32>,
}

/// Whether a process runs, and whether it reaches the API server.
#[derive(Debug, Default)]
pub struct ProcessState {
    state: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Its downtime, once it has ended.
    downtime: Option<Duration>,
    cut: Option<(Cut, Instant)>,
}

impl ProcessState {
    pub fn end(&self, downtime: Duration) {
        self.lock().downtime = Some(downtime);
    }

    /// Its downtime, if it has ended.
    pub fn ended(&self) -> Option<Duration> {
        self.lock().downtime
    }

    pub fn cut_off(&self, cut: Cut, until: Instant) {
        self.lock().cut = Some((cut, until));
    }

    fn cut(&self) -> Option<(Cut, Instant)> {
        self.lock().cut.filter(|(_, until)| *until > Instant::now())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.state.lock().expect("no holder panics")
    }

    /// Waits for ever if the process has ended: it receives nothing any more.
    async fn halt_if_ended(&self) {
        if self.ended().is_some() {
            never().await;
        }
    }
}

async fn never() {
    match pending::<Infallible>().await {}
}

impl Service<Request<Body>> for FaultyTransport {
    type Response = HttpResponse;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

impl FaultyTransport {
    async fn send(self, mut request: Request<Body>) -> Result<HttpResponse, io::Error> {
        self.process.halt_if_ended().await;
        if let Some(size) = self.page_size {
            shorten_pages(&mut request, size);
        }
        let kind = request_kind(&request);
        let line = format!("{} {}", request.method(), request.uri());
        let has_secret = has_secret(&mut request).await?;
        let (issued_at, injection) = (Instant::now(), self.requests.next_request(kind));
        tokio::time::sleep(injection.delay).await;
        self.pass_partition(kind).await?;
        self.process.halt_if_ended().await;
        if let Some(interference) = self.requests.interference() {
            if injection.early_step {
                interference.take_next_step().await;
            }
            if injection.concurrent_write {
                interference.write_target().await;
            }
        }
        if self.requests.is_forbidden(request.uri().path()) {
            return Ok(status(403, "Forbidden", None));
        }
        if let Some(rejection) = reject(kind, is_next_page(&request), injection.fault) {
            tokio::time::sleep(injection.response_delay).await;
            return rejection;
        }
        if let Some(revisions_behind) = injection.stale {
            request.extensions_mut().insert(AsOf { revisions_behind });
        }
        let response = self.plane.handle(&self.replica, request).await;
        let status = response.status().as_u16();
        let revision = self.plane.revision().see();
        self.requests.record(LoggedRequest {
            replica: self.replica.clone(),
            line,
            issued_at,
            kind,
            revision,
            status,
            has_secret,
        });
        if kind == RequestKind::Write
            && response.status().is_success()
            && let Some(downtime) = self.requests.next_write()
        {
            self.process.end(downtime);
            self.requests.crashed.notify_one();
        }
        self.process.halt_if_ended().await;
        if injection.fault == Some(ApiFault::LostResponse) {
            tokio::time::sleep(RESPONSE_TIMEOUT).await;
            return Err(io::ErrorKind::TimedOut.into());
        }
        tokio::time::sleep(injection.response_delay).await;
        self.process.halt_if_ended().await;
        Ok(self.receive(kind, response))
    }

    /// Passes a request through a network that may be partitioned.
    async fn pass_partition(&self, kind: RequestKind) -> Result<(), io::Error> {
        let Some((cut, until)) = self.process.cut() else { return Ok(()) };
        match cut {
            Cut::Lease if kind != RequestKind::Lease => Ok(()),
            Cut::Slow => {
                tokio::time::sleep_until(until).await;
                Ok(())
            }
            Cut::Lease | Cut::All => {
                tokio::time::sleep_until(until.min(Instant::now() + RESPONSE_TIMEOUT)).await;
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }

    fn receive(&self, kind: RequestKind, response: Response<Body>) -> HttpResponse {
        let (head, body) = response.into_parts();
        let frames = body.into_data_stream().map(|data| data.map_err(io::Error::other)).boxed();
        let frames = match kind {
            RequestKind::Watch if head.status.is_success() => self.clone().inject_event_faults(frames).boxed(),
            _ => frames,
        };
        Response::from_parts(head, StreamBody::new(frames.map(|data| data.map(Frame::data)).boxed()))
    }

    /// Injects faults into the events of a watch.
    fn inject_event_faults(
        self,
        events: BoxStream<'static, Result<Bytes, io::Error>>,
    ) -> impl Stream<Item = Result<Bytes, io::Error>> + Send {
        stream::unfold((self, Some(events), None), |(transport, events, twice)| async move {
            if let Some(again) = twice {
                return Some((Ok(again), (transport, events, None)));
            }
            let mut events = events?;
            loop {
                let event = match events.next().await? {
                    Ok(event) => event,
                    Err(error) => return Some((Err(error), (transport, None, None))),
                };
                transport.process.halt_if_ended().await;
                let (ends, result, twice) = match transport.requests.next_event() {
                    None => (false, Ok(event), None),
                    Some(EventFault::Dropped) => continue,
                    Some(EventFault::Delayed { seconds }) => {
                        tokio::time::sleep(Duration::from_secs(seconds)).await;
                        transport.process.halt_if_ended().await;
                        (false, Ok(event), None)
                    }
                    Some(EventFault::Twice) => (false, Ok(event.clone()), Some(event)),
                    Some(EventFault::Gone) => (true, Ok(gone()), None),
                    Some(EventFault::Cut) => (true, Err(io::ErrorKind::ConnectionReset.into()), None),
                };
                return Some((result, (transport, (!ends).then_some(events), twice)));
            }
        })
    }
}

/// Whether a secret of the scenario is in a request.
async fn has_secret(request: &mut Request<Body>) -> Result<bool, io::Error> {
    let body = std::mem::replace(request.body_mut(), Body::empty());
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let found = request.uri().to_string().contains(CANARY) || String::from_utf8_lossy(&body).contains(CANARY);
    *request.body_mut() = Body::from(body);
    Ok(found)
}

fn request_kind(request: &Request<Body>) -> RequestKind {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    match *request.method() {
        _ if request.uri().path().starts_with("/apis/coordination.k8s.io/") => RequestKind::Lease,
        Method::GET if is_watch => RequestKind::Watch,
        Method::GET => RequestKind::Read,
        _ => RequestKind::Write,
    }
}

/// Asks for pages of this size.
fn shorten_pages(request: &mut Request<Body>, size: u32) {
    let shorter = request.uri().to_string().replace("limit=500", &format!("limit={size}"));
    *request.uri_mut() = shorter.parse().expect("a number in place of a number");
}

/// Whether a request is for another page of a list than the first.
fn is_next_page(request: &Request<Body>) -> bool {
    request.uri().query().is_some_and(|query| query.contains("continue="))
}

/// The response to a request that does not reach the API server.
fn reject(kind: RequestKind, is_next_page: bool, fault: Option<ApiFault>) -> Option<Result<HttpResponse, io::Error>> {
    Some(match fault? {
        ApiFault::ExpiredPage if is_next_page => Ok(status(410, "Expired", None)),
        ApiFault::Conflict if kind == RequestKind::Write => Ok(status(409, "Conflict", None)),
        ApiFault::Conflict | ApiFault::Internal => Ok(status(500, "InternalError", None)),
        ApiFault::TooMany => Ok(status(429, "TooManyRequests", Some("1"))),
        ApiFault::NotSent => Err(io::ErrorKind::ConnectionRefused.into()),
        ApiFault::LostResponse | ApiFault::Slow { .. } | ApiFault::ExpiredPage => return None,
    })
}

fn status(code: u16, reason: &str, retry_after: Option<&'static str>) -> HttpResponse {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "injected fault", "reason": reason, "code": code,
    });
    let body = Bytes::from(status.to_string());
    let mut response = Response::new(StreamBody::new(stream::once(async { Ok(Frame::data(body)) }).boxed()));
    *response.status_mut() = StatusCode::from_u16(code).expect("a status");
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(http::header::RETRY_AFTER, http::HeaderValue::from_static(seconds));
    }
    response
}

/// The watch event for a resource version that is too old.
fn gone() -> Bytes {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version", "reason": "Expired", "code": 410,
    });
    Bytes::from(format!("{}\n", json!({ "type": "ERROR", "object": status })))
}
