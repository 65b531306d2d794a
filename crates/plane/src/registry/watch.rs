//! WATCH: a stream over the log of changes, one frame for each watch event.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt, unfold};
use hyper::body::Frame;
use kedge_schema::FieldError;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::request::Call;
use crate::api::resource::Resource;
use crate::api::response::{ItemNaming, ProjectedObject, Projection};
use crate::api::table::Printer;
use crate::apiextensions::conversion;
use crate::plane::{Plane, RequestContext, Wall};
use crate::registry::list;
use crate::storage::revision::Revision;
use crate::storage::store::{Change, ChangeType, within};

/// The frames of a watch's body.
pub(crate) type Frames = BoxStream<'static, Result<Frame<Bytes>, Infallible>>;

/// The period of bookmarks.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long before its end a watch gets the last bookmark.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// What a watch selects, and how events are rendered.
struct Wanted {
    resource: Arc<Resource>,
    namespace: Option<String>,
    selected: list::Selected,
    projection: Projection,
    /// Where tables are wanted. Only the first has the definitions of its columns.
    printer: Option<Printer>,
    has_printed: AtomicBool,
    wall: Wall,
    bookmarks: Bookmarks,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bookmarks {
    Wanted,
    Unwanted,
}

/// One watch: its position in the log, and the queue of events to send.
struct Watch {
    plane: Plane,
    wanted: Wanted,
    /// Everything up to this revision is sent or queued.
    position: u64,
    queue: VecDeque<Bytes>,
    revision: Revision,
    ends_at: Instant,
    bookmark_at: Instant,
    state: Going,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Going {
    On,
    /// The watch ends once the queue is empty.
    Ending,
}

/// Starts a watch.
pub(crate) fn start(
    context: &RequestContext<'_>,
    projection: Projection,
    printer: Option<Printer>,
) -> Result<Frames, ApiError> {
    check_options(context.call)?;
    let mut watch = Watch::new(context, projection, printer)?;
    watch.begin(context.call)?;
    Ok(unfold(watch, |mut watch| async move { Some((Ok(Frame::data(watch.next().await?)), watch)) }).boxed())
}

impl Watch {
    fn new(context: &RequestContext<'_>, projection: Projection, printer: Option<Printer>) -> Result<Self, ApiError> {
        let bookmarks = if context.call.flag("allowWatchBookmarks") == Some(true) {
            Bookmarks::Wanted
        } else {
            Bookmarks::Unwanted
        };
        let wanted = Wanted {
            resource: context.resource.clone(),
            namespace: context.namespace().map(str::to_owned),
            selected: list::Selected::read(context)?,
            projection,
            printer,
            has_printed: AtomicBool::new(false),
            wall: context.plane.options().wall.clone(),
            bookmarks,
        };
        let seconds = context
            .call
            .param("timeoutSeconds")
            .and_then(|seconds| seconds.parse::<u64>().ok())
            .filter(|seconds| *seconds > 0);
        let ends_at = Instant::now() + seconds.map_or(context.plane.options().watch_lasts, Duration::from_secs);
        let revision = context.plane.revision();
        let mut watch = Self {
            plane: context.plane.clone(),
            wanted,
            position: 0,
            queue: VecDeque::new(),
            revision,
            ends_at,
            bookmark_at: ends_at,
            state: Going::On,
        };
        watch.plan_bookmark();
        Ok(watch)
    }

    /// Starts with the initial objects, or after a revision.
    fn begin(&mut self, call: &Call) -> Result<(), ApiError> {
        let version = list::version(call.param("resourceVersion"))?;
        let initial = call.flag("sendInitialEvents").unwrap_or(version == 0);
        self.position = version;
        let defined_at = self.plane.state().defined_at(&self.wanted.resource);
        if !initial && 0 < version && version < defined_at {
            self.refuse_too_old(defined_at);
            return Ok(());
        }
        if initial {
            self.tell_all();
            if call.flag("sendInitialEvents") == Some(true) {
                self.queue.push_back(self.wanted.bookmark(self.position, Some("k8s.io/initial-events-end")));
            }
        } else if version == 0 {
            self.position = self.plane.state().store.revision();
        }
        Ok(())
    }

    fn tell_all(&mut self) {
        let state = self.plane.state();
        let collection = state.store.collection(&self.wanted.resource.collection);
        for (_, stored) in within(collection, self.wanted.namespace.as_deref()) {
            let served = conversion::to_served(&self.wanted.resource, stored);
            if self.wanted.selected.matches(&served) {
                self.queue.push_back(self.wanted.event("ADDED", &served));
            }
        }
        self.position = self.position.max(state.store.revision());
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if self.state == Going::Ending {
                return None;
            }
            self.revision.see();
            self.read_log();
            if self.queue.is_empty() && self.state == Going::On {
                self.wait().await;
            }
        }
    }

