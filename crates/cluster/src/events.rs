//! Publishing Kubernetes events. Each event is written once, as an object of its own, so that none is merged away. No reconcile waits
//! for the write: events are written in the background, one at a time, so that many of them leave the API server to reconciles.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::names::labels;
use kube::api::PostParams;
use kube::core::Request;
use kube::{Client, Resource};
use serde::de::IgnoredAny;
use tokio::sync::{Notify, watch};
use tracing::warn;

use crate::clock::Clock;

/// How many events wait at most. Further ones are only logged.
const WAITING_MAX: usize = 10_000;

/// The API server's limit for an event's note, in bytes.
const NOTE_LENGTH_MAX: usize = 1024;

/// How much of the object's name an event's name begins with, so that the suffix fits too.
const NAME_LENGTH_MAX: usize = 200;

/// The namespace of events about cluster-scoped objects.
const CLUSTER_SCOPED_NAMESPACE: &str = "default";

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    Normal,
    Warning,
}

/// Publishes events.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct EventPublisher {
    client: Client,
    clock: Clock,
    instance: String,
    count: AtomicU64,
    waiting: Mutex<VecDeque<Waiting>>,
    added: Notify,
    /// How many are not written yet, those on their way included.
    unwritten: watch::Sender<usize>,
}

/// An event that is not written yet. It is kept as JSON, which takes half the memory: every new object has a few.
struct Waiting {
    namespace: Box<str>,
    /// The name of the object.
    name: Box<str>,
    reason: Box<str>,
    json: Box<[u8]>,
}

impl EventPublisher {
    /// `instance` identifies this replica as the reporter.
    pub fn new(client: Client, clock: Clock, instance: String) -> Self {
        let (waiting, added, unwritten) = Default::default();
        Self { client, clock, instance, count: AtomicU64::new(0), waiting, added, unwritten }
    }

    /// Publishes an event about an object.
    pub fn publish<K: Resource<DynamicType = ()>>(&self, object: &K, event_type: EventType, reason: &str, note: &str) {
        self.publish_for(object.object_ref(&()), event_type, reason, note);
    }

    /// Publishes an event about a referenced object.
    pub fn publish_for(&self, object: ObjectReference, event_type: EventType, reason: &str, note: &str) {
        let event = Waiting::from(self.event(object, event_type, reason, note));
        let mut waiting = self.waiting();
        if waiting.len() >= WAITING_MAX {
            drop(waiting);
            return event.warn("too many events are waiting");
        }
        waiting.push_back(event);
        self.unwritten.send_modify(|count| *count += 1);
        drop(waiting);
        self.added.notify_one();
    }

    /// Writes events as they are published. A failed write is logged; nothing depends on it.
    pub async fn write_published(&self) -> Infallible {
        loop {
            self.write(self.next().await).await;
        }
    }

    /// Returns when every event that was published is written.
    pub async fn written(&self) {
        // The sender is this value: it is not gone.
        let _ = self.unwritten.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Drops what is not written: this replica no longer leads.
    pub fn clear(&self) {
        self.waiting().clear();
        self.unwritten.send_replace(0);
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().expect("no holder of the lock panics")
    }

    async fn next(&self) -> Waiting {
        loop {
            if let Some(event) = self.waiting().pop_front() {
                return event;
            }
            self.added.notified().await;
        }
    }

    async fn write(&self, event: Waiting) {
        if let Err(error) = self.try_write(&event).await {
            event.warn(&error.to_string());
        }
        self.unwritten.send_modify(|count| *count = count.saturating_sub(1));
    }

    async fn try_write(&self, event: &Waiting) -> kube::Result<()> {
        let url = Event::url_path(&(), Some(&event.namespace));
        let request = Request::new(url).create(&PostParams::default(), event.json.to_vec());
        let _: IgnoredAny = self.client.request(request.map_err(kube::Error::BuildRequest)?).await?;
        Ok(())
    }

    fn event(&self, object: ObjectReference, event_type: EventType, reason: &str, note: &str) -> Event {
        let now = self.clock.now();
        let namespace = object.namespace.clone().unwrap_or_else(|| CLUSTER_SCOPED_NAMESPACE.to_owned());
        let name = object.name.clone().unwrap_or_default();
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        Event {
            metadata: ObjectMeta {
                // Unique to this instance and instant, so that a repeated write does not become a second event.
                name: Some(format!(
                    "{}.{:x}.{number:x}",
                    &name[..name.len().min(NAME_LENGTH_MAX)],
                    now.timestamp_micros()
                )),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            type_: Some(match event_type {
                EventType::Normal => "Normal".to_owned(),
                EventType::Warning => "Warning".to_owned(),
            }),
            reason: Some(reason.to_owned()),
            action: Some(reason.to_owned()),
            note: Some(truncate(note)),
            event_time: Some(kedge_api::time::to_micro_time(now)),
            reporting_controller: Some(labels::MANAGED_BY_OPERATOR.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            regarding: Some(object),
            ..Event::default()
        }
    }
}

impl Waiting {
    fn warn(&self, error: &str) {
        let Self { namespace, name, reason, .. } = self;
        warn!(%namespace, %name, %reason, error, "event not written");
    }
}

impl From<Event> for Waiting {
    fn from(event: Event) -> Self {
        let json = serde_json::to_vec(&event).expect("types of the Kubernetes API can be written as JSON").into();
        let name = event.regarding.and_then(|object| object.name).unwrap_or_default().into();
        let [namespace, reason] = [event.metadata.namespace, event.reason].map(|text| text.unwrap_or_default().into());
        Self { namespace, name, reason, json }
    }
}

/// As much of a note as the API server accepts, cut between characters.
fn truncate(note: &str) -> String {
    note[..note.floor_char_boundary(NOTE_LENGTH_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_between_characters() {
        assert_eq!(truncate("short"), "short");
        assert_eq!(truncate(&"é".repeat(600)), "é".repeat(512));
        assert_eq!(truncate(&format!("x{}", "é".repeat(600))).len(), 1023);
    }
}
