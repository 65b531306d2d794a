//! Publishing Kubernetes events. Each event is written once, as an object of its own, so that none is merged away.

use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::names::labels;
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use tracing::warn;

use crate::clock::Clock;

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
}

impl EventPublisher {
    /// `instance` identifies this replica as the reporter.
    pub fn new(client: Client, clock: Clock, instance: String) -> Self {
        Self { client, clock, instance, count: AtomicU64::new(0) }
    }

    /// Publishes an event about an object. A failed write is logged; nothing depends on it.
    pub async fn publish<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        event_type: EventType,
        reason: &str,
        note: &str,
    ) {
        self.publish_for(object.object_ref(&()), event_type, reason, note).await;
    }

    /// Publishes an event about a referenced object.
    pub async fn publish_for(&self, object: ObjectReference, event_type: EventType, reason: &str, note: &str) {
        let namespace = object.namespace.clone().unwrap_or_else(|| CLUSTER_SCOPED_NAMESPACE.to_owned());
        let name = object.name.clone().unwrap_or_default();
        let event = self.event(object, &namespace, event_type, reason, note);
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        if let Err(error) = api.create(&PostParams::default(), &event).await {
            warn!(namespace, name, reason, error = %error, "event not written");
        }
    }

    fn event(
        &self,
        object: ObjectReference,
        namespace: &str,
        event_type: EventType,
        reason: &str,
        note: &str,
    ) -> Event {
        let now = self.clock.now();
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
                namespace: Some(namespace.to_owned()),
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
