//! The one source of time. Deadlines and timers use tokio's clock; wall time comes from here and follows it, so that the
//! whole operator can run in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

/// Tells wall time. Clones are the same clock.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's.
    System,
    /// As far after a chosen instant as tokio's clock has gone on since, and off by as much as it was set since.
    Following { wall: DateTime<Utc>, from: Instant, set_by: Arc<AtomicI64> },
}

impl Clock {
    /// A clock that shows this time now, and follows tokio's from here on.
    pub fn starting_at(wall: DateTime<Utc>) -> Self {
        Self::Following { wall, from: Instant::now(), set_by: Arc::default() }
    }

    /// Sets a clock that follows tokio's forward or back, as somebody sets a machine's. The machine's own is left alone.
    pub fn set_by(&self, seconds: i64) {
        if let Self::Following { set_by, .. } = self {
            set_by.fetch_add(seconds, Ordering::Relaxed);
        }
    }

    pub fn now(&self) -> DateTime<Utc> {
        match self {
            Self::System => Utc::now(),
            Self::Following { wall, from, set_by } => {
                let gone = TimeDelta::from_std(from.elapsed()).unwrap_or(TimeDelta::MAX);
                *wall + gone + TimeDelta::seconds(set_by.load(Ordering::Relaxed))
            }
        }
    }
}
