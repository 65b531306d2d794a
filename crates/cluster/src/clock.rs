//! The one source of wall time. Deadlines and timers use tokio's clock; wall time follows it in tests, so that the operator
//! runs in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

/// As good as never: a wait that is longer ends here.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The instant after a wait. Waits come from manifests and from sources; none is too long, and none panics.
pub fn instant_after(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait.min(FAR)).unwrap_or(now)
}

/// Returns wall time. Clones share their adjustments.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A chosen instant, plus what tokio's clock has advanced since, plus all adjustments.
    Following { wall: DateTime<Utc>, from: Instant, adjusted_seconds: Arc<AtomicI64> },
}

impl Clock {
    /// A clock that shows this time now and follows tokio's clock from here on.
    pub fn starting_at(wall: DateTime<Utc>) -> Self {
        Self::Following { wall, from: Instant::now(), adjusted_seconds: Arc::default() }
    }

    /// Moves a following clock forward or back, as an administrator adjusts a machine's clock. The system clock is left alone.
    pub fn adjust(&self, seconds: i64) {
        if let Self::Following { adjusted_seconds, .. } = self {
            adjusted_seconds.fetch_add(seconds, Ordering::Relaxed);
        }
    }

    pub fn now(&self) -> DateTime<Utc> {
        match self {
            Self::System => Utc::now(),
            Self::Following { wall, from, adjusted_seconds } => {
                let elapsed = TimeDelta::from_std(from.elapsed()).unwrap_or(TimeDelta::MAX);
                *wall + elapsed + TimeDelta::seconds(adjusted_seconds.load(Ordering::Relaxed))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wait_is_too_long() {
        let now = Instant::now();
        assert!(instant_after(Duration::from_secs(10)) >= now + Duration::from_secs(10));
        for wait in [Duration::MAX, Duration::from_secs(u64::MAX), FAR] {
            assert!(instant_after(wait) >= now + FAR, "{wait:?}");
        }
    }
}
