//! Parses a request, whose path is parsed already, into a call.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use kube::client::Body;
use serde_json::Value;

use super::header;
use super::path::Target;
use crate::api::error::ApiError;
use crate::api::go_json;
use crate::api::request::{Call, PatchKind, Verb};
use crate::api::resource::Resource;
use crate::builtin::decode::json_kind;
use crate::builtin::protobuf;
use crate::plane::Warnings;
use crate::registry::write_options::{self, UnknownFields};
use crate::registry::{self, strategy};

pub(super) async fn call(
    user: &str,
    resource: &Resource,
    target: Target,
    request: Request<Body>,
    warnings: &Warnings,
) -> Result<Call, ApiError> {
    let query = request.uri().query().unwrap_or("").as_bytes();
    let params: Vec<(String, String)> = form_urlencoded::parse(query).into_owned().collect();
    let verb = verb(request.method(), resource, &target, &params, content_type(&request))?;
    registry::check_scope(resource, target.namespace.as_deref(), verb)?;
    let Target { resource: gvr, namespace, name, subresource, .. } = target;
    let mut call =
        Call { user: user.to_owned(), verb, resource: gvr, namespace, name, subresource, params, body: None };
    let sent = sent(&call, resource, request, warnings).await?;
    call.body = body(&call, resource, &sent)?;
    Ok(call)
}

fn content_type(request: &Request<Body>) -> &str {
    header(request.headers(), &CONTENT_TYPE).split(';').next().unwrap_or("").trim()
}

