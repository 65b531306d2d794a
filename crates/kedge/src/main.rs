//! The `kedge` binary: the only crate that reads flags and environment, and that wires the others together.
//!
//! | module | what it holds |
//! |---|---|
//! | `crds`, `dashboard`, `lint`, `migrate`, `operator`, `playground`, `rbac`, `reference`, `scaler`, `simulate`, `webhook_configuration`, `webhooks` | one command each; none uses another |
//! | `admission` | the server of the admission webhooks |
//! | `dashboard_access` | who may see which objects on the dashboard |
//! | `connect` | the client of a cluster |
//! | `manifests` | YAML files as objects with positions |
//! | `outcome` | exit codes, and standard output |
//! | `process` | logging, signals, listeners, probes and metrics of long-running commands |
//! | `settings` | flags and variables of long-running commands |
//! | `validation` | schema, admission rules and advice without a cluster |

mod admission;
mod connect;
mod crds;
#[cfg(feature = "dashboard-command")]
mod dashboard;
mod dashboard_access;
mod lint;
mod manifests;
mod migrate;
mod operator;
mod outcome;
#[cfg(feature = "playground")]
mod playground;
mod process;
mod rbac;
mod reference;
mod scaler;
mod settings;
mod simulate;
mod validation;
mod webhook_configuration;
mod webhooks;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use outcome::exit_code;

/// Returns freed memory to the system: glibc's does not, and a replica grew with each re-list.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Event-driven autoscaling for Kubernetes, for the manifests that KEDA users have today.
#[derive(Parser)]
#[command(name = "kedge", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the CustomResourceDefinitions, ready for `kubectl apply --server-side -f -`
    Crds(crds::Args),
    /// Show the dashboard of a cluster in the browser, with the credentials of a kubeconfig
    #[cfg(feature = "dashboard-command")]
    Dashboard(dashboard::Args),
    /// Check manifests by the rules of admission and by advice of its own, without a cluster
    Lint(lint::Args),
    /// Migrate from KEDA to Kedge, and back, without losing an object
    Migrate(migrate::Args),
    /// Print the smallest RBAC roles with which the operator can manage given ScaledObjects, without a cluster
    Rbac(rbac::Args),
    /// Run the operator on a cluster in memory, with a page, kubectl, and sources that you turn
    #[cfg(feature = "playground")]
    Playground(playground::Args),
    /// Simulate a ScaledObject under a load, in virtual time, without a cluster
    Simulate(simulate::Args),
    /// Check triggers and external scalers before they are used
    Scaler(scaler::Args),
    /// Run the operator: watch ScaledObjects, scale their targets, serve their metrics
    Operator(Box<operator::Flags>),
    /// Run the admission webhooks as a process of their own; `operator --webhooks-bind-address` serves them too
    Webhooks(Box<webhooks::Flags>),
    /// Print webhooks/registration.yaml
    #[command(hide = true)]
    Registration(webhook_configuration::Args),
    /// Print a page of docs/reference
    #[command(hide = true)]
    Reference(reference::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Crds(args) => crds::run(&args),
        #[cfg(feature = "dashboard-command")]
        Command::Dashboard(args) => return long_running(dashboard::run(&args)),
        Command::Lint(args) => lint::run(&args),
        Command::Migrate(args) => migrate::run(&args),
        Command::Rbac(args) => rbac::run(&args),
        Command::Reference(args) => reference::run(&args, &mut Cli::command()),
        Command::Registration(args) => webhook_configuration::run(&args),
        #[cfg(feature = "playground")]
        Command::Playground(args) => return long_running(playground::run(&args)),
        Command::Scaler(args) => scaler::run(&args, &settings::Environment::collect()),
        Command::Simulate(args) => simulate::run(&args),
        Command::Operator(flags) => return long_running(operator::run(&flags, &settings::Environment::collect())),
        Command::Webhooks(flags) => return long_running(webhooks::run(&flags, &settings::Environment::collect())),
    };
    exit_code(done)
}

/// The exit code of a command that runs until it is stopped.
fn long_running(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
