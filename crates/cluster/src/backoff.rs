//! Pauses between attempts.

use std::time::Duration;

/// Pauses that double from the first to the longest.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// The pause after this many attempts in a row.
    pub fn pause(self, attempts: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
        let pauses = [0, 1, 2, 3, 4, 5, 32, 33, u32::MAX].map(|attempts| backoff.pause(attempts).as_secs());
        assert_eq!(pauses, [1, 1, 2, 4, 8, 10, 10, 10, 10]);
    }
}
