//! What may be chosen about the server. It is never read from the environment here.

use std::sync::Arc;
use std::time::Duration;

use kedge_serving::Limits;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};

/// Limits of one server. The defaults suit a cluster of any size.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long one request may take, from its headers to its response.
    pub request_limit: Duration,
    /// How many metrics are read at once. A read beyond that waits, within its own deadline.
    pub reads_max: usize,
    /// How many reviews run at once: callers are not trusted to be few.
    pub reviews_max: usize,
    /// What a client may take of the server.
    pub limits: Limits,
    /// How long the verdict on a token, on a client certificate, or on the access of a caller is cached.
    pub review_ttl: Duration,
    /// How many verdicts are cached, of each of these kinds.
    pub verdicts_max: usize,
    /// Says what day it is, which certificates depend on.
    pub wall_clock: Arc<dyn TimeProvider>,
}

impl Default for Settings {
    fn default() -> Self {
        let request_limit = Duration::from_secs(10);
        Self {
            request_limit,
            // HPA: five workers request metrics at once in a cluster by default; people and dashboards come on
            // top.
            reads_max: 64,
            reviews_max: 64,
            // A request accepted right before the stop still gets all of its time.
            limits: Limits { drain_limit: request_limit + Duration::from_secs(2), ..Limits::default() },
            review_ttl: Duration::from_secs(10),
            verdicts_max: 4096,
            wall_clock: Arc::new(DefaultTimeProvider),
        }
    }
}
