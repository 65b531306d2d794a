//! One request and its response, as values.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::{Request, Response, header};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::script::Step;
use crate::server::Server;

/// The events of a watch.
pub(crate) type Lines = BoxStream<'static, Value>;

/// The deadline of a single request.
pub(crate) const REQUEST_DEADLINE: Duration = Duration::from_secs(60);

/// Sends the request of a step, and returns the whole response.
pub(crate) async fn send_request(
    server: &Server,
    step: &Step,
    method: &str,
    path: &str,
    body: Option<String>,
) -> anyhow::Result<Value> {
    let request = request(step, method, path, body)?;
    let response = async { whole(server.send(request).await?).await };
    timeout(REQUEST_DEADLINE, response).await.with_context(|| format!("no response to {method} {path}"))?
}

/// The request of a step.
pub(crate) fn request(step: &Step, method: &str, path: &str, body: Option<String>) -> anyhow::Result<Request<Body>> {
    let mut request = Request::builder().method(method).uri(path);
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, step.content_type());
    }
    request = request.header(header::ACCEPT, step.accept.as_deref().unwrap_or("application/json"));
    Ok(request.body(body.map_or_else(Body::empty, |body| Body::from(body.into_bytes())))?)
}

/// The status, content type and warnings of a response.
pub(crate) fn head(answer: &Response<Body>) -> Value {
    let all = |name| -> Vec<String> {
        let values = answer.headers().get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    };
    json!({ "code": answer.status().as_u16(), "type": all(header::CONTENT_TYPE), "warnings": all(header::WARNING) })
}

/// A response with its body: JSON if it can be parsed, else text.
pub(crate) async fn whole(answer: Response<Body>) -> anyhow::Result<Value> {
    let mut whole = head(&answer);
    let bytes = answer.into_body().collect().await?.to_bytes();
    whole["body"] = parsed(&bytes);
    Ok(whole)
}

fn parsed(bytes: &Bytes) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into())
}

/// The lines of a streamed body.
pub(crate) fn lines(body: Body) -> Lines {
    let frames = body.into_data_stream().map(|frame| frame.map_err(|error| error.to_string()));
    futures::stream::unfold((frames, Vec::new()), async |(mut frames, mut rest): (_, Vec<u8>)| {
        loop {
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                return Some((parsed(&Bytes::from(line)), (frames, rest)));
            }
            match frames.next().await {
                Some(Ok(frame)) => rest.extend_from_slice(&frame),
                _ if rest.is_empty() => return None,
                _ => rest.push(b'\n'),
            }
        }
    })
    .boxed()
}
