//! `cluster down`: stops a cluster, whoever owns it.

use std::time::{Duration, Instant};

use anyhow::bail;
use kedge_test_cluster::StateFolder;

/// Longer than an owner needs to kill its processes.
const GONE_WITHIN: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The name of the cluster
    #[arg(long, default_value = "default", conflicts_with = "all")]
    name: String,

    /// Stop every cluster of this checkout
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let clusters =
        if args.all { StateFolder::all()? } else { vec![(args.name.clone(), StateFolder::for_cluster(&args.name)?)] };
    for (name, state) in clusters {
        println!("cluster `{name}` {}", stop(&state)?);
    }
    Ok(())
}

fn stop(state: &StateFolder) -> anyhow::Result<&'static str> {
    let Some(owner) = state.owner()? else {
        let left = !state.processes()?.is_empty();
        state.kill_leftovers()?;
        return Ok(if left { "was left behind; it is stopped now" } else { "is not running" });
    };
    owner.ask_to_stop()?;
    let deadline = Instant::now() + GONE_WITHIN;
    while state.owner()?.is_some() {
        if Instant::now() > deadline {
            bail!("process {} does not end; kill it, then run `down` again", owner.pid);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    state.kill_leftovers()?;
    Ok("is stopped")
}
