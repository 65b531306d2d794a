//! `kedge scaler check`: asks the sources of triggers as the operator would, and reports what is wrong.
//!
//! | module | what it holds |
//! |---|---|
//! | `external` | an external scaler by its address, called method by method |
//! | `triggers` | the triggers of manifests, or of a cluster: the source of each is asked once |

mod external;
mod triggers;

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{ArgGroup, ValueEnum};
use kedge_scalers::metadata::convert;

use crate::outcome::Outcome;
use crate::settings::Environment;

const EXAMPLES: &str = "\
With an address, calls an external scaler method by method. With manifests or a cluster, builds
each trigger as the operator does, asks its source once, and prints the value, whether it is active,
and what the HPA would do. Credentials come from the Secrets, ConfigMaps and authentication objects
among the manifests, from the cluster with --from-cluster, and from --auth; they are not printed.
The variables of the operator apply, such as KEDA_HTTP_DEFAULT_TIMEOUT and HTTPS_PROXY.

Exit codes:
  0  nothing that --fail-on names
  1  something that --fail-on names, such as a trigger that cannot be built, or has no value
  2  the command line, a file or the cluster could not be read, or there was no trigger to check

Examples:
  kedge scaler check localhost:9090
  kedge scaler check scaler.queues:9090 --metadata queue=orders --push
  kedge scaler check localhost:9090 --ca ca.crt --cert client.crt --key client.key --format json
  kedge scaler check -f worker.yaml -f secrets.yaml --replicas 3
  kedge scaler check -f worker.yaml --trigger orders --metadata serverAddress=http://localhost:9090
  kedge scaler check -f worker.yaml --auth-file password=password.txt --at 2026-01-05T08:30:00Z
  kedge scaler check --from-cluster --namespace shop --name worker
";

/// The flags that select manifests, or a cluster.
const MANIFESTS: [&str; 4] = ["file", "from_cluster", "kubeconfig", "context"];

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
#[command(group(ArgGroup::new("subject").args(["address"]).args(MANIFESTS).required(true).multiple(true)))]
pub(crate) struct Args {
    /// Call the external scaler at this address, as in `scalerAddress`: host:port
    #[arg(conflicts_with_all = MANIFESTS)]
    address: Option<String>,

    /// Add an entry to the trigger's metadata, or replace it; may be repeated. With an address, a key that ends in FromEnv takes the
    /// resolved value
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_entry)]
    metadata: Vec<(String, String)>,

    /// Set the name of the ScaledObject in the calls, `check` by default; with manifests or a cluster, check only objects of this name
    #[arg(long)]
    name: Option<String>,

    /// Set the namespace of the ScaledObject in the calls, and of objects that have none; `default` by default, or that of the context
    #[arg(long, short)]
    namespace: Option<String>,

    /// Limit each call to this time, 3s by default, and listen to each stream for this time; a trigger that sets its own limit keeps it
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    timeout: Option<Duration>,

    /// Choose the output format
    #[arg(long, short = 'o', alias = "output", value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Exit with code 1 from this severity on
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,

    #[command(flatten)]
    external: external::ExternalFlags,

    #[command(flatten)]
    triggers: triggers::TriggerFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines to read
    Text,
    /// One JSON object
    Json,
}

/// The worst that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    None,
    Warning,
    Error,
}

/// The limit of a call by address.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(3);

pub(crate) fn run(args: &Args, environment: &Environment) -> anyhow::Result<Outcome> {
    let worst = match &args.address {
        Some(address) => {
            let request = external::Request {
                address,
                metadata: &args.metadata,
                name: args.name.as_deref().unwrap_or("check"),
                namespace: args.namespace.as_deref().unwrap_or("default"),
                timeout: args.timeout.unwrap_or(TIMEOUT_DEFAULT),
                flags: &args.external,
            };
            external::run(&request, args.format)?
        }
        None => {
            let request = triggers::Request {
                metadata: &args.metadata,
                name: args.name.as_deref(),
                namespace: args.namespace.as_deref(),
                timeout: args.timeout,
                flags: &args.triggers,
            };
            triggers::run(&request, environment, args.format)?
        }
    };
    Ok(Outcome::from_findings(match args.fail_on {
        FailOn::Error => worst == Severity::Error,
        FailOn::Warning => worst != Severity::None,
        FailOn::Never => false,
    }))
}

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn parse_entry(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, as in queue=orders".to_owned()),
    }
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    match convert::duration(text) {
        Ok(timeout) if timeout.is_zero() => Err("must be above zero; write 3s or 500ms".to_owned()),
        Ok(timeout) => Ok(timeout),
        Err(error) => Err(format!("{}; {}", error.problem, error.remedy)),
    }
}
