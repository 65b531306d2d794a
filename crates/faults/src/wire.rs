//! The wire between a replica of the operator and the API server: it takes a moment, and it is where things go wrong.

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
use crate::journal::{Entry, Journal, Kind};

/// How long nobody answers before the connection is given up.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(30);

/// What is left of an answer that does not come.
pub type Broken = io::Error;

type Answer = Response<BoxedBody>;
type BoxedBody = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Broken>>>;

/// The wire of one process of the operator.
#[derive(Clone, Debug)]
pub struct Wire {
    pub plane: Plane,
    pub replica: String,
    pub journal: Arc<Journal>,
    pub life: Arc<Life>,
}

/// Whether a process lives, and whether it reaches the API server.
#[derive(Debug, Default)]
pub struct Life {
    state: Mutex<LifeState>,
}

#[derive(Debug, Default)]
struct LifeState {
    /// How long it is away, once it is dead.
    dead: Option<Duration>,
    cut: Option<(Cut, Instant)>,
}

impl Life {
    pub fn end(&self, away: Duration) {
        self.lock().dead = Some(away);
    }

    /// How long it is away, if it is dead.
    pub fn ended(&self) -> Option<Duration> {
        self.lock().dead
    }

    pub fn cut_off(&self, cut: Cut, until: Instant) {
        self.lock().cut = Some((cut, until));
    }

    fn cut(&self) -> Option<(Cut, Instant)> {
        self.lock().cut.filter(|(_, until)| *until > Instant::now())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LifeState> {
        self.state.lock().expect("nobody panics holding it")
    }

    /// A process that is dead hears nothing any more.
    async fn go_on(&self) {
        if self.ended().is_some() {
            never().await;
        }
    }
}

async fn never() {
    match pending::<Infallible>().await {}
}

impl Service<Request<Body>> for Wire {
    type Response = Answer;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Broken>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

impl Wire {
    async fn send(self, mut request: Request<Body>) -> Result<Answer, Broken> {
        self.life.go_on().await;
        let kind = kind_of(&request);
        let line = format!("{} {}", request.method(), request.uri());
        let (issued_at, turn) = (Instant::now(), self.journal.turn(kind));
        tokio::time::sleep(turn.way).await;
        self.cross(kind).await?;
        self.life.go_on().await;
        if let Some(bystanders) = self.journal.bystanders() {
            if turn.early {
                bystanders.step().await;
            }
            if turn.meddle {
                bystanders.meddle().await;
            }
        }
        if let Some(refusal) = refuse(kind, turn.fault) {
            tokio::time::sleep(turn.way_back).await;
            return refusal;
        }
        if let Some(revisions_behind) = turn.stale {
            request.extensions_mut().insert(AsOf { revisions_behind });
        }
        let response = self.plane.answer(&self.replica, request).await;
        let status = response.status().as_u16();
        let revision = self.plane.revision().see();
        self.journal.note(Entry { replica: self.replica.clone(), line, issued_at, kind, revision, status });
        if kind == Kind::Write
            && response.status().is_success()
            && let Some(away) = self.journal.wrote()
        {
            self.life.end(away);
            self.journal.crashed.notify_one();
        }
        self.life.go_on().await;
        if turn.fault == Some(ApiFault::LostAnswer) {
            tokio::time::sleep(GIVEN_UP_AFTER).await;
            return Err(io::ErrorKind::TimedOut.into());
        }
        tokio::time::sleep(turn.way_back).await;
        self.life.go_on().await;
        Ok(self.receive(kind, response))
    }

    /// Gets a request through a network that may be cut.
    async fn cross(&self, kind: Kind) -> Result<(), Broken> {
        let Some((cut, until)) = self.life.cut() else { return Ok(()) };
        match cut {
            Cut::Lease if kind != Kind::Lease => Ok(()),
            Cut::Slow => {
                tokio::time::sleep_until(until).await;
                Ok(())
            }
            Cut::Lease | Cut::All => {
                tokio::time::sleep_until(until.min(Instant::now() + GIVEN_UP_AFTER)).await;
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }

    fn receive(&self, kind: Kind, response: Response<Body>) -> Answer {
        let (head, body) = response.into_parts();
        let frames = body.into_data_stream().map(|data| data.map_err(io::Error::other)).boxed();
        let frames = match kind {
            Kind::Watch if head.status.is_success() => self.clone().disturb(frames).boxed(),
            _ => frames,
        };
        Response::from_parts(head, StreamBody::new(frames.map(|data| data.map(Frame::data)).boxed()))
    }

    /// The events of a watch, with what goes wrong with them.
    fn disturb(
        self,
        events: BoxStream<'static, Result<Bytes, Broken>>,
    ) -> impl Stream<Item = Result<Bytes, Broken>> + Send {
        stream::unfold((self, Some(events), None), |(wire, events, twice)| async move {
            if let Some(again) = twice {
                return Some((Ok(again), (wire, events, None)));
            }
            let mut events = events?;
            loop {
                let event = match events.next().await? {
                    Ok(event) => event,
                    Err(error) => return Some((Err(error), (wire, None, None))),
                };
                wire.life.go_on().await;
                let (ends, answer, twice) = match wire.journal.event() {
                    None => (false, Ok(event), None),
                    Some(EventFault::Dropped) => continue,
                    Some(EventFault::Delayed { seconds }) => {
                        tokio::time::sleep(Duration::from_secs(seconds)).await;
                        wire.life.go_on().await;
                        (false, Ok(event), None)
                    }
                    Some(EventFault::Twice) => (false, Ok(event.clone()), Some(event)),
                    Some(EventFault::Gone) => (true, Ok(gone()), None),
                    Some(EventFault::Cut) => (true, Err(io::ErrorKind::ConnectionReset.into()), None),
                };
                return Some((answer, (wire, (!ends).then_some(events), twice)));
            }
        })
    }
}

fn kind_of(request: &Request<Body>) -> Kind {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    match *request.method() {
        _ if request.uri().path().starts_with("/apis/coordination.k8s.io/") => Kind::Lease,
        Method::GET if is_watch => Kind::Watch,
        Method::GET => Kind::Read,
        _ => Kind::Write,
    }
}

/// The answer to a request that never gets to the API server.
fn refuse(kind: Kind, fault: Option<ApiFault>) -> Option<Result<Answer, Broken>> {
    Some(match fault? {
        ApiFault::Conflict if kind == Kind::Write => Ok(status(409, "Conflict", None)),
        ApiFault::Conflict | ApiFault::Internal => Ok(status(500, "InternalError", None)),
        ApiFault::TooMany => Ok(status(429, "TooManyRequests", Some("1"))),
        ApiFault::NotSent => Err(io::ErrorKind::ConnectionRefused.into()),
        ApiFault::LostAnswer => return None,
    })
}

fn status(code: u16, reason: &str, retry_after: Option<&'static str>) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "made up", "reason": reason, "code": code,
    });
    let body = Bytes::from(status.to_string());
    let mut response = Response::new(StreamBody::new(stream::once(async { Ok(Frame::data(body)) }).boxed()));
    *response.status_mut() = StatusCode::from_u16(code).expect("a status");
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(http::header::RETRY_AFTER, http::HeaderValue::from_static(seconds));
    }
    response
}

/// Word that the version asked for is too old.
fn gone() -> Bytes {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version", "reason": "Expired", "code": 410,
    });
    Bytes::from(format!("{}\n", json!({ "type": "ERROR", "object": status })))
}
