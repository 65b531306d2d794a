//! The client layer that obeys `Retry-After`: a request that an overloaded API server rejected with that header is sent again
//! after the wait. The layer does not limit the rate of requests: the operator bounds how many are in flight.

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

/// How often one request is retried before its rejection is an error.
const RETRIES_MAX: u32 = 10;

/// The longest wait that is accepted from the API server.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Requests that may be queued; kube's own client takes as many.
const QUEUE: usize = 1024;

/// A client that obeys `Retry-After`.
pub fn client_with_retry_after(config: kube::Config) -> kube::Result<Client> {
    Ok(ClientBuilder::try_from(config)?.with_layer(&BufferLayer::new(QUEUE)).with_layer(&RetryAfterLayer).build())
}

/// Wraps a client's service in [`RetryAfter`].
#[derive(Clone, Copy, Debug)]
pub struct RetryAfterLayer;

impl<S> Layer<S> for RetryAfterLayer {
    type Service = RetryAfter<S>;

    fn layer(&self, inner: S) -> RetryAfter<S> {
        RetryAfter(inner)
    }
}

/// A service that retries rejected requests after the wait that the server asked for.
#[derive(Clone, Debug)]
pub struct RetryAfter<S>(S);

impl<S, B> Service<Request<Body>> for RetryAfter<S>
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
        // The instance that reported readiness is the one to call.
        let fresh = self.0.clone();
        let ready = std::mem::replace(&mut self.0, fresh);
        Box::pin(send(ready, request))
    }
}

async fn send<S, B>(mut service: S, mut request: Request<Body>) -> Result<Response<B>, S::Error>
where
    S: Service<Request<Body>, Response = Response<B>>,
{
    for retries in 0.. {
        let again = copy(&request);
        let response = service.call(request).await?;
        match (retry_after(&response), again) {
            (Some(wait), Some(again)) if retries < RETRIES_MAX => {
                debug!(path = again.uri().path(), ?wait, "API server asks to retry later");
                tokio::time::sleep(wait).await;
                poll_fn(|cx| service.poll_ready(cx)).await?;
                request = again;
            }
            _ => return Ok(response),
        }
    }
    unreachable!("the last rejection is returned")
}

/// How long the API server asks to wait. Without the header, the request may have been carried out in part, and is not repeated.
fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
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

    /// Status, and the `Retry-After` header.
    type Answers = &'static [(u16, Option<&'static str>)];

    /// An API server that gives these answers one after another, then repeats the last.
    fn server(answers: Answers) -> (Client, Arc<Mutex<usize>>) {
        let requested = Arc::new(Mutex::new(0));
        let counter = requested.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            let mut requested = counter.lock().unwrap();
            let (status, wait) = answers[(*requested).min(answers.len() - 1)];
            *requested += 1;
            let mut response = Response::builder().status(status);
            if let Some(wait) = wait {
                response = response.header("Retry-After", wait);
            }
            let body = if status == 200 { r#"{"gitVersion":"v1"}"# } else { "{}" };
            let response = response.body(Body::from(body.as_bytes().to_vec()));
            async move { Ok::<_, Infallible>(response.unwrap()) }
        });
        (ClientBuilder::new(service, "default").with_layer(&RetryAfterLayer).build(), requested)
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejected_request_is_retried_after_the_requested_wait() {
        let rows: [(&str, Answers, usize, u64); 5] = [
            ("accepted", &[(200, None)], 1, 0),
            ("too many requests", &[(429, Some("2")), (429, Some("3")), (200, None)], 3, 5),
            ("shutting down", &[(503, Some("1")), (200, None)], 2, 1),
            ("not longer than half a minute", &[(429, Some("86400")), (200, None)], 2, 30),
            ("no more than ten times", &[(429, Some("1"))], 11, 10),
        ];
        for (name, answers, times, seconds) in rows {
            let (client, requested) = server(answers);
            let started = Instant::now();
            let answer = client.request::<serde_json::Value>(Request::get("/version").body(Vec::new()).unwrap()).await;
            assert_eq!(answer.is_ok(), answers.last().unwrap().0 == 200, "{name}");
            assert_eq!((*requested.lock().unwrap(), started.elapsed().as_secs()), (times, seconds), "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_without_a_valid_retry_after_is_not_retried() {
        for answers in
            [&[(500, None), (200, None)], &[(429, Some("soon")), (200, None)], &[(409, Some("1")), (200, None)]]
        {
            let (client, requested) = server(answers);
            let answer = client.request::<serde_json::Value>(Request::get("/version").body(Vec::new()).unwrap()).await;
            assert!(answer.is_err() && *requested.lock().unwrap() == 1, "{answers:?}");
        }
    }
}
