//! What an API server that has too much to do is given: time. A request that it turned away, with word of when to come
//! back, is sent again then. There is no limiter of our own: how much is under way at once is bounded elsewhere.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use kube::Client;
use kube::client::{Body, ClientBuilder};
use tower::buffer::BufferLayer;
use tower_layer::Layer;
use tower_service::Service;
use tracing::debug;

/// How often one request is turned away before that is an error.
const TURNED_AWAY_MAX: u32 = 10;

/// The longest wait that is taken from the API server.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Requests that may wait for their turn; kube's own client takes as many.
const QUEUE: usize = 1024;

/// A client that waits when it is asked to.
pub fn patient_client(config: kube::Config) -> kube::Result<Client> {
    Ok(ClientBuilder::try_from(config)?.with_layer(&BufferLayer::new(QUEUE)).with_layer(&Patience).build())
}

/// Makes a client wait when it is asked to.
#[derive(Clone, Copy, Debug)]
pub struct Patience;

impl<S> Layer<S> for Patience {
    type Service = Patient<S>;

    fn layer(&self, inner: S) -> Patient<S> {
        Patient(inner)
    }
}

/// A service that waits when it is asked to.
#[derive(Clone, Debug)]
pub struct Patient<S>(S);

impl<S, B> Service<Request<Body>> for Patient<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The one that was asked whether it is ready is the one to use.
        let fresh = self.0.clone();
        let ready = std::mem::replace(&mut self.0, fresh);
        Box::pin(send(ready, request))
    }
}

async fn send<S, B>(mut service: S, mut request: Request<Body>) -> Result<Response<B>, S::Error>
where
    S: Service<Request<Body>, Response = Response<B>>,
{
    for turned_away in 0.. {
        let again = copy(&request);
        let response = service.call(request).await?;
        match (wait_asked_for(&response), again) {
            (Some(wait), Some(again)) if turned_away < TURNED_AWAY_MAX => {
                debug!(path = again.uri().path(), ?wait, "the API server asks to come back later");
                tokio::time::sleep(wait).await;
                poll_fn(|cx| service.poll_ready(cx)).await?;
                request = again;
            }
            _ => return Ok(response),
        }
    }
    unreachable!("the last time it is turned away is an answer")
}

/// How long the API server asks to wait. Without that word, a failure is one that may have happened half way through.
fn wait_asked_for<B>(response: &Response<B>) -> Option<Duration> {
    if response.status() != StatusCode::TOO_MANY_REQUESTS && !response.status().is_server_error() {
        return None;
    }
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(WAIT_MAX))
}

/// The same request, if its body can be sent twice.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use tokio::time::Instant;

    use super::*;

    /// Status, and when to come back.
    type Answers = &'static [(u16, Option<&'static str>)];

    /// An API server that gives these answers one after another, and the last of them for ever.
    fn server(answers: Answers) -> (Client, Arc<Mutex<usize>>) {
        let asked = Arc::new(Mutex::new(0));
        let counter = asked.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            let mut asked = counter.lock().unwrap();
            let (status, wait) = answers[(*asked).min(answers.len() - 1)];
            *asked += 1;
            let mut response = Response::builder().status(status);
            if let Some(wait) = wait {
                response = response.header("Retry-After", wait);
            }
            let body = if status == 200 { r#"{"gitVersion":"v1"}"# } else { "{}" };
            let response = response.body(Body::from(body.as_bytes().to_vec()));
            async move { Ok::<_, Infallible>(response.unwrap()) }
        });
        (ClientBuilder::new(service, "default").with_layer(&Patience).build(), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_asked_for_is_kept() {
        let rows: [(&str, Answers, usize, u64); 5] = [
            ("no need", &[(200, None)], 1, 0),
            ("too many requests", &[(429, Some("2")), (429, Some("3")), (200, None)], 3, 5),
            ("going down", &[(503, Some("1")), (200, None)], 2, 1),
            ("not longer than half a minute", &[(429, Some("86400")), (200, None)], 2, 30),
            ("no more than ten times", &[(429, Some("1"))], 11, 10),
        ];
        for (name, answers, times, seconds) in rows {
            let (client, asked) = server(answers);
            let started = Instant::now();
            let answer = client.request::<serde_json::Value>(Request::get("/version").body(Vec::new()).unwrap()).await;
            assert_eq!(answer.is_ok(), answers.last().unwrap().0 == 200, "{name}");
            assert_eq!((*asked.lock().unwrap(), started.elapsed().as_secs()), (times, seconds), "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_without_word_of_when_to_come_back_is_a_failure() {
        for answers in
            [&[(500, None), (200, None)], &[(429, Some("soon")), (200, None)], &[(409, Some("1")), (200, None)]]
        {
            let (client, asked) = server(answers);
            let answer = client.request::<serde_json::Value>(Request::get("/version").body(Vec::new()).unwrap()).await;
            assert!(answer.is_err() && *asked.lock().unwrap() == 1, "{answers:?}");
        }
    }
}
