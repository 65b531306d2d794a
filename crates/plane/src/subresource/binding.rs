//! `pods/NAME/binding`: the scheduler's word on which node a pod runs.

use serde_json::{Value, json};

use crate::answer::{Answer, Content};
use crate::call::{AsOf, Verb};
use crate::error::ApiError;
use crate::meta;
use crate::settle;
use crate::store::Entry;
use crate::verbs::{Ask, get};
use crate::write;

pub(crate) fn answer(ask: &Ask<'_>) -> Result<Answer, ApiError> {
    if ask.call.verb != Verb::Create {
        return Err(ApiError::method_not_allowed());
    }
    let node = ask.call.body.as_ref().and_then(|body| body["target"]["name"].as_str()).unwrap_or("");
    if node.is_empty() {
        return Err(ApiError::bad_request("a binding needs a target"));
    }
    let now = ask.plane.now();
    ask.plane.write(|state| {
        let pod = get::find(state, ask, AsOf::default())?;
        let bound = bound(ask, &pod, node)?;
        let entry =
            Entry { resource: ask.resource, namespace: ask.namespace(), name: ask.name(), by: &ask.call.user, at: now };
        write::replace(state, entry, &pod, bound);
        settle::settle(state, now);
        Ok(())
    })?;
    let done = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(Answer { code: 201, content: Content::Other(done) })
}

/// The pod on its node. It is bound once.
fn bound(ask: &Ask<'_>, pod: &Value, node: &str) -> Result<Value, ApiError> {
    let refuse = |why: String| Err(ApiError::conflict(&ask.resource.group_resource(), ask.name(), &why));
    let place = pod["spec"]["nodeName"].as_str().unwrap_or("");
    if meta::is_deleting(pod) {
        return refuse(format!("pod {} is being deleted, cannot be assigned to a host", ask.name()));
    }
    if !place.is_empty() {
        return refuse(format!("pod {} is already assigned to node {place:?}", ask.name()));
    }
    let mut bound = pod.clone();
    bound["spec"]["nodeName"] = json!(node);
    Ok(bound)
}
