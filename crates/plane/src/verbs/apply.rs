//! Server-side apply: what a manager applies is laid over the object, and what it applied before and no longer does is taken
//! away, unless somebody else owns that too. What others own with another value is a conflict, unless it is forced.
//!
//! Managers are remembered by what they applied. All who wrote otherwise count as one, by the state in which the first
//! apply found the object.

mod leaves;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::leaves::{Leaves, leaves, remove};
use crate::answer::Answer;
use crate::call::{AsOf, PatchKind};
use crate::error::ApiError;
use crate::meta;
use crate::patch;
use crate::prepare::Part;
use crate::verbs::{Ask, create, get};
use crate::write::{self, UidRule};

/// All who did not apply.
const UPDATERS: &str = "unknown";

/// What each manager owns.
type Claims = BTreeMap<String, Leaves>;

pub(crate) async fn answer(ask: &Ask<'_>, part: Part, applied: &Value) -> Result<Answer, ApiError> {
    let manager = manager(ask);
    check_named(ask, applied)?;
    let found = match get::find(&ask.plane.state(), ask, AsOf::default()) {
        Err(missing) if part != Part::Main => return Err(missing),
        found => found.ok(),
    };
    let answer = match found {
        None => Answer::created(create::create(ask, named(ask, applied)).await?),
        Some(found) => {
            let mut claims = claims(ask, &found, part);
            let before = claims.remove(&manager).unwrap_or_default();
            check_conflicts(ask, &claims, &found, applied)?;
            let changed =
                write::rewrite(ask, part, UidRule::Immutable, |old| laid_over(ask, old, &before, &claims, applied));
            Answer::object(changed.await?)
        }
    };
    note(ask, &manager, applied);
    Ok(answer)
}

/// Whose claims they are. (That there is a name was checked.)
fn manager(ask: &Ask<'_>) -> String {
    let manager = ask.call.param("fieldManager").unwrap_or("");
    format!("{manager}/{}", ask.call.subresource.as_deref().unwrap_or(""))
}

fn check_named(ask: &Ask<'_>, applied: &Value) -> Result<(), ApiError> {
    let text = |field: &str| applied[field].as_str().unwrap_or("");
    if (text("apiVersion"), text("kind")) != (ask.resource.gvr.api_version().as_str(), ask.resource.kind.as_str()) {
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        return Err(ApiError::bad_request(format!("invalid object type: {group}/{version}, Kind={}", text("kind"))));
    }
    if !applied["metadata"]["managedFields"].as_array().is_none_or(Vec::is_empty) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    match meta::name(applied).is_empty() {
        true => Ok(()),
        false => write::check_name(ask, applied),
    }
}

/// The name in the path is enough.
fn named(ask: &Ask<'_>, applied: &Value) -> Value {
    let mut object = applied.clone();
    meta::set_text(&mut object, "name", ask.name());
    object
}

/// Who owns what. Where nobody has applied yet, everything is the updaters'.
fn claims(ask: &Ask<'_>, object: &Value, part: Part) -> Claims {
    let mut state = ask.plane.state();
    let uid = meta::uid(object).to_owned();
    if part == Part::Main && !state.applied.keys().any(|(of, _)| *of == uid) {
        state.applied.insert((uid.clone(), format!("{UPDATERS}/")), object.clone());
    }
    let of_object = state.applied.iter().filter(|((of, _), _)| *of == uid);
    of_object.map(|((_, manager), applied)| (manager.clone(), leaves(&ask.resource.gvr, applied))).collect()
}

/// Refuses to take what others own and what would change by it.
fn check_conflicts(ask: &Ask<'_>, claims: &Claims, object: &Value, applied: &Value) -> Result<(), ApiError> {
    if ask.call.flag("force") == Some(true) {
        return Ok(());
    }
    let current = leaves(&ask.resource.gvr, object);
    let mut conflicts: Vec<(String, String)> = Vec::new();
    for (place, value) in leaves(&ask.resource.gvr, applied) {
        let is_owner = |(_, owned): &(&String, &Leaves)| owned.get(&place).is_some_and(|theirs| *theirs != value);
        let changes = current.get(&place).is_some_and(|now| *now != value);
        for (manager, _) in claims.iter().filter(is_owner).filter(|_| changes) {
            conflicts.push((owner_name(ask, manager), place.to_string()));
        }
    }
    match conflicts.is_empty() {
        true => Ok(()),
        false => Err(conflict(&conflicts)),
    }
}

/// As messages name a manager: updaters with the version they used.
fn owner_name(ask: &Ask<'_>, manager: &str) -> String {
    match manager.trim_end_matches('/') {
        UPDATERS => format!("{UPDATERS:?} using {}", ask.resource.gvr.api_version()),
        name => format!("{name:?}"),
    }
}

fn conflict(conflicts: &[(String, String)]) -> ApiError {
    let message = match conflicts {
        [(manager, place)] => format!("Apply failed with 1 conflict: conflict with {manager}: {place}"),
        many => {
            let lines: Vec<String> =
                many.iter().map(|(manager, place)| format!("conflicts with {manager}:\n- {place}")).collect();
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|(manager, place)| json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": place }))
        .collect();
    ApiError { details: Some(json!({ "causes": causes })), ..ApiError::new(409, "Conflict", message) }
}

fn laid_over(ask: &Ask<'_>, old: &Value, before: &Leaves, others: &Claims, applied: &Value) -> Result<Value, ApiError> {
    let kind = if ask.resource.is_custom() { PatchKind::Merge } else { PatchKind::StrategicMerge };
    let now = leaves(&ask.resource.gvr, applied);
    let mut cleared = old.clone();
    let given_up = before.keys().filter(|place| !now.contains_key(place));
    for place in given_up.filter(|place| !others.values().any(|owned| owned.contains_key(place))) {
        remove(&mut cleared, &place.0);
    }
    patch::apply(kind, &ask.resource.gvr, &cleared, &named(ask, applied))
}

/// Remembers what was applied. What was forced is no longer owned by others.
fn note(ask: &Ask<'_>, manager: &str, applied: &Value) {
    if ask.call.is_dry_run() {
        return;
    }
    let mut state = ask.plane.state();
    let Ok(found) = get::find(&state, ask, AsOf::default()) else { return };
    let uid = meta::uid(&found).to_owned();
    let taken = leaves(&ask.resource.gvr, applied);
    for ((of, other), theirs) in &mut state.applied {
        if *of == uid && other != manager && ask.call.flag("force") == Some(true) {
            let owned = leaves(&ask.resource.gvr, theirs);
            let lost = owned.iter().filter(|(place, value)| taken.get(place).is_some_and(|now| now != *value));
            lost.for_each(|(place, _)| remove(theirs, &place.0));
        }
    }
    state.applied.insert((uid, manager.to_owned()), applied.clone());
}
