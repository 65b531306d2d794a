//! `serviceaccounts/NAME/token`: tokens that say whose they are.

use chrono::Duration;
use serde_json::{Value, json};

use crate::answer::{Answer, Content};
use crate::call::{AsOf, Verb};
use crate::error::ApiError;
use crate::meta;
use crate::state::stamp;
use crate::verbs::{Ask, get};

const LASTS_SECONDS: i64 = 3600;

pub(crate) fn answer(ask: &Ask<'_>) -> Result<Answer, ApiError> {
    if ask.call.verb != Verb::Create {
        return Err(ApiError::method_not_allowed());
    }
    let account = get::find(&ask.plane.state(), ask, AsOf::default())?;
    let spec = ask.call.body.as_ref().map_or(Value::Null, |body| body["spec"].clone());
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or(LASTS_SECONDS);
    let name = format!("system:serviceaccount:{}:{}", ask.namespace().unwrap_or(""), ask.name());
    let audiences = if spec["audiences"].is_array() {
        spec["audiences"].clone()
    } else {
        json!(["https://kubernetes.default.svc"])
    };
    let token = json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": { "name": ask.name(), "namespace": meta::namespace(&account), "uid": meta::uid(&account), "creationTimestamp": stamp(ask.plane.now()) },
        "spec": { "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": spec["boundObjectRef"] },
        "status": { "token": (ask.plane.options().issue)(&name), "expirationTimestamp": stamp(ask.plane.now() + Duration::seconds(seconds)) },
    });
    Ok(Answer { code: 201, content: Content::Other(token) })
}
