//! The `kedge` binary: reads flags and environment, wires the crates together, and is the only place that does either.

mod crds;
mod lint;
mod migrate;
mod operator;
mod rbac;
mod reference;
mod registration;
mod scaler;
mod simulate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Say what is wrong with manifests, as admission would, and what could be better: no cluster is needed
    Lint(lint::Args),
    /// From KEDA to Kedge, and back, without losing an object
    Migrate(migrate::Args),
    /// Print the smallest roles with which the operator can look after given ScaledObjects: no cluster is needed
    Rbac(rbac::Args),
    /// Show what would happen to a ScaledObject under a load, in virtual time: no cluster is needed
    Simulate(simulate::Args),
    /// External scalers: check one before it is used
    Scaler(scaler::Args),
    /// Run the operator: watch ScaledObjects, scale their targets, serve their metrics
    Operator(Box<operator::Flags>),
    /// Run the admission webhooks alone; `operator --webhooks-bind-address` serves them too
    Webhooks(Box<operator::webhooks::Flags>),
    /// Print webhooks/registration.yaml
    #[command(hide = true)]
    Registration(registration::Args),
    /// Print a page of docs/reference
    #[command(hide = true)]
    Reference(reference::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Crds(args) => crds::run(&args),
        Command::Rbac(args) => rbac::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Operator(flags) => operator::run(&flags, &operator::Environment::collect()),
        Command::Webhooks(flags) => operator::webhooks::run(&flags, &operator::Environment::collect()),
        Command::Registration(args) => registration::run(&args),
        Command::Reference(args) => reference::run(&args),
        Command::Scaler(args) => return scaler::run(&args),
        Command::Lint(args) => return lint::run(&args),
        Command::Migrate(args) => return migrate::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
