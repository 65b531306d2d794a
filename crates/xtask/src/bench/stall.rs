//! Waiting until every object has something, or until no more objects get it: an operator that leaves some behind is measured with the
//! rest.

use std::time::{Duration, Instant};

use anyhow::Context;

/// How long nothing may change before the rest counts as left behind.
const STALLED_FOR: Duration = Duration::from_secs(180);

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waited {
    /// Until the last object had it.
    pub(super) took: Duration,
    /// How many objects were left behind.
    pub(super) missing: usize,
}

/// Counts what is missing, with pauses, until it is nothing or no longer changes.
pub(super) async fn until_none_missing(
    what: &str,
    pause: Duration,
    mut count: impl AsyncFnMut() -> anyhow::Result<usize>,
) -> anyhow::Result<Waited> {
    let started = Instant::now();
    let mut last = (usize::MAX, Duration::ZERO);
    loop {
        let counted = count().await;
        let now = started.elapsed();
        if let Ok(missing) = counted
            && missing != last.0
        {
            last = (missing, now);
        }
        let (missing, took) = last;
        if missing == 0 {
            return Ok(Waited { took, missing });
        }
        if now - took >= STALLED_FOR {
            counted.with_context(|| format!("cannot see whether {what}"))?;
            println!("  {what}: {missing} are left behind");
            return Ok(Waited { took, missing });
        }
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_ends_when_nothing_is_missing() {
        let mut missing = 3;
        let waited = until_none_missing("it is there", Duration::ZERO, async || {
            missing -= 1;
            if missing == 1 { anyhow::bail!("no answer") } else { Ok(missing) }
        });
        assert_eq!(waited.await.unwrap().missing, 0);
    }
}
