//! The interface of a built trigger: its metrics for the HPA, and readings of them.

use std::future::Future;
use std::pin::Pin;

use chrono::{DateTime, Utc};
use futures::stream::BoxStream;
use k8s_openapi::api::autoscaling::v2::MetricSpec;

use crate::error::ReadError;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One trigger, ready to be read.
pub trait Scaler: Send + Sync + std::fmt::Debug {
    /// The metrics it has, as the HPA wants them, without selector. External names carry the `s<index>-` prefix.
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>>;

    /// The present values of one External metric, and whether it is active.
    fn read<'a>(&'a self, metric: &'a str, now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>>;

    /// The host that it queries, with its port. `None` for scalers that query none, or only the API server.
    fn host(&self) -> Option<String> {
        None
    }

    /// What its source pushes, for sources that do. The stream ends only when it is dropped; each call begins another.
    fn push(&self) -> Option<BoxStream<'static, PushEvent>> {
        None
    }
}

/// Something that a source pushed.
#[derive(Clone, Debug, PartialEq)]
pub enum PushEvent {
    Activity(Activity),
    /// The metrics are now these, and [`Scaler::describe`] returns them too.
    Specs(Vec<MetricSpec>),
    /// A message is lost or invalid, or the stream failed. The scaler opens the stream again after a delay.
    Failed(ReadError),
}

/// An answer. There is no Default: an error is unknown, never zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// As the source gave them, also below zero; what cannot be published becomes 0 only when it is written as a quantity.
    pub values: Vec<f64>,
    pub activity: Activity,
}

impl Known {
    /// One value, active strictly above its activation threshold.
    // KEDA: the raw number is compared, before it is made a quantity; NaN is above nothing.
    pub fn above(activation: f64, value: f64) -> Self {
        let activity = if value > activation { Activity::Active } else { Activity::Inactive };
        Self { values: vec![value], activity }
    }
}

/// Whether one reading activates the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Active,
    Inactive,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_is_strictly_above_the_threshold() {
        let rows = [
            ("at the threshold", 5.0, 5.0, Activity::Inactive),
            ("a hair above", 5.0, 5.000_000_1, Activity::Active),
            ("nothing is not above zero", 0.0, 0.0, Activity::Inactive),
            ("below zero, but above a lower threshold", -2.0, -1.0, Activity::Active),
            ("NaN is above nothing", -1.0, f64::NAN, Activity::Inactive),
            ("infinity is above everything", 1e300, f64::INFINITY, Activity::Active),
        ];
        for (name, activation, value, expected) in rows {
            assert_eq!(Known::above(activation, value).activity, expected, "{name}");
        }
    }
}
