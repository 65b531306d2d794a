//! The call of one webhook.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Request, Uri};
use kube::client::Body;
use serde_json::{Value, json};

use super::WebhookCall;
use crate::api::error::{ApiError, known_reason};
use crate::api::identity::Identity;
use crate::api::resource::service_host;
use crate::plane::Plane;

const TIMEOUT_SECONDS: u64 = 10;

pub(super) fn user(name: &str) -> Value {
    let Identity { name, groups } = Identity::named(name);
    json!({ "username": name, "groups": groups })
}

/// Calls one webhook. A failure is handled by its failurePolicy.
pub(super) async fn call_webhook(plane: &Plane, webhook_call: &WebhookCall, is_dry_run: bool) -> Result<(), ApiError> {
    let name = webhook_call.webhook["name"].as_str().unwrap_or("");
    if is_dry_run && !matches!(webhook_call.webhook["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")) {
        return Err(ApiError::bad_request(format!("admission webhook {name:?} does not support dry run")));
    }
    match fetch_response(plane, webhook_call).await {
        Ok(response) if response["allowed"] == true => Ok(()),
        Ok(response) => Err(denied(name, &response["status"])),
        Err(_) if webhook_call.webhook["failurePolicy"] == "Ignore" => Ok(()),
        Err(why) => Err(ApiError::internal(&format!("failed calling webhook {name:?}: {why}"))),
    }
}

/// The `response` of the review.
async fn fetch_response(plane: &Plane, webhook_call: &WebhookCall) -> Result<Value, String> {
    let seconds = webhook_call.webhook["timeoutSeconds"].as_u64().unwrap_or(TIMEOUT_SECONDS);
    let url = url(&webhook_call.webhook["clientConfig"], seconds);
    let post = post_review(plane, webhook_call, &url);
    let answer = match tokio::time::timeout(Duration::from_secs(seconds), post).await {
        Ok(answer) => answer.map_err(|why| format!("failed to call webhook: {why}"))?,
        Err(_) => return Err(format!("failed to call webhook: Post {url:?}: context deadline exceeded")),
    };
    verify_response(webhook_call, answer).map_err(|why| format!("received invalid webhook response: {why}"))
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

async fn post_review(plane: &Plane, webhook_call: &WebhookCall, url: &str) -> Result<Value, String> {
    let failed = |why: &str| format!("Post {url:?}: {why}");
    let service = &webhook_call.webhook["clientConfig"]["service"];
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
    let body = serde_json::to_vec(&webhook_call.review).expect("JSON can be written");
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

fn verify_response(webhook_call: &WebhookCall, answer: Value) -> Result<Value, String> {
    let response = &answer["response"];
    if !response.is_object() {
        return Err("webhook response was absent".to_owned());
    }
    let given = response["uid"].as_str().unwrap_or("");
    if given != webhook_call.uid {
        return Err(format!("expected response.uid={:?}, got {given:?}", webhook_call.uid));
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
    let mut error = ApiError::new(code, known_reason(reason), message);
    error.details = Some(status["details"].clone()).filter(|details| !details.is_null());
    error
}
