//! Push sources: each is listened to as long as a cached trigger holds its listener, and its events make the object due at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt;
use futures::stream::BoxStream;
use kedge_cluster::ObjectKey;
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
    metrics_changed: AtomicBool,
}

impl PushListener {
    /// Starts listening for an object.
    pub fn start(mut events: BoxStream<'static, PushEvent>, key: ObjectKey, queue: Arc<WorkQueue<ObjectKey>>) -> Self {
        let pending = Arc::new(PendingEvents::default());
        let received = pending.clone();
        let task = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                let flag = match event {
                    PushEvent::Activity(Activity::Active) => &received.active,
                    PushEvent::Specs(_) => &received.metrics_changed,
                    // KEDA: only polls find that there is no more work.
                    PushEvent::Activity(Activity::Inactive) => continue,
                    PushEvent::Failed(error) => {
                        debug!(namespace = key.namespace, name = key.name, error = %error, "push stream failed");
                        continue;
                    }
                };
                flag.store(true, Ordering::Release);
                queue.add_now(key.clone());
            }
        });
        Self { pending, task }
    }

    /// Whether an event is pending.
    pub fn has_pending(&self) -> bool {
        self.pending.active.load(Ordering::Acquire) || self.pending.metrics_changed.load(Ordering::Acquire)
    }

    /// Takes the event that there is work.
    pub fn take_active(&self) -> bool {
        self.pending.active.swap(false, Ordering::AcqRel)
    }

    /// Takes the event that the source has other metrics now.
    pub fn take_metrics_changed(&self) -> bool {
        self.pending.metrics_changed.swap(false, Ordering::AcqRel)
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

    #[tokio::test(start_paused = true)]
    async fn an_event_makes_the_object_due_and_is_taken_once() {
        let (sender, events) = mpsc::unbounded();
        let (queue, key) = (Arc::new(WorkQueue::new()), ObjectKey::scaled_object("n", "o"));
        let push = PushListener::start(events.boxed(), key.clone(), queue.clone());
        sender.unbounded_send(PushEvent::Activity(Activity::Inactive)).unwrap();
        sender.unbounded_send(PushEvent::Activity(Activity::Active)).unwrap();
        assert_eq!(queue.next().await, key);
        assert!(push.has_pending() && push.take_active() && !push.take_active() && !push.take_metrics_changed());
        sender.unbounded_send(PushEvent::Specs(Vec::new())).unwrap();
        assert_eq!(queue.next().await, key);
        assert!(push.has_pending() && push.take_metrics_changed() && !push.has_pending());
        drop(push);
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
    }
}
