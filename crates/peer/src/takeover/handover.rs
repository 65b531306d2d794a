//! Runs one handover, and collects what was recorded meanwhile.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use kedge_test_cluster::running_keda::NAMESPACE;
use kedge_test_cluster::wait::wait_for;

use super::SYNC_PERIOD;
use super::setup::{Setup, WAIT_TIMEOUT, find_unsettled};
use crate::helm;
use crate::operators::{OperatorProcess, Peer};
use crate::recorder::{Change, WatchedField, WatchedKind};
use crate::report::print_progress;
use crate::results::{Handover, HandoverMode, LeaseChange, PROCESS_NAME_PREFIX};
use kedge_test_cluster::audit::LogPosition;

/// How long both operators run side by side, and how long changes are recorded after the new one has polled every
/// object: four syncs of the HPA controller.
const HOLD: Duration = Duration::from_secs(4 * SYNC_PERIOD.as_secs());

/// How long before a handover responses are included, to find the last one of the old operator.
const LOOKBACK: Duration = Duration::from_secs(2);

/// The new operator after the old one has ended.
struct Replacement {
    new: OperatorProcess,
    readiness: Duration,
    shutdown: Duration,
    ended_at: Instant,
}

/// Replaces the old operator by the other one.
pub(crate) async fn run_handover(
    setup: &mut Setup<'_>,
    old: OperatorProcess,
    to: Peer,
    mode: HandoverMode,
) -> anyhow::Result<(OperatorProcess, Handover)> {
    let from = old.peer;
    setup.handover_count += 1;
    let name = format!("{PROCESS_NAME_PREFIX}-{}", setup.handover_count);
    print_progress(&format!("handover from {from} to {to}, {mode}"));
    let (begun_at, log_position) = (Instant::now(), LogPosition::end(setup.environment.cluster)?);
    let replacement = match mode {
        HandoverMode::Sequential => replace_sequentially(setup, old, to, &name).await?,
        HandoverMode::HelmReleases => replace_helm_release(setup, old, to, &name).await?,
        HandoverMode::SideBySide => replace_side_by_side(setup, old, to, &name, NAMESPACE).await?,
        HandoverMode::TwoLeases => replace_side_by_side(setup, old, to, &name, helm::KEDGE_RELEASE).await?,
    };
    let Replacement { mut new, readiness, shutdown, ended_at } = replacement;
    let lease_acquisition = wait_for_lease(setup, begun_at).await?.saturating_duration_since(ended_at);
    let first_polls = wait_until_polled(setup, &mut new).await?.saturating_duration_since(ended_at);
    print_progress(&format!(
        "{to} acquired the Lease after {lease_acquisition:.1?}, and polled every object after {first_polls:.1?}"
    ));
    tokio::time::sleep(HOLD).await;
    new.check_running()?;
    let probes = setup.prober.summarize_since(begun_at - LOOKBACK, new.started_at);
    let first_responses =
        probes.iter().map(|probe| probe.first_response_at.saturating_duration_since(new.started_at)).max();
    let unsettled = find_unsettled(&setup.recorder, &setup.members);
    let result = Handover {
        number: setup.handover_count,
        from,
        to,
        mode,
        shutdown,
        readiness,
        lease_acquisition,
        first_polls,
        first_responses: first_responses.filter(|_| !mode.overlaps()),
        probes,
        changes: setup.recorder.changes_since(begun_at),
        writes: log_position.count_writes_since(setup.environment.cluster)?,
        lease_changes: lease_changes_since(setup, begun_at),
        unsettled: unsettled.iter().map(|entry| format!("{entry:?}")).collect(),
    };
    Ok((new, result))
}

async fn replace_sequentially(
    setup: &Setup<'_>,
    old: OperatorProcess,
    to: Peer,
    name: &str,
) -> anyhow::Result<Replacement> {
    let shutdown = stop(old).await?;
    let ended_at = Instant::now();
    let (new, readiness) = start(setup, to, name, NAMESPACE).await?;
    Ok(Replacement { new, readiness, shutdown, ended_at })
}

