//! The open connections of a server: how many there are, which are idle, and which one is closed when another needs its place.
//!
//! A server that is full of idle connections still accepts: it closes the one that has been idle for longest. Clients that do
//! nothing cannot keep others out, such as the kubelet with its probes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::limits::Limits;

/// All connections of one server.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Mutex<Open>,
    /// A connection ended, or became idle.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    by_number: BTreeMap<u64, Entry>,
    last_number: u64,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    /// Requests under way.
    requests: usize,
    /// When the last request ended, or the connection was accepted.
    idle_since: Instant,
    close: Arc<Notify>,
}

/// Why there is no place for a connection: all others, of its address or of the server, are busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllBusy {
    OfAddress,
    OfServer,
}

/// One connection. Dropping it frees its place.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    connections: Arc<Connections>,
    number: u64,
    close: Arc<Notify>,
}

/// A request under way. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct RequestGuard {
    connection: Arc<ConnectionGuard>,
}

impl Connections {
    /// Waits until one more connection can be accepted: there is a place, or an idle connection to take it from.
    pub(crate) async fn wait_for_place(&self, limits: &Limits) {
        loop {
            let changed = self.changed.notified();
            if self.lock().has_place(limits) {
                return;
            }
            changed.await;
        }
    }

    /// Adds a connection, and closes an idle one where a limit is exceeded.
    pub(crate) fn add(self: &Arc<Self>, address: IpAddr, limits: &Limits) -> Result<Arc<ConnectionGuard>, AllBusy> {
        let mut open = self.lock();
        let of_address = open.by_number.values().filter(|entry| entry.address == address).count();
        if of_address >= limits.connections_per_address_max {
            open.close_longest_idle(|entry| entry.address == address).ok_or(AllBusy::OfAddress)?;
        } else if open.by_number.len() >= limits.connections_max {
            open.close_longest_idle(|_| true).ok_or(AllBusy::OfServer)?;
        }
        open.last_number += 1;
        let (number, close) = (open.last_number, Arc::new(Notify::new()));
        let entry = Entry { address, requests: 0, idle_since: Instant::now(), close: close.clone() };
        open.by_number.insert(number, entry);
        Ok(Arc::new(ConnectionGuard { connections: self.clone(), number, close }))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn has_place(&self, limits: &Limits) -> bool {
        self.by_number.len() < limits.connections_max || self.by_number.values().any(|entry| entry.requests == 0)
    }

    /// Closes the connection that has been idle for longest. `None` if none is idle.
    fn close_longest_idle(&mut self, is_candidate: impl Fn(&Entry) -> bool) -> Option<()> {
        let idle = self.by_number.iter().filter(|(_, entry)| entry.requests == 0 && is_candidate(entry));
        let number = idle.min_by_key(|(_, entry)| entry.idle_since).map(|(number, _)| *number)?;
        self.by_number.remove(&number)?.close.notify_one();
        Some(())
    }
}

impl ConnectionGuard {
    /// Returns when the connection is to give up its place.
    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }

    /// Returns when the connection has been idle for this long.
    pub(crate) async fn idle_for(&self, limit: Duration) {
        loop {
            let idle = self.with_entry(|entry| (entry.requests == 0).then(|| entry.idle_since.elapsed())).flatten();
            let left = limit.saturating_sub(idle.unwrap_or_default());
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }

    pub(crate) fn begin_request(self: &Arc<Self>) -> RequestGuard {
        self.with_entry(|entry| entry.requests += 1);
        RequestGuard { connection: self.clone() }
    }

    /// Nothing is left of a connection that gave up its place.
    fn with_entry<T>(&self, change: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.connections.lock().by_number.get_mut(&self.number).map(change)
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.connection.with_entry(|entry| {
            entry.requests = entry.requests.saturating_sub(1);
            entry.idle_since = Instant::now();
        });
        self.connection.connections.changed.notify_one();
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.connections.lock().by_number.remove(&self.number);
        self.connections.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures::FutureExt;

    use super::*;

    fn limits(connections_max: usize, connections_per_address_max: usize) -> Limits {
        Limits { connections_max, connections_per_address_max, ..Limits::default() }
    }

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, last).into()
    }

    fn is_closed(connection: &Arc<ConnectionGuard>) -> bool {
        connection.closed().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_server_closes_the_connection_that_is_idle_for_longest() {
        let (connections, limits) = (Arc::<Connections>::default(), limits(3, 3));
        let mut open = Vec::new();
        for last in 1..=3 {
            open.push(connections.add(address(last), &limits).unwrap());
            sleep(Duration::from_secs(1)).await;
        }
        let request = open[0].begin_request();
        let newest = connections.add(address(4), &limits).unwrap();
        assert_eq!(open.iter().map(is_closed).collect::<Vec<_>>(), [false, true, false], "the first is busy");
        drop(request);
        sleep(Duration::from_secs(1)).await;
        let last = connections.add(address(5), &limits).unwrap();
        assert_eq!((is_closed(&open[0]), is_closed(&open[2])), (false, true), "the first was used since");
        assert!(!is_closed(&newest) && !is_closed(&last));
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_with_many_connections_closes_its_own() {
        let (connections, limits) = (Arc::<Connections>::default(), limits(10, 2));
        let kubelet = connections.add(address(1), &limits).unwrap();
        sleep(Duration::from_secs(1)).await;
        let flood: Vec<Arc<ConnectionGuard>> = (0..50).map(|_| connections.add(address(2), &limits).unwrap()).collect();
        assert_eq!(flood.iter().filter(|connection| !is_closed(connection)).count(), 2);
        assert!(!is_closed(&kubelet));
        let busy: Vec<RequestGuard> = flood.iter().map(ConnectionGuard::begin_request).collect();
        assert_eq!(connections.add(address(2), &limits).err(), Some(AllBusy::OfAddress));
        assert!(connections.add(address(3), &limits).is_ok());
        drop(busy);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_whose_connections_are_all_busy_accepts_when_one_is_not() {
        let (connections, limits) = (Arc::<Connections>::default(), limits(1, 1));
        let first = connections.add(address(1), &limits).unwrap();
        assert!(connections.wait_for_place(&limits).now_or_never().is_some(), "an idle one gives up its place");
        let request = first.begin_request();
        assert_eq!(connections.add(address(2), &limits).err(), Some(AllBusy::OfServer));
        let waiting = connections.wait_for_place(&limits);
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(request);
        waiting.await;
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_counts_from_the_last_request() {
        let (connections, limits) = (Arc::<Connections>::default(), limits(1, 1));
        let connection = connections.add(address(1), &limits).unwrap();
        let started = Instant::now();
        let idle = connection.idle_for(Duration::from_secs(10));
        tokio::pin!(idle);
        let requests = async {
            sleep(Duration::from_secs(5)).await;
            let request = connection.begin_request();
            sleep(Duration::from_secs(30)).await;
            drop(request);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = &mut idle => {}
            () = requests => {}
        }
        assert_eq!(started.elapsed().as_secs(), 45);
    }
}
