//! DELETE of one object.

use serde_json::{Value, json};

use crate::admission::{self, Operation};
use crate::answer::{Answer, Content};
use crate::call::{AsOf, Call};
use crate::convert;
use crate::error::ApiError;
use crate::meta;
use crate::namespace;
use crate::removal::{self, Manner, Propagation, Removed};
use crate::resource::{GroupResource, Resource};
use crate::settle;
use crate::store::Entry;
use crate::verbs::{Ask, get};

pub(crate) async fn answer(ask: &Ask<'_>) -> Result<Answer, ApiError> {
    namespace::admit_deletion(ask.resource, ask.name())?;
    let (manner, wanted) = (manner(ask.call), Preconditions::read(ask.call));
    let found = get::find(&ask.plane.state(), ask, AsOf::default())?;
    admission::review(ask, Operation::Delete, None, Some(&found)).await?;
    let now = ask.plane.now();
    let entry =
        Entry { resource: ask.resource, namespace: ask.namespace(), name: ask.name(), by: &ask.call.user, at: now };
    let removed = ask.plane.write(|state| {
        let found = get::find(state, ask, AsOf::default())?;
        wanted.check(ask.resource, &found)?;
        if ask.call.is_dry_run() {
            return Ok(Removed::Gone(found));
        }
        let removed = removal::remove(state, entry, &found, manner);
        settle::settle(state, now);
        Ok(removed)
    })?;
    Ok(told(ask, removed))
}

/// What is gone is told by a `Status`, for most kinds; what still goes is shown.
fn told(ask: &Ask<'_>, removed: Removed) -> Answer {
    match removed {
        Removed::Going(object) => {
            let code = if ask.call.option("orphanDependents") == Some(json!(false)) { 202 } else { 200 };
            Answer { code, content: Content::Object(convert::to_served(ask.resource, &object)) }
        }
        Removed::Gone(object) if ask.resource.returns_deleted => {
            Answer::object(convert::to_served(ask.resource, &object))
        }
        Removed::Gone(object) => Answer::other(success(ask, &object)),
    }
}

fn success(ask: &Ask<'_>, object: &Value) -> Value {
    let mut details = json!({ "name": ask.name(), "kind": ask.resource.gvr.plural, "uid": meta::uid(object) });
    if !ask.resource.gvr.group.is_empty() {
        details["group"] = json!(ask.resource.gvr.group);
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

/// How to delete, as body and query say.
pub(crate) fn manner(call: &Call) -> Manner {
    let policy = call.option("propagationPolicy");
    let propagation = match (policy.as_ref().and_then(Value::as_str), call.option("orphanDependents")) {
        (Some("Background"), _) | (None, Some(Value::Bool(false))) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(Value::Bool(true))) => Some(Propagation::Orphan),
        _ => None,
    };
    let grace_seconds = call.option("gracePeriodSeconds").and_then(|seconds| seconds.as_i64());
    Manner { grace_seconds, propagation }
}

/// Which object is meant by its name.
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
