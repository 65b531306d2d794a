//! One webhook is asked, and answers or fails to.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Request, Uri};
use kube::client::Body;
use serde_json::{Value, json};

use super::Asked;
use crate::backend::service_host;
use crate::error::{ApiError, known_reason};
use crate::plane::Plane;
use crate::review::Identity;

const TIMEOUT_SECONDS: u64 = 10;

pub(super) fn user(name: &str) -> Value {
    let Identity { name, groups } = Identity::named(name);
    json!({ "username": name, "groups": groups })
}

/// Asks one webhook. A webhook that fails counts as its policy says.
pub(super) async fn ask(plane: &Plane, asked: &Asked, is_dry_run: bool) -> Result<(), ApiError> {
    let name = asked.webhook["name"].as_str().unwrap_or("");
    if is_dry_run && !matches!(asked.webhook["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")) {
        return Err(ApiError::bad_request(format!("admission webhook {name:?} does not support dry run")));
    }
    match answered(plane, asked).await {
        Ok(response) if response["allowed"] == true => Ok(()),
        Ok(response) => Err(denied(name, &response["status"])),
        Err(_) if asked.webhook["failurePolicy"] == "Ignore" => Ok(()),
        Err(why) => Err(ApiError::internal(&format!("failed calling webhook {name:?}: {why}"))),
    }
}

/// The `response` of the review.
async fn answered(plane: &Plane, asked: &Asked) -> Result<Value, String> {
    let seconds = asked.webhook["timeoutSeconds"].as_u64().unwrap_or(TIMEOUT_SECONDS);
    let url = url(&asked.webhook["clientConfig"], seconds);
    let post = posted(plane, asked, &url);
    let answer = match tokio::time::timeout(Duration::from_secs(seconds), post).await {
        Ok(answer) => answer.map_err(|why| format!("failed to call webhook: {why}"))?,
        Err(_) => return Err(format!("failed to call webhook: Post {url:?}: context deadline exceeded")),
    };
    verified(asked, answer).map_err(|why| format!("received invalid webhook response: {why}"))
}

fn url(config: &Value, seconds: u64) -> String {
    let service = &config["service"];
    match config["url"].as_str() {
        Some(url) => format!("{url}?timeout={seconds}s"),
        None => {
            let port = service["port"].as_u64().unwrap_or(443);
            let path = service["path"].as_str().unwrap_or("/");
            format!("https://{}:{port}{path}?timeout={seconds}s", service_host(service))
        }
    }
}

async fn posted(plane: &Plane, asked: &Asked, url: &str) -> Result<Value, String> {
    let failed = |why: &str| format!("Post {url:?}: {why}");
    let service = &asked.webhook["clientConfig"]["service"];
    let uri: Uri = url.parse().map_err(|_| failed("invalid URL"))?;
    let host = if service.is_object() {
        service_host(service)
    } else {
        uri.authority().map(ToString::to_string).unwrap_or_default()
    };
    let unknown = || match service["name"].as_str() {
        Some(name) => failed(&format!("service {name:?} not found")),
        None => failed(&format!("dial tcp: lookup {host}: no such host")),
    };
    let backend = plane.backends().get(&host).ok_or_else(unknown)?;
    let body = serde_json::to_vec(&asked.review).expect("JSON can be written");
    let request = Request::post(uri)
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(body))
        .map_err(|e| failed(&e.to_string()))?;
    let (parts, body) = backend.call(request).await.map_err(|why| failed(&why))?.into_parts();
    let bytes = body.collect_bytes().await.map_err(|why| failed(&why.to_string()))?;
    match parts.status.as_u16() {
        200..300 => serde_json::from_slice(&bytes).map_err(|e| e.to_string()),
        404 => Err("the server could not find the requested resource".to_owned()),
        code if code >= 500 => Err(format!(
            "an error on the server ({:?}) has prevented the request from succeeding",
            String::from_utf8_lossy(&bytes)
        )),
        code => Err(format!("the server responded with the status code {code} but did not return more information")),
    }
}

fn verified(asked: &Asked, answer: Value) -> Result<Value, String> {
    let response = &answer["response"];
    if !response.is_object() {
        return Err("webhook response was absent".to_owned());
    }
    let given = response["uid"].as_str().unwrap_or("");
    if given != asked.uid {
        return Err(format!("expected response.uid={:?}, got {given:?}", asked.uid));
    }
    if (answer["apiVersion"].as_str(), answer["kind"].as_str())
        != (Some("admission.k8s.io/v1"), Some("AdmissionReview"))
    {
        let (version, kind) = (answer["apiVersion"].as_str().unwrap_or("/"), answer["kind"].as_str().unwrap_or(""));
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {version}, Kind={kind}"
        ));
    }
    Ok(response.clone())
}

fn denied(name: &str, status: &Value) -> ApiError {
    let by = format!("admission webhook {name:?} denied the request");
    let (message, reason) = (status["message"].as_str().unwrap_or(""), status["reason"].as_str().unwrap_or(""));
    let message = match (message, reason) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    let code =
        status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).filter(|code| *code >= 400).unwrap_or(400);
    let mut refusal = ApiError::new(code, known_reason(reason), message);
    refusal.details = Some(status["details"].clone()).filter(|details| !details.is_null());
    refusal
}
