//! `cargo xtask`: the tasks of this repository, the same for CI and for a newcomer.

mod bench;
mod chart;
mod cluster;
mod faults;
mod generate;
mod generated_file;
mod image;
mod oracle;
mod sbom;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kedge_test_cluster::cargo;
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
    /// Run all tests: unit, golden, faults, and on a real cluster. Builds what they need the first time; runs every step, then lists
    /// what failed
    Test(test::Args),
    /// Run the operator in virtual time on a Kubernetes API in memory while faults are injected
    Faults(faults::Args),
    /// Measure the latency and memory that the documentation states
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Start, list and stop real Kubernetes control planes on this machine
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Build the programs of the test cluster (etcd, kube-apiserver, …) without starting them
    Tools,
    /// Write the generated files that are committed: crds/, docs/reference/, webhooks/registration.yaml, and the parts of the Helm
    /// chart
    Generate(generate::Args),
    /// List the packages in the shipped program, with licences and checksums, as CycloneDX JSON
    Sbom(sbom::Args),
    /// Ask KEDA's own scalers about single triggers, for the tests that compare Kedge's; they are built the first time
    #[command(subcommand)]
    Oracle(oracle::Command),
    /// Measure Kedge beside the real KEDA, which is built the first time; the build takes a quarter of an hour
    #[command(disable_help_flag = true)]
    Peer {
        /// What to measure, with its options; `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Test(args) => test::run(&args),
        Task::Faults(args) => faults::run(&args),
        Task::Bench(bench) => bench::run(&bench),
        Task::Cluster(command) => cluster::run(command),
        Task::Tools => tools::build(&Tool::ALL),
        Task::Generate(args) => generate::run(&args),
        Task::Oracle(command) => oracle::run(&command),
        Task::Sbom(args) => sbom::run(&args),
        Task::Peer { arguments } => run_peer(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the package that measures Kedge beside KEDA.
fn run_peer(arguments: &[String]) -> anyhow::Result<()> {
    let arguments = arguments.iter().map(String::as_str);
    cargo::run(&["run", "--quiet", "--package", "kedge-peer", "--"].into_iter().chain(arguments).collect::<Vec<_>>())
}
