//! A metric source whose behaviour the name of the metric chooses.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kedge_metrics_api::source::MetricFuture;
use kedge_metrics_api::{MetricError, MetricRequest, MetricSource, MetricValue};
use tokio::sync::Semaphore;

pub(crate) struct TestSource {
    /// Namespace, ScaledObject and metric of every read.
    pub(crate) reads: Mutex<Vec<(String, String, String)>>,
    /// One permit for each read of `gated` that has begun.
    pub(crate) entered: Semaphore,
    /// A read of `gated` ends by taking one permit of these.
    pub(crate) gate: Semaphore,
    under_way: AtomicUsize,
    /// How many reads of `gated` were under way at once, at most.
    pub(crate) under_way_max: AtomicUsize,
}

impl TestSource {
    pub(crate) fn new() -> Self {
        Self {
            reads: Mutex::default(),
            entered: Semaphore::new(0),
            gate: Semaphore::new(0),
            under_way: AtomicUsize::new(0),
            under_way_max: AtomicUsize::new(0),
        }
    }

    /// Waits until one more read of `gated` has begun.
    pub(crate) async fn one_entered(&self) {
        self.entered.acquire().await.expect("never closed").forget();
    }

    async fn response(&self, metric: &str) -> Result<Vec<MetricValue>, MetricError> {
        let value = |text: &str| MetricValue {
            name: metric.to_owned(),
            value: text.to_owned(),
            at: "2024-05-01T10:00:00.5Z".parse().expect("a time"),
        };
        match metric {
            "absent" => Err(MetricError::NotFound("no metric absent in ScaledObject shop/web".to_owned())),
            "down" => Err(MetricError::Unavailable("prometheus does not answer".to_owned())),
            "broken" => Err(MetricError::Failed("the formula divides by zero".to_owned())),
            "empty" => Ok(Vec::new()),
            "stuck" => std::future::pending().await,
            "gated" => {
                let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
                self.under_way_max.fetch_max(under_way, Ordering::SeqCst);
                self.entered.add_permits(1);
                self.gate.acquire().await.expect("never closed").forget();
                self.under_way.fetch_sub(1, Ordering::SeqCst);
                Ok(vec![value("7")])
            }
            "pair" => Ok(vec![value("1500m"), value("12")]),
            _ => Ok(vec![value("42")]),
        }
    }
}

impl MetricSource for TestSource {
    fn read<'a>(&'a self, request: MetricRequest<'a>) -> MetricFuture<'a> {
        let MetricRequest { namespace, scaled_object, metric } = request;
        let read = (namespace.to_owned(), scaled_object.to_owned(), metric.to_owned());
        self.reads.lock().expect("not poisoned").push(read);
        Box::pin(self.response(metric))
    }
}
