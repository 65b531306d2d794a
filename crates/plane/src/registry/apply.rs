//! Server-side apply: the applied configuration is merged into the object, and fields that the manager no longer applies are
//! removed, unless another manager owns them too. A field that another manager owns with another value is a conflict, unless forced.
//!
//! Managers are known by what they applied. All that wrote otherwise count as one, by the state in which the first
//! apply found the object.

mod leaves;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::leaves::{Leaves, leaves, remove};
use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::request::{AsOf, PatchKind};
use crate::api::response::ApiResponse;
use crate::patch;
use crate::plane::RequestContext;
use crate::registry::rewrite::{self, UidRule};
use crate::registry::strategy::Part;
use crate::registry::{create, get};

/// The manager of all writes that were not applies.
const UPDATERS: &str = "unknown";

/// What each manager owns.
type Claims = BTreeMap<String, Leaves>;

pub(crate) async fn handle(context: &RequestContext<'_>, part: Part, applied: &Value) -> Result<ApiResponse, ApiError> {
    let manager = manager(context);
    check_named(context, applied)?;
    let found = match get::find(&context.plane.state(), context, AsOf::default()) {
        Err(missing) if part != Part::Main => return Err(missing),
        found => found.ok(),
    };
    let answer = match found {
        None => ApiResponse::created(create::create(context, named(context, applied)).await?),
        Some(found) => {
            let mut claims = claims(context, &found, part);
            let before = claims.remove(&manager).unwrap_or_default();
            check_conflicts(context, &claims, &found, applied)?;
            let changed = rewrite::rewrite(context, part, UidRule::Immutable, |old| {
                laid_over(context, old, &before, &claims, applied)
            });
            ApiResponse::object(changed.await?)
        }
    };
    note(context, &manager, applied);
    Ok(answer)
}

/// The field manager. (Its presence was checked.)
fn manager(context: &RequestContext<'_>) -> String {
    let manager = context.call.param("fieldManager").unwrap_or("");
    format!("{manager}/{}", context.call.subresource.as_deref().unwrap_or(""))
}

fn check_named(context: &RequestContext<'_>, applied: &Value) -> Result<(), ApiError> {
    let text = |field: &str| applied[field].as_str().unwrap_or("");
    if (text("apiVersion"), text("kind"))
        != (context.resource.gvr.api_version().as_str(), context.resource.kind.as_str())
    {
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        return Err(ApiError::bad_request(format!("invalid object type: {group}/{version}, Kind={}", text("kind"))));
    }
    if !applied["metadata"]["managedFields"].as_array().is_none_or(Vec::is_empty) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    match meta::name(applied).is_empty() {
        true => Ok(()),
        false => rewrite::check_name(context, applied),
    }
}

/// The name in the path is enough.
fn named(context: &RequestContext<'_>, applied: &Value) -> Value {
    let mut object = applied.clone();
    meta::set_text(&mut object, "name", context.name());
    object
}

/// The owners of all fields. Before the first apply, the updaters own everything.
fn claims(context: &RequestContext<'_>, object: &Value, part: Part) -> Claims {
    let mut state = context.plane.state();
    let uid = meta::uid(object).to_owned();
    if part == Part::Main && !state.applied.keys().any(|(of, _)| *of == uid) {
        state.applied.insert((uid.clone(), format!("{UPDATERS}/")), object.clone());
    }
    let of_object = state.applied.iter().filter(|((of, _), _)| *of == uid);
    of_object.map(|((_, manager), applied)| (manager.clone(), leaves(&context.resource.gvr, applied))).collect()
}

/// Rejects changes of fields that other managers own.
fn check_conflicts(
    context: &RequestContext<'_>,
    claims: &Claims,
    object: &Value,
    applied: &Value,
) -> Result<(), ApiError> {
    if context.call.flag("force") == Some(true) {
        return Ok(());
    }
    let current = leaves(&context.resource.gvr, object);
    let mut conflicts: Vec<(String, String)> = Vec::new();
    for (path, value) in leaves(&context.resource.gvr, applied) {
        let is_owner = |(_, owned): &(&String, &Leaves)| owned.get(&path).is_some_and(|theirs| *theirs != value);
        let changes = current.get(&path).is_some_and(|now| *now != value);
        for (manager, _) in claims.iter().filter(is_owner).filter(|_| changes) {
            conflicts.push((owner_name(context, manager), path.to_string()));
        }
    }
    match conflicts.is_empty() {
        true => Ok(()),
        false => Err(conflict(&conflicts)),
    }
}

/// A manager as messages name it: updaters with the version they used.
fn owner_name(context: &RequestContext<'_>, manager: &str) -> String {
    match manager.trim_end_matches('/') {
        UPDATERS => format!("{UPDATERS:?} using {}", context.resource.gvr.api_version()),
        name => format!("{name:?}"),
    }
}

fn conflict(conflicts: &[(String, String)]) -> ApiError {
    let message = match conflicts {
        [(manager, path)] => format!("Apply failed with 1 conflict: conflict with {manager}: {path}"),
        many => {
            let lines: Vec<String> =
                many.iter().map(|(manager, path)| format!("conflicts with {manager}:\n- {path}")).collect();
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|(manager, path)| json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": path }))
        .collect();
    ApiError { details: Some(json!({ "causes": causes })), ..ApiError::new(409, "Conflict", message) }
}

fn laid_over(
    context: &RequestContext<'_>,
    old: &Value,
    before: &Leaves,
    others: &Claims,
    applied: &Value,
) -> Result<Value, ApiError> {
    let kind = if context.resource.is_custom() { PatchKind::Merge } else { PatchKind::StrategicMerge };
    let now = leaves(&context.resource.gvr, applied);
    let mut cleared = old.clone();
    let given_up = before.keys().filter(|path| !now.contains_key(path));
    for path in given_up.filter(|path| !others.values().any(|owned| owned.contains_key(path))) {
        remove(&mut cleared, &path.0);
    }
    patch::apply(kind, &context.resource.gvr, &cleared, &named(context, applied))
}

/// Stores what was applied. Forced fields are no longer owned by others.
fn note(context: &RequestContext<'_>, manager: &str, applied: &Value) {
    if context.call.is_dry_run() {
        return;
    }
    let mut state = context.plane.state();
    let Ok(found) = get::find(&state, context, AsOf::default()) else { return };
    let uid = meta::uid(&found).to_owned();
    let taken = leaves(&context.resource.gvr, applied);
    for ((of, other), theirs) in &mut state.applied {
        if *of == uid && other != manager && context.call.flag("force") == Some(true) {
            let owned = leaves(&context.resource.gvr, theirs);
            let lost = owned.iter().filter(|(path, value)| taken.get(path).is_some_and(|now| now != *value));
            lost.for_each(|(path, _)| remove(theirs, &path.0));
        }
    }
    state.applied.insert((uid, manager.to_owned()), applied.clone());
}