fn verb(
    method: &Method,
    resource: &Resource,
    target: &Target,
    params: &[(String, String)],
    content_type: &str,
) -> Result<Verb, ApiError> {
    let watches =
        target.is_watch || params.iter().any(|(key, value)| key == "watch" && matches!(value.as_str(), "true" | "1"));
    match (method, &target.name, &target.subresource) {
        (&Method::GET, None, _) if watches => Ok(Verb::Watch),
        (&Method::GET, None, _) => Ok(Verb::List),
        (&Method::GET, Some(_), _) => Ok(Verb::Get),
        (&Method::POST, None, None) | (&Method::POST, Some(_), Some(_)) => {
            Format::of(content_type, resource).map(|_| Verb::Create)
        }
        (&Method::POST, Some(_), None) if resource.is_custom() => {
            Format::of(content_type, resource).map(|_| Verb::Create)
        }
        (&Method::PUT | &Method::PATCH, None, None) if resource.is_custom() => {
            Err(ApiError::bad_request("name must be provided"))
        }
        (&Method::PUT, Some(_), _) => Format::of(content_type, resource).map(|_| Verb::Update),
        (&Method::PATCH, Some(_), _) => patch_kind(content_type).map(Verb::Patch),
        (&Method::DELETE, Some(_), None) => Ok(Verb::Delete),
        (&Method::DELETE, None, None) => Ok(Verb::DeleteCollection),
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Yaml,
    Protobuf,
}

impl Format {
    /// The format of an object. Custom ones have no protobuf.
    fn of(content_type: &str, resource: &Resource) -> Result<Self, ApiError> {
        const KNOWN: [&str; 3] = ["application/json", "application/yaml", PROTOBUF];
        let known = if resource.is_custom() { &KNOWN[..2] } else { &KNOWN };
        match Self::named(content_type) {
            Some(Self::Protobuf) if resource.is_custom() => Err(ApiError::unknown_format(known)),
            Some(format) => Ok(format),
            None => Err(ApiError::unknown_format(known)),
        }
    }

    fn named(content_type: &str) -> Option<Self> {
        match content_type {
            "" | "application/json" => Some(Self::Json),
            "application/yaml" => Some(Self::Yaml),
            PROTOBUF => Some(Self::Protobuf),
            _ => None,
        }
    }
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fn patch_kind(content_type: &str) -> Result<PatchKind, ApiError> {
    match content_type {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchKind::StrategicMerge),
        "application/apply-patch+yaml" => Ok(PatchKind::Apply),
        _ => Err(unsupported()),
    }
}

/// The error of the API server's router.
fn unsupported() -> ApiError {
    ApiError {
        details: Some(serde_json::json!({})),
        ..ApiError::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    }
}

/// A body, as it was sent.
struct Sent {
    bytes: Bytes,
    format: Format,
}

/// Reads the body of a request. Duplicate fields are warned of, or rejected.
async fn sent(call: &Call, resource: &Resource, request: Request<Body>, warnings: &Warnings) -> Result<Sent, ApiError> {
    // Patches have types of their own, in JSON or YAML.
    let content_type = content_type(&request);
    let other = if content_type.ends_with("yaml") { Format::Yaml } else { Format::Json };
    let format = Format::named(content_type).unwrap_or(other);
    let bytes = request.into_body().collect_bytes().await.map_err(|e| ApiError::bad_request(e.to_string()))?;
    let may_repeat = matches!(call.verb, Verb::Create | Verb::Update) && format != Format::Protobuf;
    let twice = if may_repeat { go_json::duplicates(&bytes) } else { Vec::new() };
    let duplicates: Vec<String> = twice.iter().map(|field| format!("duplicate field {field:?}")).collect();
    match write_options::unknown_fields(call) {
        UnknownFields::Refused if !duplicates.is_empty() => {
            let problem = format!("strict decoding error: {}", duplicates.join(", "));
            return Err(strategy::unhandled(resource, &resource.kind, &problem));
        }
        UnknownFields::Warned => duplicates.into_iter().for_each(|text| warnings.add(text)),
        _ => {}
    }
    Ok(Sent { bytes, format })
}

/// The body of a request, parsed.
fn body(call: &Call, resource: &Resource, sent: &Sent) -> Result<Option<Value>, ApiError> {
    let Sent { bytes, format } = sent;
    let kind = if call.subresource.as_deref() == Some("scale") { "Scale" } else { &resource.kind };
    let parsed = match format {
        Format::Json => go_json::parse(bytes),
        Format::Yaml => yaml(bytes),
        Format::Protobuf => protobuf::decode(bytes),
    };
    match (call.verb, parsed) {
        (Verb::Get | Verb::List | Verb::Watch, _) => Ok(None),
        (Verb::Delete | Verb::DeleteCollection, _) if bytes.is_empty() => Ok(None),
        (Verb::Create | Verb::Update, Ok(value)) if !value.is_object() => {
            Err(unrecognized(kind, &not_an_object(&value), bytes))
        }
        (_, Ok(value)) => Ok(Some(value)),
        (Verb::Patch(PatchKind::Apply), Err(problem)) => {
            Err(ApiError::bad_request(format!("error decoding YAML: {problem}")))
        }
        (Verb::Patch(_), Err(problem)) => Err(ApiError::bad_request(format!("error decoding patch: {problem}"))),
        (Verb::Delete | Verb::DeleteCollection, Err(problem)) => {
            Err(ApiError::bad_request(format!("couldn't get version/kind; json parse error: {problem}")))
        }
        (Verb::Create | Verb::Update, Err(problem)) => Err(unrecognized(kind, &problem, bytes)),
    }
}

fn yaml(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

fn not_an_object(value: &Value) -> String {
    let target =
        r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    format!("json: cannot unmarshal {} into Go value of type {target}", json_kind(value))
}

fn unrecognized(kind: &str, problem: &str, bytes: &[u8]) -> ApiError {
    let summary = summary(bytes);
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {problem} ({summary})"
    ))
}

/// The beginning of a body, as text if it looks like an object.
fn summary(bytes: &[u8]) -> String {
    const BYTES_MAX: usize = 30;
    let (start, more) = if bytes.len() > BYTES_MAX { (&bytes[..BYTES_MAX], " ...") } else { (bytes, "") };
    match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => start.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + more,
    }
}
