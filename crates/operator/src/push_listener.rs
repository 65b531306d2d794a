//! Push sources: each is listened to as long as a cached trigger holds its listener, and its events make the object due at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::StreamExt;
use futures::stream::BoxStream;
use kedge_cluster::ObjectKey;
use kedge_scalers::observer::{RequestObserver, observed};
use kedge_scalers::{Activity, PushEvent};
use tokio::task::JoinHandle;
use tracing::debug;

use crate::work_queue::WorkQueue;

/// Listens to a push source. Dropping it ends the stream.
#[derive(Debug)]
pub struct PushListener {
    pending: Arc<PendingEvents>,
    task: JoinHandle<()>,
}

/// Events that no reconcile has handled yet.
#[derive(Debug, Default)]
struct PendingEvents {
    active: AtomicBool,
    /// How often the source announced other metrics, and how many of these announcements were handled.
    metrics_changes: AtomicU64,
    metrics_handled: AtomicU64,
}

impl PushListener {
    /// Starts listening for an object.
    pub fn start(
        mut events: BoxStream<'static, PushEvent>,
        observer: Arc<dyn RequestObserver>,
        key: ObjectKey,
        queue: Arc<WorkQueue<ObjectKey>>,
    ) -> Self {
        let pending = Arc::new(PendingEvents::default());
        let received = pending.clone();
        let listening = async move {
            while let Some(event) = events.next().await {
                match event {
                    PushEvent::Activity(Activity::Active) => received.active.store(true, Ordering::Release),
                    PushEvent::Specs(_) => drop(received.metrics_changes.fetch_add(1, Ordering::AcqRel)),
                    // KEDA: only polls find that there is no more work.
                    PushEvent::Activity(Activity::Inactive) => continue,
                    PushEvent::Failed(error) => {
                        debug!(namespace = %key.namespace, name = %key.name, error = %error, "push stream failed");
                        continue;
                    }
                }
                queue.add_now(key.clone());
            }
        };
        Self { pending, task: tokio::spawn(observed(observer, listening)) }
    }

    /// Whether the source reported work that no reconcile has acted on.
    pub fn is_active(&self) -> bool {
        self.pending.active.load(Ordering::Acquire)
    }

    /// Notes that a reconcile has acted on the work.
    pub fn clear_active(&self) {
        self.pending.active.store(false, Ordering::Release);
    }

    /// The number of the last announcement of other metrics, if it was not handled.
    pub fn metrics_change(&self) -> Option<u64> {
        let change = self.pending.metrics_changes.load(Ordering::Acquire);
        (change != self.pending.metrics_handled.load(Ordering::Acquire)).then_some(change)
    }

    /// Notes that the announcements up to this number were handled.
    pub fn handle_metrics_change(&self, change: u64) {
        self.pending.metrics_handled.store(change, Ordering::Release);
    }
}

impl Drop for PushListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use futures::channel::mpsc;

    use super::*;
    use crate::telemetry::{Telemetry, TriggerObserver};

    #[tokio::test(start_paused = true)]
    async fn an_event_makes_the_object_due_and_is_taken_once() {
        let (sender, events) = mpsc::unbounded();
        let (queue, key) = (Arc::new(WorkQueue::new()), ObjectKey::scaled_object("n", "o"));
        let observer = Arc::new(TriggerObserver {
            telemetry: Arc::new(Telemetry::new("test")),
            key: key.clone(),
            trigger_type: "external-push".to_owned(),
            trigger_name: String::new(),
        });
        let push = PushListener::start(events.boxed(), observer, key.clone(), queue.clone());
        sender.unbounded_send(PushEvent::Activity(Activity::Inactive)).unwrap();
        sender.unbounded_send(PushEvent::Activity(Activity::Active)).unwrap();
        assert_eq!(queue.next().await, key);
        assert!(push.is_active() && push.metrics_change().is_none());
        push.clear_active();
        assert!(!push.is_active());
        sender.unbounded_send(PushEvent::Specs(Vec::new())).unwrap();
        assert_eq!(queue.next().await, key);
        let change = push.metrics_change().unwrap();
        sender.unbounded_send(PushEvent::Specs(Vec::new())).unwrap();
        assert_eq!(queue.next().await, key);
        push.handle_metrics_change(change);
        let later = push.metrics_change().unwrap();
        push.handle_metrics_change(later);
        assert!(later > change && push.metrics_change().is_none());
        drop(push);
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
    }
}
