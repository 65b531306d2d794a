//! The limits of a server for its clients.

use std::time::Duration;

/// Limits of one server. The defaults suit a cluster of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections are open at once. Beyond that, new ones wait to be accepted.
    pub connections_max: usize,
    /// How long a client may take for the TLS handshake.
    pub handshake_limit: Duration,
    /// How long a client may take for the head of a request, or stay silent on an HTTP/1 connection.
    pub header_read_limit: Duration,
    /// How long open connections may take to end once the server stops.
    pub drain_limit: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // kube-apiserver needs a few, HTTP/2 carries the rest.
            connections_max: 512,
            handshake_limit: Duration::from_secs(10),
            header_read_limit: Duration::from_secs(30),
            // A request that may take 10 s, accepted right before the stop, still gets all of its time.
            drain_limit: Duration::from_secs(12),
        }
    }
}
