//! Connections that requests share. A server that speaks HTTP/2 limits how many requests one connection carries; a request beyond that would
//! wait until another one ends, and watches do not.

use std::sync::{Arc, Mutex, PoisonError};

/// How many requests share a connection at most: HTTP/2 recommends that servers allow at least a hundred.
const REQUESTS_MAX: usize = 64;

/// Clients with one connection each: as many as the requests in flight need.
pub(super) struct Shared<C> {
    connect: Box<dyn Fn() -> C + Send + Sync>,
    clients: Mutex<Vec<Counted<C>>>,
}

/// A client, and a count of its requests.
type Counted<C> = (C, Arc<InFlight>);

/// A request in flight: until this is dropped, it counts.
pub(super) struct InFlight;

impl<C: Clone> Shared<C> {
    pub(super) fn new(connect: impl Fn() -> C + Send + Sync + 'static) -> Self {
        Self { connect: Box::new(connect), clients: Mutex::default() }
    }

    /// The client for one more request: the first that can take it.
    pub(super) fn take(&self) -> Counted<C> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        // One of the counted is the list's own.
        let has_room = |(_, requests): &&Counted<C>| Arc::strong_count(requests) <= REQUESTS_MAX;
        if let Some(found) = clients.iter().find(has_room) {
            return found.clone();
        }
        let added = ((self.connect)(), Arc::new(InFlight));
        clients.push(added.clone());
        added
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_connection_is_shared_until_it_is_full_and_again_when_requests_end() {
        let connected = AtomicUsize::new(0);
        let shared = Shared::new(move || connected.fetch_add(1, Ordering::Relaxed));
        let mut watches: Vec<_> = (0..REQUESTS_MAX).map(|_| shared.take()).collect();
        assert!(watches.iter().all(|(client, _)| *client == 0), "all share the first");
        let beyond = shared.take();
        assert_eq!(beyond.0, 1);
        watches.pop();
        assert_eq!(shared.take().0, 0, "there is room again");
        let more: Vec<_> = (0..2 * REQUESTS_MAX).map(|_| shared.take()).collect();
        let on = |number| watches.iter().chain([&beyond]).chain(&more).filter(|(client, _)| *client == number).count();
        assert_eq!([on(0), on(1), on(2), on(3)], [REQUESTS_MAX, REQUESTS_MAX, REQUESTS_MAX, 0]);
    }
}
