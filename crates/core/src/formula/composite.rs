//! The composite metric from readings, failures and the fallback: one value, or why there is none.

use std::collections::BTreeMap;

use kedge_api::scaled_object::{Fallback, FallbackBehavior};

use super::settings::Composite;
use super::{FormulaError, Outcome};
use crate::activity::{Activity, Contribution};
use crate::fallback::{self, Failures, NoSubstitute};
use crate::milli::Milli;
use crate::quantity::{Quantity, format_float};

/// What is known of one trigger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    Value(f64),
    /// Its source did not answer; with the number of failures in a row, this one included.
    Failed(Failures),
}

impl Reading {
    /// A reading of what a source gave. KEDA: of several values the last counts, and as it would be published: with three
    /// decimals, and not below zero. No value at all is a failure.
    pub fn from_values(values: &[f64], failures: Failures) -> Reading {
        let published = values.last().and_then(|value| Quantity::parse(&format_float(*value)).ok());
        published.map_or(Self::Failed(failures), |value| Self::Value(value.approx_f64()))
    }
}

/// What the fallback needs besides the readings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'f> {
    pub fallback: Option<&'f Fallback>,
    /// `None` where they could not be read, also below.
    pub current_replicas: Option<i32>,
    pub ready_pods: Option<i32>,
}

/// What the composite metric is.
#[derive(Clone, Debug, PartialEq)]
pub enum CompositeOutcome {
    /// The formula's value, cut off after three decimals; it may be below zero.
    Value { milli: Milli, activity: Activity },
    /// A value that leads the HPA to the replicas of the fallback.
    FallenBack { milli: Milli, replicas: i32 },
    /// Not known, which is not the same as inactive.
    Unknown(Unknown),
}

/// Why the composite metric is not known.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unknown {
    #[error("no answer from {}", .triggers.join(", "))]
    NoAnswer { triggers: Vec<String> },
    #[error(transparent)]
    Formula(#[from] FormulaError),
    #[error(
        "the formula `{formula}` gives NaN, as zero divided by zero does; guard the division with `b == 0 ? 0 : a / b`"
    )]
    NotANumber { formula: String },
    #[error("the formula `{formula}` gives nil, and there is no usable spec.fallback; add one, or end with `?? 0`")]
    NilWithoutFallback { formula: String },
    #[error(transparent)]
    NoSubstitute(#[from] NoSubstitute),
}

impl CompositeOutcome {
    /// What the HPA is given. Below zero becomes zero: the HPA treats a negative value as an overflow, and scales to the maximum.
    pub fn served(&self) -> Option<Milli> {
        match self {
            Self::Value { milli, .. } | Self::FallenBack { milli, .. } => Some(Milli(milli.0.max(0))),
            Self::Unknown(_) => None,
        }
    }

    /// Why it is not known.
    pub fn why(&self) -> Option<&Unknown> {
        match self {
            Self::Unknown(why) => Some(why),
            Self::Value { .. } | Self::FallenBack { .. } => None,
        }
    }

    /// Its contribution to the activity.
    pub fn contribution(&self) -> Contribution {
        match self {
            Self::Value { activity: Activity::Active, .. } => Contribution::Active,
            Self::Value { activity: Activity::Inactive, .. } => Contribution::Inactive,
            Self::FallenBack { replicas, .. } => Contribution::FallenBack { replicas: *replicas },
            Self::Value { activity: Activity::Unknown, .. } | Self::Unknown(_) => Contribution::Unknown,
        }
    }
}

/// Whether the formula can be evaluated with these readings.
enum Readiness<'f> {
    Values(BTreeMap<String, Option<f64>>),
    FallBack(&'f Fallback),
    NoAnswer(Vec<String>),
}

impl Composite {
    /// The composite metric under these readings, by the names of their triggers. Triggers that the formula does not mention
    /// do not count.
    pub fn evaluate(&self, readings: &BTreeMap<String, Reading>, around: Surroundings<'_>) -> CompositeOutcome {
        let around =
            Surroundings { fallback: around.fallback.filter(|fallback| fallback::is_usable(fallback)), ..around };
        let result = match self.readiness(readings, around.fallback) {
            Readiness::Values(values) => self.apply(&values, around),
            Readiness::FallBack(fallback) => self.fall_back(fallback, around),
            Readiness::NoAnswer(triggers) => Err(Unknown::NoAnswer { triggers }),
        };
        result.unwrap_or_else(CompositeOutcome::Unknown)
    }

    fn readiness<'f>(&self, readings: &BTreeMap<String, Reading>, fallback: Option<&'f Fallback>) -> Readiness<'f> {
        let mut values = BTreeMap::new();
        let mut silent = Vec::new();
        for name in self.formula.mentioned() {
            let failures = match readings.get(name) {
                Some(Reading::Value(value)) => {
                    values.insert(name.to_owned(), Some(*value));
                    continue;
                }
                Some(Reading::Failed(failures)) => *failures,
                None => Failures::default(),
            };
            match fallback.filter(|fallback| failures.exceed_threshold(fallback)) {
                Some(fallback) if fallback.behavior == Some(FallbackBehavior::ScalingModifiers) => {
                    values.insert(name.to_owned(), None);
                }
                // KEDA: one trigger past the threshold replaces the composite metric, whatever the others return.
                Some(fallback) => return Readiness::FallBack(fallback),
                None => silent.push(name.to_owned()),
            }
        }
        if silent.is_empty() { Readiness::Values(values) } else { Readiness::NoAnswer(silent) }
    }

    fn apply(
        &self,
        values: &BTreeMap<String, Option<f64>>,
        around: Surroundings<'_>,
    ) -> Result<CompositeOutcome, Unknown> {
        let formula = || self.formula.text().to_owned();
        match (self.formula.evaluate(values)?, around.fallback) {
            (Outcome::Value(value), _) if value.is_nan() => Err(Unknown::NotANumber { formula: formula() }),
            (Outcome::Value(value), _) => {
                // KEDA: cut off, and compared after that. What does not fit is the nearest that does: infinity is all there is.
                let milli = Milli((value * 1000.0) as i64);
                let active = milli.as_f64() > self.activation;
                let activity = if active { Activity::Active } else { Activity::Inactive };
                Ok(CompositeOutcome::Value { milli, activity })
            }
            // KEDA: the given replicas, whatever the behavior.
            (Outcome::Nil, Some(fallback)) => self.substitute(fallback.replicas, around),
            (Outcome::Nil, None) => Err(Unknown::NilWithoutFallback { formula: formula() }),
        }
    }

    fn fall_back(&self, fallback: &Fallback, around: Surroundings<'_>) -> Result<CompositeOutcome, Unknown> {
        self.substitute(fallback::replicas(fallback, around.current_replicas)?, around)
    }

    fn substitute(&self, replicas: i32, around: Surroundings<'_>) -> Result<CompositeOutcome, Unknown> {
        let milli = fallback::substitute(replicas, self.target, self.metric_type, around.ready_pods)?;
        Ok(CompositeOutcome::FallenBack { milli, replicas })
    }
}

#[cfg(test)]
mod tests;
