//! Server-side apply, as for one manager who forces: what it applies is laid over the object, and what it applied before
//! and no longer does is taken away. Other managers' claims are not looked at, so there are no conflicts.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::call::{AsOf, PatchKind};
use crate::error::ApiError;
use crate::meta;
use crate::patch;
use crate::prepare::Part;
use crate::verbs::{Ask, create, get};
use crate::write::{self, UidRule};

pub(crate) async fn answer(ask: &Ask<'_>, part: Part, applied: &Value) -> Result<Answer, ApiError> {
    let manager = manager(ask);
    check_named(applied)?;
    let answer = match get::find(&ask.plane.state(), ask, AsOf::default()) {
        Err(missing) if part != Part::Main => Err(missing),
        Err(_) => Ok(None),
        Ok(found) => Ok(Some(meta::uid(&found).to_owned())),
    }?;
    let answer = match answer {
        None => Answer::created(create::create(ask, named(ask, applied)).await?),
        Some(uid) => {
            let before = ask.plane.state().applied.get(&(uid, manager.clone())).cloned().unwrap_or_default();
            let changed =
                write::rewrite(ask, part, UidRule::Immutable, |old| laid_over(ask, old, &before, applied)).await?;
            Answer::object(changed)
        }
    };
    remember(ask, manager, applied);
    Ok(answer)
}

/// Whose claims they are. (That there is a name was checked.)
fn manager(ask: &Ask<'_>) -> String {
    let manager = ask.call.param("fieldManager").unwrap_or("");
    format!("{manager}/{}", ask.call.subresource.as_deref().unwrap_or(""))
}

fn check_named(applied: &Value) -> Result<(), ApiError> {
    if !applied["metadata"]["managedFields"].as_array().is_none_or(Vec::is_empty) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// The name in the path is enough.
fn named(ask: &Ask<'_>, applied: &Value) -> Value {
    let mut object = applied.clone();
    meta::set_text(&mut object, "name", ask.name());
    object
}

fn laid_over(ask: &Ask<'_>, old: &Value, before: &Value, applied: &Value) -> Result<Value, ApiError> {
    let kind = if ask.resource.is_custom() { PatchKind::Merge } else { PatchKind::StrategicMerge };
    let cleared = match given_up(before, applied) {
        Some(removal) => patch::apply(PatchKind::Merge, &ask.resource.gvr, old, &removal)?,
        None => old.clone(),
    };
    patch::apply(kind, &ask.resource.gvr, &cleared, &named(ask, applied))
}

/// A merge patch that takes away what was applied before and is no longer; none if that is nothing. Lists are left alone:
/// they are replaced as a whole or merged by key.
fn given_up(before: &Value, now: &Value) -> Option<Value> {
    let (before, now) = (before.as_object()?, now.as_object()?);
    let mut removal = Map::new();
    for (field, value) in before {
        let removed = match now.get(field) {
            None => Some(json!(null)),
            Some(still) => given_up(value, still),
        };
        removal.extend(removed.map(|removed| (field.clone(), removed)));
    }
    (!removal.is_empty()).then(|| removal.into())
}

fn remember(ask: &Ask<'_>, manager: String, applied: &Value) {
    if ask.call.is_dry_run() {
        return;
    }
    let mut state = ask.plane.state();
    if let Ok(found) = get::find(&state, ask, AsOf::default()) {
        state.applied.insert((meta::uid(&found).to_owned(), manager), applied.clone());
    }
}
