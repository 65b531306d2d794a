//! Reports the outcome of a reconcile: updates the status where it changed, and publishes events.

use std::sync::atomic::{AtomicI64, Ordering};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_core::hpa::model::events::EventType;
use kedge_core::hpa::model::reconcile::Outcome;
use kedge_core::hpa::model::status::StatusWrite;
use serde_json::{Value, json};

use super::AUTOSCALERS;
use crate::api::resource::Gvr;
use crate::controllers::client::{ControllerClient, ObjectKey, Part};

const COMPONENT: &str = "horizontal-pod-autoscaler";

#[derive(Debug)]
pub(super) struct Reporter {
    client: ControllerClient,
    /// The instant in the name of the last event. No two events have the same.
    last_named: AtomicI64,
}

impl Reporter {
    pub(super) fn new(client: ControllerClient) -> Self {
        Self { client, last_named: AtomicI64::new(i64::MIN) }
    }

    pub(super) async fn report(&self, autoscaler: &HorizontalPodAutoscaler, outcome: &Outcome) {
        let key = ObjectKey::from_meta(&autoscaler.metadata);
        for event in &outcome.events {
            let kind = match event.event_type {
                EventType::Normal => "Normal",
                EventType::Warning => "Warning",
            };
            self.publish_event(autoscaler, kind, event.reason, &event.message).await;
        }
        if outcome.status_write == StatusWrite::Spared {
            return;
        }
        let new = HorizontalPodAutoscaler { status: Some(outcome.status.clone()), ..autoscaler.clone() };
        if let Err(error) = self.client.update(&AUTOSCALERS, &key, Part::Status, &new).await {
            self.publish_event(autoscaler, "Warning", "FailedUpdateStatus", &error.message).await;
        }
    }

    /// An event that cannot be written is lost, as with the real controller.
    async fn publish_event(&self, autoscaler: &HorizontalPodAutoscaler, kind: &str, reason: &str, message: &str) {
        let key = ObjectKey::from_meta(&autoscaler.metadata);
        let event = self.build(autoscaler, kind, reason, message);
        if let Err(error) = self.client.create(&Gvr::new("", "v1", "events"), &key.namespace, &event).await {
            tracing::debug!(%error, %key, reason, "an event was not written");
        }
    }

    fn build(&self, autoscaler: &HorizontalPodAutoscaler, kind: &str, reason: &str, message: &str) -> Value {
        let metadata = &autoscaler.metadata;
        let ObjectKey { namespace, name } = ObjectKey::from_meta(metadata);
        let now = self.client.time();
        json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": { "name": format!("{name}.{:x}", self.next_name()), "namespace": namespace },
            "involvedObject": {
                "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "namespace": namespace, "name": name,
                "uid": metadata.uid, "resourceVersion": metadata.resource_version,
            },
            "type": kind, "reason": reason, "message": message, "count": 1,
            "firstTimestamp": now, "lastTimestamp": now, "eventTime": null,
            "source": { "component": COMPONENT }, "reportingComponent": COMPONENT, "reportingInstance": "",
        })
    }

    /// Events are named after the nanosecond; in virtual time many have the same, so later ones take the next.
    fn next_name(&self) -> i64 {
        let now = self.client.plane.now().timestamp_nanos_opt().unwrap_or_default();
        let next = |last: i64| Some(now.max(last.saturating_add(1)));
        let last = self.last_named.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        last.map_or(now, |last| now.max(last.saturating_add(1)))
    }
}
