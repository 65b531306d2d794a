//! `cargo xtask peer takeover`: KEDA brings 50 ScaledObjects to rest, Kedge takes them over, KEDA takes them back; first one stops
//! and then the other starts, then both run side by side for a while, and at last a Helm release takes over from another. Everything is watched all the time. Nothing may move.

mod handover;
mod stage;
mod steps;

use std::path::PathBuf;
use std::time::Duration;

use kedge_test_cluster::cargo;
use kedge_test_cluster::tools::{self, Tool};
use kedge_test_cluster::{Cluster, ControlPlane};

use self::handover::hand_over;
pub(crate) use self::handover::{Handover, How};
use self::stage::Stage;
pub(crate) use self::steps::Followed;
use super::operators::Peer;
use super::report::{Report, say};

/// The sync period of the HPA controller.
pub(crate) const SYNC_PERIOD: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the result into this document too, in place of the last one
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,

    /// Build Kedge as it is shipped: that takes minutes
    #[arg(long)]
    release: bool,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    say("KEDA and Kedge are built, if need be, and a cluster is started");
    let kedge = build(args.release.into())?;
    let cluster = Cluster::builder("takeover").nodes(4).hpa_sync_period(SYNC_PERIOD).control_plane(ControlPlane::Real);
    let cluster = cluster.start().await?;
    let mut report = Report::begin(&cluster, args.release.into()).await?;
    if let Err(error) = play(&cluster, kedge, &mut report).await {
        report.broken(&error);
    }
    report.finish(args.write.as_deref())
}

/// The profile that Kedge is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Dev,
    Release,
}

impl From<bool> for Profile {
    fn from(release: bool) -> Self {
        if release { Profile::Release } else { Profile::Dev }
    }
}

/// Builds both; answers where Kedge's program is.
fn build(profile: Profile) -> anyhow::Result<PathBuf> {
    tokio::task::block_in_place(|| {
        tools::build(&Tool::KEDA)?;
        let beside = std::env::current_exe()?;
        let folder = match profile {
            Profile::Dev => "debug",
            Profile::Release => "release",
        };
        let flags: &[&str] = match profile {
            Profile::Dev => &[],
            Profile::Release => &["--release"],
        };
        cargo::run(&[&["build", "--quiet", "--package", "kedge"], flags].concat())?;
        let target = beside.ancestors().nth(2).map(PathBuf::from).unwrap_or_default();
        Ok(target.join(folder).join("kedge"))
    })
}

/// The whole story.
async fn play(cluster: &Cluster, kedge: PathBuf, report: &mut Report) -> anyhow::Result<()> {
    let (mut stage, keda) = Stage::set(cluster, kedge).await?;
    report.rest(steps::rest(&stage).await?);
    report.scaling(Peer::Keda, steps::scale(&mut stage, 0).await?);
    report.refusal(Peer::Keda, steps::admission(&stage).await);

    let (kedge, seen) = hand_over(&mut stage, keda, Peer::Kedge, How::OneAfterTheOther).await?;
    report.handover(seen);
    report.scaling(Peer::Kedge, steps::scale(&mut stage, 1).await?);
    report.refusal(Peer::Kedge, steps::admission(&stage).await);
    report.deletion(Peer::Kedge, steps::delete(&mut stage, 0).await?);

    let (keda, seen) = hand_over(&mut stage, kedge, Peer::Keda, How::OneAfterTheOther).await?;
    report.handover(seen);
    report.scaling(Peer::Keda, steps::scale(&mut stage, 2).await?);
    report.deletion(Peer::Keda, steps::delete(&mut stage, 1).await?);

    let (kedge, seen) = hand_over(&mut stage, keda, Peer::Kedge, How::SideBySide).await?;
    report.handover(seen);
    let (keda, seen) = hand_over(&mut stage, kedge, Peer::Keda, How::SideBySide).await?;
    report.handover(seen);

    let (kedge, seen) = hand_over(&mut stage, keda, Peer::Kedge, How::BothActing).await?;
    report.handover(seen);
    let (keda, seen) = hand_over(&mut stage, kedge, Peer::Keda, How::OneAfterTheOther).await?;
    report.handover(seen);
    let (kedge, seen) = hand_over(&mut stage, keda, Peer::Kedge, How::ByHelm).await?;
    report.handover(seen);
    report.scaling(Peer::Kedge, steps::scale(&mut stage, 3).await?);
    kedge.stop().await
}
