//! Questions to APIs that the plane serves or passes on, and their errors in the words of the controller's client.

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use crate::controllers::client::ControllerClient;

/// What does not stand for itself in a segment of a path.
const SEGMENT: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'/').add(b'<').add(b'>').add(b'?');

/// One segment of a path.
pub(super) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// A query with a label selector; none where that is empty.
pub(super) fn selecting(selector: &str) -> String {
    if selector.is_empty() {
        return String::new();
    }
    format!("?{}", form_urlencoded::Serializer::new(String::new()).append_pair("labelSelector", selector).finish())
}

/// The answer to a GET. `resource` is what errors call the thing, as in `pods.metrics.k8s.io`.
pub(super) async fn get(client: &ControllerClient, path: &str, resource: &str) -> Result<Value, String> {
    let request = Request::get(path).header("accept", "application/json").body(Body::empty());
    let request = request.map_err(|error| error.to_string())?;
    let (head, body) = Response::into_parts(client.plane.handle(client.user(), request).await);
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    if head.status.is_success() {
        return serde_json::from_slice(&body).map_err(|error| error.to_string());
    }
    let status: Value = serde_json::from_slice(&body).unwrap_or_default();
    match status["message"].as_str() {
        Some(message) if status["kind"] == "Status" && !message.is_empty() => Err(message.to_owned()),
        _ => Err(describe(head.status, &String::from_utf8_lossy(&body), resource)),
    }
}

/// An error whose answer says nothing of itself.
fn describe(status: StatusCode, body: &str, resource: &str) -> String {
    let message = match status.as_u16() {
        404 => "the server could not find the requested resource".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 => body.trim().to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .to_owned()
        }
        500.. => format!("an error on the server ({:?}) has prevented the request from succeeding", body.trim()),
        code => format!("the server responded with the status code {code} but did not return more information"),
    };
    if resource.is_empty() { message } else { format!("{message} (get {resource})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_those_of_the_controllers_client() {
        let rows = [
            (
                404,
                "404 page not found",
                "the server could not find the requested resource (get queue.external.metrics.k8s.io)",
            ),
            (
                503,
                "service unavailable",
                "the server is currently unable to handle the request (get queue.external.metrics.k8s.io)",
            ),
            (
                502,
                "bad\n",
                "an error on the server (\"bad\") has prevented the request from succeeding (get queue.external.metrics.k8s.io)",
            ),
        ];
        for (code, body, expected) in rows {
            let status = StatusCode::from_u16(code).unwrap();
            assert_eq!(describe(status, body, "queue.external.metrics.k8s.io"), expected);
        }
    }

    #[test]
    fn selectors_are_escaped_and_an_empty_one_is_left_out() {
        assert_eq!(selecting(""), "");
        assert_eq!(selecting("app=web,tier in (a,b)"), "?labelSelector=app%3Dweb%2Ctier+in+%28a%2Cb%29");
    }
}
