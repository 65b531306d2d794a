//! Deletion: at once, after the grace period, or when the last finalizer is removed.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use crate::api::meta;
use crate::api::resource::Resource;
use crate::builtin::definition;
use crate::storage::state::State;
use crate::storage::store::Entry;

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// The default grace period of pods.
const GRACE_SECONDS: i64 = 30;

/// The propagation policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// The options of a deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
}

impl DeleteOptions {
    pub(crate) fn propagating(propagation: Propagation) -> Self {
        Self { propagation: Some(propagation), ..Self::default() }
    }
}

/// The result of a deletion.
#[derive(Clone, Debug)]
pub(crate) enum Deletion {
    Completed(Arc<Value>),
    /// The object still exists, with a deletionTimestamp.
    Pending(Arc<Value>),
}

/// Deletes an existing object.
pub(crate) fn delete(state: &mut State, entry: Entry<'_>, object: &Arc<Value>, options: DeleteOptions) -> Deletion {
    if entry.resource.is("", "namespaces") {
        return remove_namespace(state, entry, object);
    }
    if definition::is_definition(entry.resource) {
        return remove_definition(state, entry, object);
    }
    let grace = match graceful(entry.resource, object, options, entry.at) {
        Grace::Pending => return Deletion::Pending(object.clone()),
        Grace::None => None,
        Grace::Marked(marks) => Some(marks),
    };
    let mut marked = Value::clone(object);
    set_finalizers(&mut marked, options.propagation);
    let finalizers_pending = meta::finalizers(&marked).next().is_some();
    let seconds = match grace {
        Some(DeletionMark { at, seconds }) => {
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
        true => Deletion::Pending(kept),
        false => gone(state, entry, &kept),
    }
}

fn gone(state: &mut State, entry: Entry<'_>, object: &Arc<Value>) -> Deletion {
    Deletion::Completed(state.store.remove(entry).unwrap_or_else(|| object.clone()))
}

/// A namespace terminates when its content is deleted.
fn remove_namespace(state: &mut State, entry: Entry<'_>, object: &Arc<Value>) -> Deletion {
    if meta::is_deleting(object) {
        return Deletion::Pending(object.clone());
    }
    let mut marked = Value::clone(object);
    meta::set_text(&mut marked, "deletionTimestamp", &meta::stamp(entry.at));
    marked["status"]["phase"] = json!("Terminating");
    Deletion::Pending(state.store.put(entry, marked))
}

/// A definition terminates when its objects are deleted.
fn remove_definition(state: &mut State, entry: Entry<'_>, object: &Arc<Value>) -> Deletion {
    let mut marked = Value::clone(object);
    if !meta::is_deleting(object) {
        meta::set_text(&mut marked, "deletionTimestamp", &meta::stamp(entry.at));
    }
    let others = meta::without_finalizer(object, definition::CLEANUP).into_iter();
    meta::set_finalizers(&mut marked, others.chain([definition::CLEANUP.to_owned()]).collect());
    definition::mark_terminating(&mut marked, entry.at);
    let kept = if marked == **object { object.clone() } else { state.store.put(entry, marked) };
    Deletion::Pending(kept)
}

struct DeletionMark {
    at: DateTime<Utc>,
    seconds: i64,
}

enum Grace {
    /// None is requested, or it is over.
    None,
    /// It is running, and cannot be extended.
    Pending,
    Marked(DeletionMark),
}

/// Only pods have a grace period.
fn graceful(resource: &Resource, object: &Value, options: DeleteOptions, now: DateTime<Utc>) -> Grace {
    if !resource.is("", "pods") {
        return Grace::None;
    }
    let asked = options.grace_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let running = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    if meta::is_deleting(object) {
        return match (running, asked) {
            (None | Some(0), _) => Grace::None,
            (Some(running), Some(asked)) if asked < running => Grace::Marked(shortened(object, running, asked, now)),
            _ => Grace::Pending,
        };
    }
    let seconds = pod_grace(object, asked);
    Grace::Marked(DeletionMark { at: now + Duration::seconds(seconds), seconds })
}

fn shortened(object: &Value, running: i64, asked: i64, now: DateTime<Utc>) -> DeletionMark {
    let ends = DateTime::parse_from_rfc3339(meta::text(object, "deletionTimestamp")).map_or(now, |at| at.to_utc());
    let at = ends + Duration::seconds(asked - running);
    match (at < now, asked) {
        (false, seconds) => DeletionMark { at, seconds },
        (true, 0) => DeletionMark { at: now, seconds: 0 },
        (true, _) => DeletionMark { at: now, seconds: 1 },
    }
}

/// Pods without a node, or that have finished, need no grace period.
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
    let at = meta::stamp(at);
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
