//! `cargo xtask peer record`: plays cases of the parity tests with KEDA, and writes what it did into `tests/parity/keda/golden`.

use anyhow::ensure;
use kedge_test_cluster::cargo;
use kedge_test_cluster::tools::{self, Tool};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The cases in tests/parity/keda/cases by name, where `*` stands for any text; `telemetry` for the list of metrics
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    tools::build(&Tool::KEDA)?;
    let test = ["test", "--workspace", "--test", "parity", "--", "--ignored", "--exact", "record_keda", "--nocapture"];
    let status = cargo::command(&test).env("KEDGE_PARITY_ONLY", args.cases.join(",")).status()?;
    ensure!(status.success(), "not everything was recorded ({status})");
    Ok(())
}
