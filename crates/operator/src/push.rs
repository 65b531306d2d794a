//! Sources that tell by themselves: each is listened to as long as a board holds its trigger, and what it says makes the object
//! due at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt;
use futures::stream::BoxStream;
use kedge_scalers::{Activity, PushEvent};
use tokio::task::JoinHandle;
use tracing::debug;

use crate::queue::Queue;
use kedge_cluster::ObjectKey;

/// A source that is listened to. Dropping it ends that.
#[derive(Debug)]
pub struct Push {
    said: Arc<Said>,
    listener: JoinHandle<()>,
}

/// What was said and not looked at yet.
#[derive(Debug, Default)]
struct Said {
    active: AtomicBool,
    specs: AtomicBool,
}

impl Push {
    /// Begins to listen for an object.
    pub fn listen(mut events: BoxStream<'static, PushEvent>, key: ObjectKey, queue: Arc<Queue<ObjectKey>>) -> Self {
        let said = Arc::new(Said::default());
        let heard = said.clone();
        let listener = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                let flag = match event {
                    PushEvent::Activity(Activity::Active) => &heard.active,
                    PushEvent::Specs(_) => &heard.specs,
                    // KEDA: only polls find that there is no more work.
                    PushEvent::Activity(Activity::Inactive) => continue,
                    PushEvent::Failed(error) => {
                        debug!(namespace = key.namespace, name = key.name, error = %error, "a source tells nothing for now");
                        continue;
                    }
                };
                flag.store(true, Ordering::Release);
                queue.add_now(key.clone());
            }
        });
        Self { said, listener }
    }

    /// Whether it has said that there is work, or that its metrics are others now.
    pub fn has_news(&self) -> bool {
        self.said.active.load(Ordering::Acquire) || self.said.specs.load(Ordering::Acquire)
    }

    /// Takes the word that there is work.
    pub fn take_active(&self) -> bool {
        self.said.active.swap(false, Ordering::AcqRel)
    }

    /// Takes the word that its metrics are others now.
    pub fn take_specs(&self) -> bool {
        self.said.specs.swap(false, Ordering::AcqRel)
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

#[cfg(test)]
mod tests {
    use futures::channel::mpsc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_said_makes_the_object_due_and_is_taken_once() {
        let (tell, events) = mpsc::unbounded();
        let (queue, key) = (Arc::new(Queue::new()), ObjectKey::new("n", "o"));
        let push = Push::listen(events.boxed(), key.clone(), queue.clone());
        tell.unbounded_send(PushEvent::Activity(Activity::Inactive)).unwrap();
        tell.unbounded_send(PushEvent::Activity(Activity::Active)).unwrap();
        assert_eq!(queue.next().await, key);
        assert!(push.has_news() && push.take_active() && !push.take_active() && !push.take_specs());
        tell.unbounded_send(PushEvent::Specs(Vec::new())).unwrap();
        assert_eq!(queue.next().await, key);
        assert!(push.has_news() && push.take_specs() && !push.has_news());
        drop(push);
        tell.closed().await;
    }

    /// Waits until the listener is gone.
    trait Closed {
        async fn closed(&self);
    }

    impl Closed for mpsc::UnboundedSender<PushEvent> {
        async fn closed(&self) {
            while !self.is_closed() {
                tokio::task::yield_now().await;
            }
        }
    }
}
