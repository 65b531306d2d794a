//! Metric amounts in thousandths, the unit in which the HPA controller counts.

/// An amount in thousandths of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Milli(pub i64);

impl Milli {
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}
