//! Durations that were measured, and their quantiles.

use std::fmt;
use std::time::Duration;

/// Measured durations, shortest first. Displayed as cells of a table: median, 99th percentile, longest.
pub(super) struct Times(Vec<Duration>);

impl Times {
    pub(super) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn quantile(&self, share: f64) -> Duration {
        let index = (self.0.len().saturating_sub(1) as f64 * share).round() as usize;
        self.0.get(index).copied().unwrap_or_default()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [half, most, all] = [0.5, 0.99, 1.0].map(|share| self.quantile(share).as_secs_f64() * 1000.0);
        write!(f, "{half:.2} ms | {most:.2} ms | {all:.2} ms")
    }
}
