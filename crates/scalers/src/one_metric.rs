//! Scalers with one metric, whose source gives one number for it.

use std::fmt;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::MetricSpec;

use crate::error::ReadError;
use crate::scaler::{BoxFuture, Known, Scaler};
use crate::target::External;

/// Where one number comes from.
pub(crate) trait NumberSource: Send + Sync + fmt::Debug {
    /// The present number.
    fn fetch_number(&self, now: DateTime<Utc>) -> impl Future<Output = Result<f64, ReadError>> + Send;

    /// The host that it queries, with its port.
    fn host(&self) -> Option<String>;
}

/// A trigger that is active while its number is above a threshold.
#[derive(Debug)]
pub(crate) struct OneMetric<S> {
    pub(crate) metric: External,
    pub(crate) activation: f64,
    pub(crate) source: S,
}

impl<S: NumberSource> Scaler for OneMetric<S> {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(std::future::ready(Ok(vec![self.metric.spec()])))
    }

    fn read<'a>(&'a self, _metric: &'a str, now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(async move { Ok(Known::above(self.activation, self.source.fetch_number(now).await?)) })
    }

    fn host(&self) -> Option<String> {
        self.source.host()
    }
}
