//! Events: what happened to an object, for people to read. Each is written once, by itself, so that each is seen.

use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::ScaledObject;
use kedge_api::names::labels;
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use tracing::warn;

use crate::clock::Clock;

/// What the API server takes as an event's note at most, in bytes.
const NOTE_LENGTH_MAX: usize = 1024;

/// How much of the object's name an event's name begins with: the rest of it must fit too.
const NAME_LENGTH_MAX: usize = 200;

/// Where events about objects without a namespace are.
const NAMESPACE_OF_THE_REST: &str = "default";

/// Whether an event is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Normal,
    Warning,
}

/// Writes events.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Events {
    client: Client,
    clock: Clock,
    instance: String,
    count: AtomicU64,
}

impl Events {
    /// `instance` tells replicas of the operator apart.
    pub fn new(client: Client, clock: Clock, instance: String) -> Self {
        Self { client, clock, instance, count: AtomicU64::new(0) }
    }

    /// Tells of something. An event that cannot be written is logged; nothing depends on it.
    pub async fn tell(&self, object: &ScaledObject, tone: Tone, reason: &str, note: &str) {
        self.tell_of(object.object_ref(&()), tone, reason, note).await;
    }

    /// Tells of something that happened to an object of any kind.
    pub async fn tell_of(&self, object: ObjectReference, tone: Tone, reason: &str, note: &str) {
        let namespace = object.namespace.clone().unwrap_or_else(|| NAMESPACE_OF_THE_REST.to_owned());
        let name = object.name.clone().unwrap_or_default();
        let event = self.event(object, &namespace, tone, reason, note);
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        if let Err(error) = api.create(&PostParams::default(), &event).await {
            warn!(namespace, name, reason, error = %error, "event not written");
        }
    }

    fn event(&self, object: ObjectReference, namespace: &str, tone: Tone, reason: &str, note: &str) -> Event {
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
            type_: Some(match tone {
                Tone::Normal => "Normal".to_owned(),
                Tone::Warning => "Warning".to_owned(),
            }),
            reason: Some(reason.to_owned()),
            action: Some(reason.to_owned()),
            note: Some(cut(note)),
            event_time: Some(kedge_api::time::to_micro_time(now)),
            reporting_controller: Some(labels::MANAGED_BY_OPERATOR.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            regarding: Some(object),
            ..Event::default()
        }
    }
}

/// As much of a note as the API server takes, in whole characters.
fn cut(note: &str) -> String {
    note[..note.floor_char_boundary(NOTE_LENGTH_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"é".repeat(600)), "é".repeat(512));
        assert_eq!(cut(&format!("x{}", "é".repeat(600))).len(), 1023);
    }
}
