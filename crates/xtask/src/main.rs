//! `cargo xtask`: the tasks of this repository, the same for CI and for a newcomer.

mod bench;
mod chart;
mod cluster;
mod faults;
mod generate;
mod image;
mod peer;
mod test;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use kedge_test_cluster::tools::{self, Tool};

/// The tasks of this repository
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run all tests: unit, golden, and on a real cluster, building what they need the first time
    Test(test::Args),
    /// Run the operator in virtual time on a Kubernetes API in memory, while something goes wrong
    Faults(faults::Args),
    /// Measure what the documents tell about speed and weight
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Start, look at and stop a real Kubernetes control plane on this machine
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Build the programs that clusters and tests are made of, without starting anything
    Tools,
    /// Write again what is generated and committed: crds/, docs/reference/, webhooks/registration.yaml, and what is made of
    /// the Helm chart
    Generate(generate::Args),
    /// Measure Kedge beside the real KEDA, which is built the first time; that takes a quarter of an hour
    #[command(subcommand)]
    Peer(peer::Command),
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Test(args) => test::run(&args),
        Task::Faults(args) => faults::run(&args),
        Task::Bench(bench) => bench::run(&bench),
        Task::Cluster(command) => cluster::run(command),
        Task::Tools => tools::build(&Tool::ALL),
        Task::Generate(args) => generate::run(&args),
        Task::Peer(command) => peer::run(&command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate lies two folders deep")
}

/// Runs cargo in the workspace.
fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    run(&mut cargo_command(arguments))
}

/// A cargo that works in the workspace, yet to be started.
fn cargo_command(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(workspace());
    kedge_test_cluster::process::forget_own_package(&mut command);
    command
}

fn run(cargo: &mut Command) -> anyhow::Result<()> {
    let status = cargo.status().context("cannot start cargo")?;
    if !status.success() {
        let arguments: Vec<_> = cargo.get_args().map(|argument| argument.to_string_lossy()).collect();
        bail!("`cargo {}` failed ({status})", arguments.join(" "));
    }
    Ok(())
}
