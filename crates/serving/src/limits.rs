//! The limits of a server for its clients.

use std::time::Duration;

/// Limits of one server. The defaults suit a cluster of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections are open at once. Beyond that, a new one takes the place of the one that has been idle for longest, or
    /// waits to be accepted while all are busy.
    pub connections_max: usize,
    /// How many connections one address has open at once. Beyond that, a new one takes the place of an idle one of its address.
    pub connections_per_address_max: usize,
    /// How long a client may take for the TLS handshake.
    pub handshake_limit: Duration,
    /// How long a client may take for the head of a request, or stay silent on an HTTP/1 connection.
    pub header_read_limit: Duration,
    /// How long a connection may stay open without a request, whatever its protocol.
    pub idle_limit: Duration,
    /// How long open connections may take to end once the server stops.
    pub drain_limit: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // kube-apiserver needs a few, HTTP/2 carries the rest.
            connections_max: 512,
            // Every replica of kube-apiserver may come through the same proxy.
            connections_per_address_max: 256,
            handshake_limit: Duration::from_secs(10),
            header_read_limit: Duration::from_secs(30),
            idle_limit: Duration::from_secs(180),
            // A request that may take 10 s, accepted right before the stop, still gets all of its time.
            drain_limit: Duration::from_secs(12),
        }
    }
}
