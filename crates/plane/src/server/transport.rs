//! The plane as the transport of a client.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::Either;
use kube::client::Body;
use tower_service::Service;

use crate::plane::Plane;
use crate::server::response::ResponseBody;

/// A service that sends a user's requests to a plane.
#[derive(Clone, Debug)]
pub struct Transport {
    plane: Plane,
    user: String,
}

impl Transport {
    pub fn new(plane: Plane, user: &str) -> Self {
        Self { plane, user: user.to_owned() }
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { plane, user } = self.clone();
        Box::pin(async move { Ok(plane.serve(&user, request).await) })
    }
}

/// The same answer with the client's own body. That type can be made of bytes, but of a stream only by a client: so
/// watches pass through one that lives for this answer alone.
pub(crate) async fn with_clients_body(answer: Response<ResponseBody>) -> Response<Body> {
    let (parts, body) = answer.into_parts();
    match body {
        Either::Left(whole) => Response::from_parts(parts, Body::from(whole.into_inner().unwrap_or_default())),
        Either::Right(stream) => {
            let answer = Response::from_parts(parts, ResponseBody::Right(stream));
            let client = kube::Client::new(Once(Some(answer)), "default");
            client.send(Request::new(Body::empty())).await.expect("the service below always answers")
        }
    }
}

struct Once(Option<Response<ResponseBody>>);

impl Service<Request<Body>> for Once {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        ready(Ok(self.0.take().expect("it is asked once")))
    }
}
