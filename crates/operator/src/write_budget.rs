//! How often an object may cause writes. Whatever another client, a source or the API server does, the number of writes a minute has an
//! upper bound.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

/// The writes of an HPA, or of a status, within the last minute.
#[derive(Debug, Default)]
pub(crate) struct WriteBudget {
    written_at: VecDeque<Instant>,
}

impl WriteBudget {
    /// How many writes a minute can have.
    pub(crate) const PER_MINUTE: usize = 20;

    /// Whether a write is possible, or else when the next is.
    pub(crate) fn check(&mut self) -> Result<(), Instant> {
        while self.written_at.front().is_some_and(|at| at.elapsed() >= MINUTE) {
            self.written_at.pop_front();
        }
        match self.written_at.front() {
            Some(oldest) if self.written_at.len() >= Self::PER_MINUTE => Err(*oldest + MINUTE),
            _ => Ok(()),
        }
    }

    /// Counts a write.
    pub(crate) fn count(&mut self) {
        self.written_at.push_back(Instant::now());
    }

    /// Counts a write if it is possible, or returns when the next is.
    pub(crate) fn take(&mut self) -> Result<(), Instant> {
        self.check()?;
        self.count();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_minute_has_more_writes_than_the_budget() {
        let (mut budget, started, mut written) = (WriteBudget::default(), Instant::now(), Vec::new());
        while started.elapsed() < 10 * MINUTE {
            match budget.take() {
                Ok(()) => written.push(started.elapsed()),
                Err(at) => assert!(at > Instant::now() && at <= Instant::now() + MINUTE),
            }
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        let within_a_minute =
            |from: &Duration| written.iter().filter(|at| (*from..*from + MINUTE).contains(*at)).count();
        assert!(written.iter().all(|from| within_a_minute(from) <= WriteBudget::PER_MINUTE));
        assert_eq!(written.len(), 10 * WriteBudget::PER_MINUTE, "and none is wasted");
    }
}
