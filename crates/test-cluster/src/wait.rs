//! Waiting for a condition with a deadline: the only way a test here waits.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::bail;
use tokio::time::Instant;

/// How often a condition is looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks at something until it is as wanted. When the deadline passes, the error says what was seen last.
///
/// `look` answers `Ok` with the result, or `Err` with what it saw instead.
pub async fn wait_for<T, S: Debug>(
    what: &str,
    limit: Duration,
    mut look: impl AsyncFnMut() -> Result<T, S>,
) -> anyhow::Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        match look().await {
            Ok(result) => return Ok(result),
            Err(seen) if Instant::now() >= deadline => bail!("{what}: not within {limit:?}; last seen: {seen:?}"),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
