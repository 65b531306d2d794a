//! The slots of reconciles: how many work on the cluster at once. A reconcile gives its slot back while it waits for sources, so that
//! sources that hang keep no other object waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{BoxFuture, poll_immediate};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The slots of all reconciles.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    /// Set when the operator stops: no reconcile waits for a source any more.
    stopping: AtomicBool,
}

/// The slot of one reconcile.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    permit: Option<OwnedSemaphorePermit>,
    /// Signals that the object became due during its reconcile.
    due_again: Arc<Notify>,
}

impl Slots {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(count)), stopping: AtomicBool::new(false) })
    }

    /// Waits for a free slot.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Slot {
        let permit = Some(self.permit().await);
        Slot { slots: self.clone(), permit, due_again: Arc::default() }
    }

    /// Ends the waits for sources. A signal to each slot must follow.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    async fn permit(&self) -> OwnedSemaphorePermit {
        self.free.clone().acquire_owned().await.expect("the semaphore is never closed")
    }
}

impl Slot {
    /// Signals that the object is due again.
    pub(crate) fn due_again(&self) -> Arc<Notify> {
        self.due_again.clone()
    }

    /// Waits for sources without the slot. `None` if the wait was given up: the object became due, and is outdated, or the operator stops.
    pub(crate) async fn wait_outside<T>(
        &mut self,
        mut sources: BoxFuture<'_, T>,
        is_outdated: impl Fn() -> bool,
    ) -> Option<T> {
        if let Some(answer) = poll_immediate(&mut sources).await {
            return Some(answer);
        }
        self.permit = None;
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut sources => break Some(answer),
                () = self.due_again.notified() => {
                    if self.slots.stopping.load(Ordering::Relaxed) || is_outdated() {
                        break None;
                    }
                }
            }
        };
        self.permit = Some(self.slots.permit().await);
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, sleep, timeout};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_free_while_its_reconcile_waits_for_a_source() {
        let slots = Slots::new(1);
        let mut first = slots.acquire().await;
        assert!(timeout(HOUR, slots.acquire()).await.is_err(), "it is taken");
        let (answer, second) = tokio::join!(first.wait_outside(Box::pin(sleep(HOUR)), || true), async {
            let second = slots.acquire().await;
            sleep(2 * HOUR).await;
            drop(second);
            Instant::now()
        });
        assert!(answer.is_some() && Instant::now() >= second, "it continues when it has a slot again");
        assert!(timeout(HOUR, slots.acquire()).await.is_err(), "it is taken again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_when_the_object_is_outdated_or_the_operator_stops() {
        let slots = Slots::new(1);
        let mut slot = slots.acquire().await;
        let signal = slot.due_again();
        signal.notify_one();
        assert_eq!(slot.wait_outside(Box::pin(std::future::pending::<()>()), || true).await, None);
        signal.notify_one();
        assert_eq!(slot.wait_outside(Box::pin(sleep(HOUR)), || false).await, Some(()), "due again for another reason");
        slots.stop();
        signal.notify_one();
        assert_eq!(slot.wait_outside(Box::pin(std::future::pending::<()>()), || false).await, None);
        signal.notify_one();
        assert_eq!(slot.wait_outside(Box::pin(std::future::ready(7)), || true).await, Some(7), "what is there is used");
    }
}
