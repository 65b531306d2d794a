//! A new object.

use std::sync::Arc;

use serde_json::Value;

use crate::admission::{self, Operation};
use crate::answer::Answer;
use crate::convert;
use crate::error::ApiError;
use crate::meta;
use crate::namespace;
use crate::prepare::{self, Part};
use crate::settle;
use crate::state::{State, stamp};
use crate::store::{Entry, key};
use crate::strict;
use crate::verbs::Ask;
use crate::write;

/// As much of a prefix as leaves room for five characters in 63.
const PREFIX_MAX: usize = 58;

pub(crate) async fn answer(ask: &Ask<'_>) -> Result<Answer, ApiError> {
    let body = ask.call.body.clone().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    Ok(Answer::created(create(ask, body).await?))
}

/// Creates an object, and gives it as it is served.
pub(crate) async fn create(ask: &Ask<'_>, object: Value) -> Result<Arc<Value>, ApiError> {
    let mut object = strict::read(ask, object)?;
    place(ask, &mut object)?;
    let mut object = convert::to_stored(ask.resource, object);
    name(ask, &mut object)?;
    write::check(ask.resource, Part::Main, &object, None)?;
    write::warn_of_finalizers(ask, &object, None);
    admission::review(ask, Operation::Create, Some(&object), None).await?;
    Ok(convert::to_served(ask.resource, &store(ask, object)?))
}

/// The namespace is that of the path.
fn place(ask: &Ask<'_>, object: &mut Value) -> Result<(), ApiError> {
    match (meta::namespace(object), ask.namespace()) {
        (Some(given), Some(asked)) if given != asked => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        (_, Some(asked)) => {
            meta::set_text(object, "namespace", asked);
            Ok(())
        }
        (_, None) => Ok(()),
    }
}

/// Gives it a name, if it has none, and what else is decided at birth.
fn name(ask: &Ask<'_>, object: &mut Value) -> Result<(), ApiError> {
    if !meta::resource_version(object).trim_start_matches('0').is_empty() {
        return Err(ApiError::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let created_at = stamp(ask.plane.now());
    let mut state = ask.plane.state();
    namespace::admit_creation(&state, ask.resource, ask.namespace(), meta::name(object))?;
    let prefix = meta::text(object, "generateName");
    if meta::name(object).is_empty() && !prefix.is_empty() {
        let name = format!("{}{}", cut(prefix), state.next_suffix());
        meta::set_text(object, "name", &name);
    }
    let uid = state.next_uid();
    prepare::creation(ask.resource, object, &uid, state.uids(), &created_at);
    Ok(())
}

fn cut(prefix: &str) -> &str {
    &prefix[..prefix.floor_char_boundary(PREFIX_MAX)]
}

fn store(ask: &Ask<'_>, mut object: Value) -> Result<Arc<Value>, ApiError> {
    let (now, name) = (ask.plane.now(), meta::name(&object).to_owned());
    meta::of(&mut object).remove("resourceVersion");
    let entry = Entry { resource: ask.resource, namespace: ask.namespace(), name: &name, by: &ask.call.user, at: now };
    ask.plane.write(|state| {
        refuse_taken(state, ask, &object)?;
        if ask.call.is_dry_run() {
            return Ok(Arc::new(object));
        }
        let created = state.store.put(entry, object);
        settle::settle(state, now);
        Ok(created)
    })
}

fn refuse_taken(state: &State, ask: &Ask<'_>, object: &Value) -> Result<(), ApiError> {
    let name = meta::name(object);
    let Some(taken) = state.store.get(&ask.resource.shelf, &key(ask.namespace(), name)) else { return Ok(()) };
    let mut refusal = ApiError::already_exists(&ask.resource.group_resource(), name);
    if meta::is_deleting(taken) {
        refusal.message = format!("object is being deleted: {}", refusal.message);
    }
    Err(refusal)
}
