//! `serviceaccounts/NAME/token`: issues a token.

use chrono::Duration;
use serde_json::{Value, json};

use crate::api::error::ApiError;
use crate::api::meta::{self, stamp};
use crate::api::request::{AsOf, Verb};
use crate::api::response::{ApiResponse, Content};
use crate::plane::RequestContext;
use crate::registry::get;

const LASTS_SECONDS: i64 = 3600;

pub(crate) fn handle(context: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    if context.call.verb != Verb::Create {
        return Err(ApiError::method_not_allowed());
    }
    let account = get::find(&context.plane.state(), context, AsOf::default())?;
    let spec = context.call.body.as_ref().map_or(Value::Null, |body| body["spec"].clone());
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or(LASTS_SECONDS);
    let name = format!("system:serviceaccount:{}:{}", context.namespace().unwrap_or(""), context.name());
    let audiences: Vec<String> = serde_json::from_value(spec["audiences"].clone())
        .unwrap_or_else(|_| vec!["https://kubernetes.default.svc".to_owned()]);
    let token = json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": { "name": context.name(), "namespace": meta::namespace(&account), "uid": meta::uid(&account), "creationTimestamp": stamp(context.plane.now()) },
        "spec": { "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": spec["boundObjectRef"] },
        "status": { "token": (context.plane.options().issue)(&name, &audiences), "expirationTimestamp": stamp(context.plane.now() + Duration::seconds(seconds)) },
    });
    Ok(ApiResponse { code: 201, content: Content::Other(token) })
}
