//! Where values come from: implemented by the process, called by this crate.

use std::pin::Pin;

use chrono::{DateTime, Utc};

/// The future of a [`MetricSource`].
pub type MetricFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<MetricValue>, MetricError>> + Send + 'a>>;

pub trait MetricSource: Send + Sync + 'static {
    /// The values of one external metric of one ScaledObject. The HPA adds them up; no value at all is an error to it.
    ///
    /// The future is dropped when the caller goes away or the request's deadline passes.
    fn read<'a>(&'a self, request: MetricRequest<'a>) -> MetricFuture<'a>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricRequest<'a> {
    pub namespace: &'a str,
    pub scaled_object: &'a str,
    /// As requested. HPA: the controller's client turns the name into lower case; compare without case.
    pub metric: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricValue {
    pub name: String,
    /// A quantity in canonical form, as `1500m` or `12`.
    pub value: String,
    pub at: DateTime<Utc>,
}

/// Why there is no value. The text reaches the HPA's condition and event verbatim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// There is no such ScaledObject, or it has no such metric.
    #[error("{0}")]
    NotFound(String),
    /// There is no value at present: nothing was read yet, or the source does not respond.
    #[error("{0}")]
    Unavailable(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}
