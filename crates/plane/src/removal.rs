//! How an object goes: at once, after its grace, or when its last finalizer lets it.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use crate::crd;
use crate::meta;
use crate::resource::Resource;
use crate::state::{State, stamp};
use crate::store::Entry;

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// How long pods have to end, if nobody says.
const GRACE_SECONDS: i64 = 30;

/// What becomes of an object's dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// How to delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
}

impl Manner {
    pub(crate) fn propagating(propagation: Propagation) -> Self {
        Self { propagation: Some(propagation), ..Self::default() }
    }
}

/// What a deletion came to.
#[derive(Clone, Debug)]
pub(crate) enum Removed {
    Gone(Arc<Value>),
    /// It is still there, marked.
    Going(Arc<Value>),
}

/// Deletes an object that is there.
pub(crate) fn remove(state: &mut State, entry: Entry<'_>, object: &Arc<Value>, manner: Manner) -> Removed {
    if entry.resource.is("", "namespaces") {
        return remove_namespace(state, entry, object);
    }
    if crd::is_definition(entry.resource) {
        return remove_definition(state, entry, object);
    }
    let grace = match graceful(entry.resource, object, manner, entry.at) {
        Grace::Pending => return Removed::Going(object.clone()),
        Grace::None => None,
        Grace::Marked(marks) => Some(marks),
    };
    let mut marked = Value::clone(object);
    set_finalizers(&mut marked, manner.propagation);
    let finalizers_pending = meta::finalizers(&marked).next().is_some();
    let seconds = match grace {
        Some(Marks { at, seconds }) => {
            mark(&mut marked, at, seconds);
            seconds
        }
        None if finalizers_pending => {
            mark(&mut marked, entry.at, 0);
            0
        }
        None => return gone(state, entry, object),
    };
    let kept = if marked == **object { object.clone() } else { state.store.put(entry, marked) };
    match finalizers_pending || seconds > 0 {
        true => Removed::Going(kept),
        false => gone(state, entry, &kept),
    }
}

fn gone(state: &mut State, entry: Entry<'_>, object: &Arc<Value>) -> Removed {
    Removed::Gone(state.store.remove(entry).unwrap_or_else(|| object.clone()))
}

/// A namespace waits until its content is gone.
fn remove_namespace(state: &mut State, entry: Entry<'_>, object: &Arc<Value>) -> Removed {
    if meta::is_deleting(object) {
        return Removed::Going(object.clone());
    }
    let mut marked = Value::clone(object);
    meta::set_text(&mut marked, "deletionTimestamp", &stamp(entry.at));
    marked["status"]["phase"] = json!("Terminating");
    Removed::Going(state.store.put(entry, marked))
}

/// A definition waits until its objects are gone.
fn remove_definition(state: &mut State, entry: Entry<'_>, object: &Arc<Value>) -> Removed {
    let mut marked = Value::clone(object);
    if !meta::is_deleting(object) {
        meta::set_text(&mut marked, "deletionTimestamp", &stamp(entry.at));
    }
    let others = meta::without_finalizer(object, crd::CLEANUP).into_iter();
    meta::set_finalizers(&mut marked, others.chain([crd::CLEANUP.to_owned()]).collect());
    crd::mark_terminating(&mut marked, entry.at);
    let kept = if marked == **object { object.clone() } else { state.store.put(entry, marked) };
    Removed::Going(kept)
}

struct Marks {
    at: DateTime<Utc>,
    seconds: i64,
}

enum Grace {
    /// It is not asked for, or over.
    None,
    /// It runs, and cannot be made longer.
    Pending,
    Marked(Marks),
}

/// Pods have time to end; everything else has none.
fn graceful(resource: &Resource, object: &Value, manner: Manner, now: DateTime<Utc>) -> Grace {
    if !resource.is("", "pods") {
        return Grace::None;
    }
    let asked = manner.grace_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let running = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    if meta::is_deleting(object) {
        return match (running, asked) {
            (None | Some(0), _) => Grace::None,
            (Some(running), Some(asked)) if asked < running => Grace::Marked(shortened(object, running, asked, now)),
            _ => Grace::Pending,
        };
    }
    let seconds = pod_grace(object, asked);
    Grace::Marked(Marks { at: now + Duration::seconds(seconds), seconds })
}

fn shortened(object: &Value, running: i64, asked: i64, now: DateTime<Utc>) -> Marks {
    let ends = DateTime::parse_from_rfc3339(meta::text(object, "deletionTimestamp")).map_or(now, |at| at.to_utc());
    let at = ends + Duration::seconds(asked - running);
    match (at < now, asked) {
        (false, seconds) => Marks { at, seconds },
        (true, 0) => Marks { at: now, seconds: 0 },
        (true, _) => Marks { at: now, seconds: 1 },
    }
}

/// Pods that run nowhere, or no more, need no time.
fn pod_grace(pod: &Value, asked: Option<i64>) -> i64 {
    let runs = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    if !runs || matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded")) {
        return 0;
    }
    asked.or_else(|| pod["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or(GRACE_SECONDS)
}

fn mark(object: &mut Value, at: DateTime<Utc>, seconds: i64) {
    if !meta::is_deleting(object) && meta::generation(object) > 0 {
        meta::set(object, "generation", json!(meta::generation(object) + 1));
    }
    let at = stamp(at);
    if !meta::is_deleting(object) || meta::text(object, "deletionTimestamp") > at.as_str() {
        meta::set_text(object, "deletionTimestamp", &at);
    }
    meta::set(object, "deletionGracePeriodSeconds", json!(seconds));
}

/// Orphaning and foreground deletion are finalizers.
fn set_finalizers(object: &mut Value, propagation: Option<Propagation>) {
    let mut finalizers: Vec<String> = meta::finalizers(object).map(str::to_owned).collect();
    if let Some(propagation) = propagation {
        finalizers.retain(|name| name != ORPHAN && name != FOREGROUND);
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(FOREGROUND.to_owned()),
            Propagation::Orphan => finalizers.push(ORPHAN.to_owned()),
        }
    }
    meta::set_finalizers(object, finalizers);
}