async fn replace_side_by_side(
    setup: &Setup<'_>,
    old: OperatorProcess,
    to: Peer,
    name: &str,
    namespace: &str,
) -> anyhow::Result<Replacement> {
    let (new, readiness) = start(setup, to, name, namespace).await?;
    print_progress("both operators are running");
    tokio::time::sleep(HOLD).await;
    let shutdown = stop(old).await?;
    Ok(Replacement { new, readiness, shutdown, ended_at: Instant::now() })
}

/// Follows the order of docs/migrate-from-keda.md.
async fn replace_helm_release(
    setup: &Setup<'_>,
    old: OperatorProcess,
    to: Peer,
    name: &str,
) -> anyhow::Result<Replacement> {
    let (cluster, environment) = (setup.environment.cluster, &setup.environment);
    helm::run_migrate_prepare(cluster, &environment.kedge_binary)?;
    let shutdown = stop(old).await?;
    let ended_at = Instant::now();
    helm::install_kedge(cluster)?;
    let (new, readiness) = start(setup, to, name, helm::KEDGE_RELEASE).await?;
    helm::run_migrate_prepare(cluster, &environment.kedge_binary)?;
    // `prepare` has pointed the API server at the Service of Kedge's release, whose pods run nothing here.
    environment.point_api_server_at(&new).await?;
    helm::uninstall_keda(cluster)?;
    print_progress("KEDA's Helm release is uninstalled");
    Ok(Replacement { new, readiness, shutdown, ended_at })
}

async fn stop(process: OperatorProcess) -> anyhow::Result<Duration> {
    let (peer, requested_at) = (process.peer, Instant::now());
    process.stop().await?;
    print_progress(&format!("{peer} ended after {:.1?}", requested_at.elapsed()));
    Ok(requested_at.elapsed())
}

async fn start(
    setup: &Setup<'_>,
    peer: Peer,
    name: &str,
    namespace: &str,
) -> anyhow::Result<(OperatorProcess, Duration)> {
    let mut new = setup.environment.start(peer, name, namespace).await?;
    new.wait_until_ready().await?;
    let readiness = new.started_at.elapsed();
    setup.environment.point_api_server_at(&new).await?;
    print_progress(&format!("{peer} is ready after {readiness:.1?}"));
    Ok((new, readiness))
}

/// Waits until a Lease has a new holder; returns when it was acquired.
async fn wait_for_lease(setup: &Setup<'_>, begun_at: Instant) -> anyhow::Result<Instant> {
    let holder_changes = || {
        let changes = setup.recorder.changes_since(begun_at).into_iter();
        changes.filter(|change| change.field == WatchedField::HolderIdentity)
    };
    wait_for("the Lease has a new holder", WAIT_TIMEOUT, async || {
        let acquired = holder_changes().find(|change| change.to.as_str().is_some_and(|holder| !holder.is_empty()));
        acquired.map(|change| change.at).ok_or("no Lease was acquired")
    })
    .await
}

/// Waits until the new operator has polled the triggers of every object that is not paused; returns when it had.
async fn wait_until_polled(setup: &Setup<'_>, new: &mut OperatorProcess) -> anyhow::Result<Instant> {
    let expected = setup.members.iter().filter(|member| member.is_polled).map(|member| member.key());
    let expected: BTreeSet<String> = expected.collect();
    wait_for("every object is polled", WAIT_TIMEOUT, async || {
        new.check_running().map_err(|error| vec![error.to_string()])?;
        let polled = new.fetch_polled_objects().await.map_err(|error| vec![error.to_string()])?;
        let missing: Vec<String> = expected.difference(&polled).cloned().collect();
        if missing.is_empty() { Ok(Instant::now()) } else { Err(missing) }
    })
    .await
}

fn lease_changes_since(setup: &Setup<'_>, begun_at: Instant) -> Vec<LeaseChange> {
    let changes = setup.recorder.changes_since(begun_at).into_iter();
    let of_holder =
        changes.filter(|change| change.kind == WatchedKind::Lease && change.field == WatchedField::HolderIdentity);
    let lease_change = |change: Change| LeaseChange {
        after: change.at - begun_at,
        lease: change.object.clone(),
        holder: change.to.as_str().unwrap_or_default().to_owned(),
    };
    of_holder.map(lease_change).collect()
}
