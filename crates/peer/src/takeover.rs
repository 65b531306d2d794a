//! `cargo xtask peer takeover`: KEDA scales 50 ScaledObjects until they are settled. Then the two operators hand them
//! over to each other: one after the other, side by side, and from Helm release to Helm release. No replica count and
//! no HPA may change during a handover.

mod handover;
mod setup;
mod steps;

use std::path::PathBuf;
use std::time::Duration;

use kedge_test_cluster::{Cluster, ControlPlane};

use self::handover::run_handover;
use self::setup::Setup;
use crate::operators::{self, Peer};
use crate::report::{Report, print_progress};
use crate::results::HandoverMode;

/// The sync period of the HPA controller.
const SYNC_PERIOD: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also write the result to this document, in place of the previous result
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,

    /// Build Kedge in the release profile, which takes minutes
    #[arg(long)]
    release: bool,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    print_progress("building KEDA and Kedge, and starting a cluster");
    let kedge_binary = operators::build(args.release.into())?;
    let cluster = Cluster::builder("takeover").nodes(4).hpa_sync_period(SYNC_PERIOD).control_plane(ControlPlane::Real);
    let cluster = cluster.start().await?;
    let mut report = Report::start(&cluster, args.release.into()).await?;
    if let Err(error) = run_steps(&cluster, kedge_binary, &mut report).await {
        report.add_error(&error);
    }
    report.finish(args.write.as_deref())
}

/// Runs every step in order, and adds its result to the report.
async fn run_steps(cluster: &Cluster, kedge_binary: PathBuf, report: &mut Report) -> anyhow::Result<()> {
    let (mut setup, keda) = Setup::start(cluster, kedge_binary).await?;
    report.add_idle_changes(steps::record_idle_changes(&setup).await?);
    report.add_scaling(Peer::Keda, steps::change_load(&mut setup, 0).await?);
    report.add_denial(Peer::Keda, steps::create_duplicate(&setup).await);

    let (kedge, result) = run_handover(&mut setup, keda, Peer::Kedge, HandoverMode::Sequential).await?;
    report.add_handover(result);
    report.add_scaling(Peer::Kedge, steps::change_load(&mut setup, 1).await?);
    report.add_denial(Peer::Kedge, steps::create_duplicate(&setup).await);
    report.add_deletion(Peer::Kedge, steps::delete_member(&mut setup, 0).await?);

    let (keda, result) = run_handover(&mut setup, kedge, Peer::Keda, HandoverMode::Sequential).await?;
    report.add_handover(result);
    report.add_scaling(Peer::Keda, steps::change_load(&mut setup, 2).await?);
    report.add_deletion(Peer::Keda, steps::delete_member(&mut setup, 1).await?);

    let (kedge, result) = run_handover(&mut setup, keda, Peer::Kedge, HandoverMode::SideBySide).await?;
    report.add_handover(result);
    let (keda, result) = run_handover(&mut setup, kedge, Peer::Keda, HandoverMode::SideBySide).await?;
    report.add_handover(result);

    let (kedge, result) = run_handover(&mut setup, keda, Peer::Kedge, HandoverMode::TwoLeases).await?;
    report.add_handover(result);
    let (keda, result) = run_handover(&mut setup, kedge, Peer::Keda, HandoverMode::Sequential).await?;
    report.add_handover(result);
    let (kedge, result) = run_handover(&mut setup, keda, Peer::Kedge, HandoverMode::HelmReleases).await?;
    report.add_handover(result);
    report.add_scaling(Peer::Kedge, steps::change_load(&mut setup, 3).await?);
    kedge.stop().await
}