    /// Queues the changes since the last position.
    fn read_log(&mut self) {
        let state = self.plane.state();
        let Some(changes) = state.store.since(self.position) else {
            let oldest = state.store.oldest_known();
            drop(state);
            return self.refuse_too_old(oldest);
        };
        self.queue.extend(changes.filter_map(|change| self.wanted.event_of(change)));
        self.position = self.position.max(state.store.revision());
    }

    fn refuse_too_old(&mut self, oldest: u64) {
        let error = ApiError::expired(format!("too old resource version: {} ({oldest})", self.position));
        self.queue.push_back(line("ERROR", &error.status()));
        self.state = Going::Ending;
    }

    async fn wait(&mut self) {
        tokio::select! {
            biased;
            () = self.revision.changed() => {}
            () = tokio::time::sleep_until(self.bookmark_at), if self.bookmark_at < self.ends_at => {
                self.plan_bookmark();
                if self.wanted.bookmarks == Bookmarks::Wanted {
                    self.queue.push_back(self.wanted.bookmark(self.position, None));
                }
            }
            () = tokio::time::sleep_until(self.ends_at) => self.state = Going::Ending,
        }
    }

    fn plan_bookmark(&mut self) {
        let now = Instant::now();
        let (regular, last) = (now + BOOKMARK_EVERY, self.ends_at - BOOKMARK_BEFORE_END.min(self.ends_at - now));
        self.bookmark_at = match (self.wanted.bookmarks, last > now) {
            (Bookmarks::Unwanted, _) | (_, false) => self.ends_at,
            (Bookmarks::Wanted, true) => regular.min(last),
        };
    }
}

impl Wanted {
    /// The event of a change for this watch. An object that begins to match is added, one that ceases to is deleted.
    fn event_of(&self, change: &Change) -> Option<Bytes> {
        if !change.is_of(&self.resource.collection) || self.namespace.is_some() && self.namespace != change.namespace {
            return None;
        }
        let served = |object: &Arc<Value>| conversion::to_served(&self.resource, object);
        let before = change.before.as_ref().map(served).filter(|object| self.selected.matches(object));
        let after = Some(served(&change.after))
            .filter(|object| change.change_type != ChangeType::Deleted && self.selected.matches(object));
        match (before, after) {
            (None, Some(after)) => Some(self.event("ADDED", &after)),
            (Some(_), Some(after)) => Some(self.event("MODIFIED", &after)),
            (Some(before), None) => {
                let mut last = Value::clone(&before);
                meta::set_text(&mut last, "resourceVersion", &change.revision.to_string());
                Some(self.event("DELETED", &last))
            }
            (None, None) => None,
        }
    }

    fn event(&self, kind: &str, object: &Value) -> Bytes {
        if let Some(printer) = &self.printer {
            let mut table = printer.single(object, (self.wall)());
            if self.has_printed.swap(true, Ordering::Relaxed) {
                table["columnDefinitions"] = Value::Null;
            }
            return line(kind, &table);
        }
        line(kind, &ProjectedObject { object, projection: self.projection, naming: ItemNaming::Named })
    }

    fn bookmark(&self, revision: u64, annotation: Option<&str>) -> Bytes {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if let Some(annotation) = annotation {
            metadata["annotations"] = json!({ annotation: "true" });
        }
        let object =
            json!({ "kind": self.resource.kind, "apiVersion": self.resource.gvr.api_version(), "metadata": metadata });
        self.event("BOOKMARK", &object)
    }
}

/// One event, as a line.
fn line(kind: &str, object: &impl serde::Serialize) -> Bytes {
    let mut written = format!("{{\"type\":\"{kind}\",\"object\":").into_bytes();
    serde_json::to_writer(&mut written, object).expect("JSON can be written to memory");
    written.extend_from_slice(b"}\n");
    written.into()
}

fn check_options(call: &Call) -> Result<(), ApiError> {
    let mut problems = Vec::new();
    let (matching, initial) = (call.param("resourceVersionMatch"), call.flag("sendInitialEvents"));
    let mut forbid = |detail: &str| problems.push(FieldError::forbidden("resourceVersionMatch", detail));
    if initial.is_some() && matching != Some("NotOlderThan") {
        forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if matching.is_some() && initial.is_none() {
        forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    }
    if let Some(other) = matching.filter(|matching| *matching != "NotOlderThan") {
        let message = format!("Unsupported value: {other:?}: supported values: \"NotOlderThan\"");
        problems.push(FieldError::new("FieldValueNotSupported", "resourceVersionMatch", message));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &problems)),
    }
}
