//! The readings of an object's sources at an instant.

use chrono::{DateTime, Utc};

use crate::activity::Contribution;
use crate::milli::Milli;

/// The sources of all triggers. The same instant must give the same readings.
pub trait Load {
    /// The reading of each trigger, in the order of `spec.triggers`.
    fn readings_at(&self, now: DateTime<Utc>) -> Vec<Reading>;
}

impl<F: Fn(DateTime<Utc>) -> Vec<Reading>> Load for F {
    fn readings_at(&self, now: DateTime<Utc>) -> Vec<Reading> {
        self(now)
    }
}

/// The reading of one trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Before any fallback: a source that did not answer is `Unknown` here.
    pub contribution: Contribution,
    /// Its external metrics.
    pub metrics: Vec<MetricValue>,
}

/// The value of one external metric, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricValue {
    /// As in the HPA.
    pub metric: String,
    pub value: Result<Milli, String>,
}

impl Reading {
    /// The source of a trigger with one metric answered.
    pub fn known(metric: &str, value: Milli, contribution: Contribution) -> Self {
        Self { contribution, metrics: vec![MetricValue { metric: metric.to_owned(), value: Ok(value) }] }
    }

    /// The source of a trigger with one metric did not answer.
    pub fn failed(metric: &str, error: impl Into<String>) -> Self {
        let measured = MetricValue { metric: metric.to_owned(), value: Err(error.into()) };
        Self { contribution: Contribution::Unknown, metrics: vec![measured] }
    }

    /// A trigger that only the HPA reads.
    pub fn left_to_hpa() -> Self {
        Self { contribution: Contribution::LeftToHpa, metrics: vec![] }
    }
}
