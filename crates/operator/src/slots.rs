//! The slots of reconciles: how many send requests to the API server at once. A reconcile that sends none needs no slot, and none is held
//! during a wait for sources: neither sources that hang nor an API server that is slow keep a quiet object waiting.

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

/// The slot of one reconcile, held or not.
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

    /// A slot that is not held yet.
    pub(crate) fn slot(self: &Arc<Self>) -> Slot {
        Slot { slots: self.clone(), permit: None, due_again: Arc::default() }
    }

    /// Waits for a free slot.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Slot {
        let mut slot = self.slot();
        slot.hold().await;
        slot
    }

    /// Ends the waits for sources. A signal to each slot must follow.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }
}

impl Slot {
    /// Signals that the object is due again.
    pub(crate) fn due_again(&self) -> Arc<Notify> {
        self.due_again.clone()
    }

    /// Waits for the slot, unless it is held: to be called before requests to the API server.
    pub(crate) async fn hold(&mut self) {
        if self.permit.is_none() {
            let free = self.slots.free.clone();
            self.permit = Some(free.acquire_owned().await.expect("the semaphore is never closed"));
        }
    }

    /// Waits for sources without the slot, which is not held afterwards. `None` if the wait was given up: the object became due, and is
    /// outdated, or the operator stops.
    pub(crate) async fn wait_outside<T>(
        &mut self,
        mut sources: BoxFuture<'_, T>,
        is_outdated: impl Fn() -> bool,
    ) -> Option<T> {
        if let Some(answer) = poll_immediate(&mut sources).await {
            return Some(answer);
        }
        self.permit = None;
        loop {
            tokio::select! {
                biased;
                answer = &mut sources => break Some(answer),
                () = self.due_again.notified() => {
                    if self.slots.stopping.load(Ordering::Relaxed) || is_outdated() {
                        break None;
                    }
                }
            }
        }
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
        let began_at = Instant::now();
        let (answer, second) = tokio::join!(first.wait_outside(Box::pin(sleep(HOUR)), || true), slots.acquire());
        assert!(answer.is_some() && began_at.elapsed() == HOUR, "it continues, and does not wait for a slot");
        assert!(timeout(HOUR, first.hold()).await.is_err(), "the other has it");
        drop(second);
        first.hold().await;
        first.hold().await;
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
