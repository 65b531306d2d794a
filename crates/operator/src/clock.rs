//! The one source of time. Deadlines and timers use tokio's clock; wall time comes from here and follows it, so that the
//! whole operator can run in virtual time.

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

/// Tells wall time.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The machine's.
    System,
    /// As far after a chosen instant as tokio's clock has gone on since.
    Following { wall: DateTime<Utc>, from: Instant },
}

impl Clock {
    /// A clock that shows this time now, and follows tokio's from here on.
    pub fn starting_at(wall: DateTime<Utc>) -> Self {
        Self::Following { wall, from: Instant::now() }
    }

    pub fn now(&self) -> DateTime<Utc> {
        match self {
            Self::System => Utc::now(),
            Self::Following { wall, from } => *wall + TimeDelta::from_std(from.elapsed()).unwrap_or(TimeDelta::MAX),
        }
    }
}
