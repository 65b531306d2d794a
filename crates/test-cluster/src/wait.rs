//! Waiting for a condition with a deadline: the only way a test here waits.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::bail;
use tokio::time::Instant;

/// How long to wait between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(100);

/// The deadline of a wait for a condition, unless a test has a reason for another. It only ends tests that fail, so it is far longer
/// than any single condition takes on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(180);

/// Checks a condition until it holds. When the deadline passes, the error names what was seen last.
///
/// `check` returns `Ok` with the result, or `Err` with what it saw instead.
pub async fn wait_for<T, S: Debug>(
    what: &str,
    limit: Duration,
    mut check: impl AsyncFnMut() -> Result<T, S>,
) -> anyhow::Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        match check().await {
            Ok(result) => return Ok(result),
            Err(seen) if Instant::now() >= deadline => bail!("{what}: not within {limit:?}; last seen: {seen:?}"),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
