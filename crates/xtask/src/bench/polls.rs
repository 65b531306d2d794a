//! Polls, as sources receive them.

use std::collections::BTreeSet;
use std::time::Duration;

use kedge_test_cluster::RunningOperator;
use kedge_test_cluster::http_source::HttpSource;
use kedge_test_cluster::wait::wait_for;

/// How long the operator may take to poll every object.
const POLLED_WITHIN: Duration = Duration::from_secs(600);

/// Waits until so many different queries have arrived.
pub(super) async fn until_polled(
    operator: &mut RunningOperator,
    source: &HttpSource,
    queries: usize,
) -> anyhow::Result<()> {
    let mut polled = BTreeSet::new();
    wait_for("every object was polled", POLLED_WITHIN, async || {
        operator.check().map_err(|error| error.to_string())?;
        polled.extend(source.take_received().into_iter().map(|(query, _)| query));
        if polled.len() == queries { Ok(()) } else { Err(format!("{} of {queries}", polled.len())) }
    })
    .await
}
