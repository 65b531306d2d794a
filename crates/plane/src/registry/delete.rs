//! DELETE of one object.

use serde_json::{Value, json};

use crate::admission::{self, Operation, namespace_lifecycle};
use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::request::{AsOf, Call};
use crate::api::resource::{GroupResource, Resource};
use crate::api::response::{ApiResponse, Content};
use crate::apiextensions::conversion;
use crate::lifecycle;
use crate::plane::RequestContext;
use crate::registry::get;
use crate::storage::deletion::{self, DeleteOptions, Deletion, Propagation};
use crate::storage::store::Entry;

pub(crate) async fn handle(context: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    namespace_lifecycle::admit_deletion(context.resource, context.name())?;
    let (options, wanted) = (delete_options(context.call), Preconditions::read(context.call));
    let found = get::find(&context.plane.state(), context, AsOf::default())?;
    admission::review(context, Operation::Delete, None, Some(&found)).await?;
    let now = context.plane.now();
    let entry = Entry {
        resource: context.resource,
        namespace: context.namespace(),
        name: context.name(),
        by: &context.call.user,
        at: now,
    };
    let removed = context.plane.write(|state| {
        let found = get::find(state, context, AsOf::default())?;
        wanted.check(context.resource, &found)?;
        if context.call.is_dry_run() {
            return Ok(Deletion::Completed(found));
        }
        let removed = deletion::delete(state, entry, &found, options);
        lifecycle::reconcile(state, now);
        Ok(removed)
    })?;
    Ok(deletion_response(context, removed))
}

/// For most kinds, a completed deletion returns a `Status`, and a pending one the object.
fn deletion_response(context: &RequestContext<'_>, removed: Deletion) -> ApiResponse {
    match removed {
        Deletion::Pending(object) => {
            let code = if context.call.option("orphanDependents") == Some(json!(false)) { 202 } else { 200 };
            ApiResponse { code, content: Content::Object(conversion::to_served(context.resource, &object)) }
        }
        Deletion::Completed(object) if context.resource.returns_deleted => {
            ApiResponse::object(conversion::to_served(context.resource, &object))
        }
        Deletion::Completed(object) => ApiResponse::other(success(context, &object)),
    }
}

fn success(context: &RequestContext<'_>, object: &Value) -> Value {
    let mut details = json!({ "name": context.name(), "kind": context.resource.gvr.plural, "uid": meta::uid(object) });
    if !context.resource.gvr.group.is_empty() {
        details["group"] = json!(context.resource.gvr.group);
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

/// The options of a deletion, from body and query.
pub(crate) fn delete_options(call: &Call) -> DeleteOptions {
    let policy = call.option("propagationPolicy");
    let propagation = match (policy.as_ref().and_then(Value::as_str), call.option("orphanDependents")) {
        (Some("Background"), _) | (None, Some(Value::Bool(false))) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(Value::Bool(true))) => Some(Propagation::Orphan),
        _ => None,
    };
    let grace_seconds = call.option("gracePeriodSeconds").and_then(|seconds| seconds.as_i64());
    DeleteOptions { grace_seconds, propagation }
}

/// The preconditions of a deletion.
#[derive(Clone, Debug)]
pub(crate) struct Preconditions {
    uid: Option<String>,
    version: Option<String>,
}

impl Preconditions {
    pub(crate) fn read(call: &Call) -> Self {
        let text = |field: &str| Some(call.body.as_ref()?["preconditions"][field].as_str()?.to_owned());
        Self { uid: text("uid"), version: text("resourceVersion") }
    }

    pub(crate) fn check(&self, resource: &Resource, object: &Value) -> Result<(), ApiError> {
        let qualified = GroupResource::new(&resource.gvr.group, &resource.kind);
        let refuse = |what: &str, wanted: &str, found: &str, how: &str| {
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object might have been {how}"
            );
            Err(ApiError::conflict(&qualified, meta::name(object), &why))
        };
        if let Some(uid) = self.uid.as_ref().filter(|uid| resource.is("", "namespaces") && *uid != meta::uid(object)) {
            let found = meta::uid(object);
            let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {found}");
            return Err(ApiError::conflict(&resource.group_resource(), meta::name(object), &why));
        }
        match (&self.uid, &self.version) {
            (Some(uid), _) if uid != meta::uid(object) => {
                refuse("UID", uid, meta::uid(object), "deleted and then recreated")
            }
            (_, Some(version)) if version != meta::resource_version(object) => {
                refuse("ResourceVersion", version, meta::resource_version(object), "modified")
            }
            _ => Ok(()),
        }
    }
}
