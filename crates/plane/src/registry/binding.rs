//! `pods/NAME/binding`: binds a pod to a node.

use serde_json::{Value, json};

use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::request::{AsOf, Verb};
use crate::api::response::{ApiResponse, Content};
use crate::lifecycle;
use crate::plane::RequestContext;
use crate::registry::get;
use crate::storage::replace::replace;
use crate::storage::store::Entry;

pub(crate) fn handle(context: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    if context.call.verb != Verb::Create {
        return Err(ApiError::method_not_allowed());
    }
    let node = context.call.body.as_ref().and_then(|body| body["target"]["name"].as_str()).unwrap_or("");
    if node.is_empty() {
        return Err(ApiError::bad_request("a binding needs a target"));
    }
    let now = context.plane.now();
    context.plane.write(|state| {
        let pod = get::find(state, context, AsOf::default())?;
        let bound = bound(context, &pod, node)?;
        let entry = Entry {
            resource: context.resource,
            namespace: context.namespace(),
            name: context.name(),
            by: &context.call.user,
            at: now,
        };
        replace(state, entry, &pod, bound);
        lifecycle::reconcile(state, now);
        Ok(())
    })?;
    let done = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(ApiResponse { code: 201, content: Content::Other(done) })
}

/// The pod on its node. It is bound once.
fn bound(context: &RequestContext<'_>, pod: &Value, node: &str) -> Result<Value, ApiError> {
    let refuse = |why: String| Err(ApiError::conflict(&context.resource.group_resource(), context.name(), &why));
    let place = pod["spec"]["nodeName"].as_str().unwrap_or("");
    if meta::is_deleting(pod) {
        return refuse(format!("pod {} is being deleted, cannot be assigned to a host", context.name()));
    }
    if !place.is_empty() {
        return refuse(format!("pod {} is already assigned to node {place:?}", context.name()));
    }
    let mut bound = pod.clone();
    bound["spec"]["nodeName"] = json!(node);
    Ok(bound)
}
