//! Metric amounts in thousandths, the unit in which the HPA controller counts.

/// An amount in thousandths of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Milli(pub i64);
