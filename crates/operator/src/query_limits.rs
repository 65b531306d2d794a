//! How many queries of one namespace may be in flight to one host. Metrics that failed last wait in a line of their own: sources that
//! hang do not delay those that answer, and no namespace delays another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Semaphore, SemaphorePermit};

/// For metrics that were answered last, or were not read yet.
const ANSWERED_MAX: usize = 1024;

/// For metrics that failed last.
const FAILED_MAX: usize = 128;

/// The limits of all namespaces and hosts that are in use.
#[derive(Debug, Default)]
pub struct QueryLimits {
    by_source: Mutex<HashMap<Source, Weak<QueryLimit>>>,
}

/// A namespace, and a host with its port.
type Source = (String, String);

/// The limits of one namespace and one host.
#[derive(Debug)]
pub struct QueryLimit {
    answered: Semaphore,
    failed: Semaphore,
}

/// The result of the last query of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastAnswer {
    AnsweredOrNotRead,
    Failed,
}

impl QueryLimits {
    /// The limit for queries of a namespace to a host. It lasts as long as a trigger holds it.
    pub fn limit(&self, namespace: &str, host: String) -> Arc<QueryLimit> {
        let mut by_source = self.by_source.lock().unwrap_or_else(PoisonError::into_inner);
        let source = (namespace.to_owned(), host);
        if let Some(limit) = by_source.get(&source).and_then(Weak::upgrade) {
            return limit;
        }
        by_source.retain(|_, limit| limit.strong_count() > 0);
        let limit = Arc::new(QueryLimit { answered: Semaphore::new(ANSWERED_MAX), failed: Semaphore::new(FAILED_MAX) });
        by_source.insert(source, Arc::downgrade(&limit));
        limit
    }
}

impl QueryLimit {
    /// Waits until a query may start.
    pub async fn acquire(&self, last: LastAnswer) -> SemaphorePermit<'_> {
        let line = match last {
            LastAnswer::AnsweredOrNotRead => &self.answered,
            LastAnswer::Failed => &self.failed,
        };
        line.acquire().await.expect("the semaphore is never closed")
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_namespace_and_a_host_share_one_limit_while_it_is_used() {
        let limits = QueryLimits::default();
        let first = limits.limit("shop", "prometheus:9090".to_owned());
        assert!(Arc::ptr_eq(&first, &limits.limit("shop", "prometheus:9090".to_owned())));
        assert!(!Arc::ptr_eq(&first, &limits.limit("bank", "prometheus:9090".to_owned())));
        drop(first);
        limits.limit("shop", "other:9090".to_owned());
        assert_eq!(limits.by_source.lock().unwrap().len(), 1, "what no trigger holds is dropped");
    }

    #[test]
    fn metrics_that_failed_do_not_delay_those_that_were_answered() {
        let limit = QueryLimits::default().limit("shop", "prometheus:9090".to_owned());
        let held: Vec<_> = (0..FAILED_MAX).filter_map(|_| limit.acquire(LastAnswer::Failed).now_or_never()).collect();
        assert_eq!(held.len(), FAILED_MAX);
        assert!(limit.acquire(LastAnswer::Failed).now_or_never().is_none(), "the line is full");
        assert!(limit.acquire(LastAnswer::AnsweredOrNotRead).now_or_never().is_some());
    }
}
