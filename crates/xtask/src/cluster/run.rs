//! `cluster run`: owns one cluster until it is asked to end.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use kedge_test_cluster::{RunningOperator, StateFolder};
use tokio::signal::unix::{SignalKind, signal};

use super::{Choices, print_usage, ready_file};
use kedge_test_cluster::cargo::{self, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    choices: Choices,

    /// Leave the terminal: for `up`, which waits for the cluster instead
    #[arg(long, hide = true)]
    detached: bool,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    if args.detached {
        rustix::process::setsid().context("cannot leave the terminal")?;
    }
    // Listened to from here on, so that a stop during the start is a stop too.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let own = async {
        let mut cluster = args.choices.builder().start().await?;
        let state = StateFolder::for_cluster(&args.choices.name)?;
        cluster.install_crds(&workspace().join("crds"))?;
        let mut operator = match args.choices.with_operator {
            true => Some(RunningOperator::start(&cluster, &cargo::build("kedge", cargo::DEV)?).await?),
            false => None,
        };
        fs::write(ready_file(&state), "")?;
        print_usage(&args.choices.name, &state)?;
        loop {
            cluster.check()?;
            operator.as_mut().map_or(Ok(()), RunningOperator::check)?;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = stop => Ok(()),
        ended = own => ended,
    }
}
