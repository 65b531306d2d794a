//! Waiting until an operator writes nothing any more.

use std::time::{Duration, Instant};

use kedge_test_cluster::Cluster;
use kedge_test_cluster::audit::LogPosition;

/// How long an operator must have written nothing, and how long this is waited for: some never stop.
const QUIET_FOR: Duration = Duration::from_secs(60);
const SETTLES_FOR_MAX: Duration = Duration::from_secs(300);

/// Waits until this user wrote nothing for a while.
pub(super) async fn settle(cluster: &Cluster, user: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let log = LogPosition::end(cluster)?;
        tokio::time::sleep(QUIET_FOR).await;
        if log.count_writes_of(cluster, user)? == 0 || started.elapsed() >= SETTLES_FOR_MAX {
            return Ok(());
        }
    }
}
