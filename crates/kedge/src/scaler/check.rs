//! `kedge scaler check`: calls an external scaler with the operator's own client, prints the responses and diagnoses them.
//!
//! | module | what it holds |
//! |---|---|
//! | `calls` | the calls, one after another |
//! | `diagnose` | what is wrong with the responses: pure |
//! | `remedy` | the remedies of failed calls |
//! | `report` | the calls and their diagnostics |
//! | `text`, `json` | the output formats |

mod calls;
mod diagnose;
mod json;
mod remedy;
mod report;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use kedge_api::trigger::Trigger;
use kedge_scalers::external::{self, ExternalClient};
use kedge_scalers::metadata::convert;
use kedge_scalers::{AuthParams, Connector, Owner, Registry, Role, Settings, TriggerConfig};

use crate::outcome::{self, Outcome};
use calls::Scope;
use diagnose::Verdict;
use report::Report;

const EXAMPLES: &str = "\
Exit codes:
  0  nothing that --fail-on names
  1  something that --fail-on names
  2  the command line or a file could not be read

Examples:
  kedge scaler check localhost:9090
  kedge scaler check scaler.queues:9090 --metadata queue=orders --push
  kedge scaler check localhost:9090 --ca ca.crt --cert client.crt --key client.key --format json
";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Call the scaler at this address, as in `scalerAddress`: host:port
    address: String,

    /// Add an entry to the trigger's metadata; may be repeated. A key that ends in FromEnv takes the resolved value
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_entry)]
    metadata: Vec<(String, String)>,

    /// Set the name of the ScaledObject in the calls
    #[arg(long, default_value = "check")]
    name: String,

    /// Set the namespace of the ScaledObject in the calls
    #[arg(long, default_value = "default")]
    namespace: String,

    /// Use TLS; --ca, --cert and --insecure imply it
    #[arg(long)]
    tls: bool,

    /// Trust the CA of this PEM file, in addition to those of the system
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Present the certificate of this PEM file
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// Use the private key of this PEM file
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Use TLS, and accept any certificate
    #[arg(long)]
    insecure: bool,

    /// Check the streams of `external-push` too
    #[arg(long)]
    push: bool,

    /// Limit each call to this time, and listen to each stream for this time
    #[arg(long, value_name = "TIME", value_parser = parse_timeout, default_value = "3s")]
    timeout: Duration,

    /// Choose the output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Exit with code 1 from this severity on
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,
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

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let verdict = check(args)?;
    Ok(Outcome::from_findings(match args.fail_on {
        FailOn::Error => verdict == Verdict::Wrong,
        FailOn::Warning => verdict != Verdict::InOrder,
        FailOn::Never => false,
    }))
}

fn check(args: &Args) -> anyhow::Result<Verdict> {
    let client = client(args)?;
    let scope = if args.push { Scope::WithStreams } else { Scope::Calls };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let transcript = runtime.block_on(calls::call_all(&client, scope, args.timeout));
    let report = Report {
        endpoint: client.endpoint().to_string(),
        object: format!("{}/{}", args.namespace, args.name),
        diagnostics: diagnose::diagnose(&transcript),
        transcript,
    };
    let printed = match args.format {
        Format::Text => text::render(&report),
        Format::Json => json::render(&report),
    };
    outcome::print(&printed)?;
    Ok(Verdict::from_diagnostics(&report.diagnostics))
}

/// The client that the operator would have for a trigger with these parameters.
fn client(args: &Args) -> anyhow::Result<ExternalClient> {
    let mut metadata: BTreeMap<String, String> = args.metadata.iter().cloned().collect();
    metadata.insert(external::SCALER_ADDRESS.name.to_owned(), args.address.clone());
    if args.tls || args.insecure {
        metadata.insert(external::ENABLE_TLS.name.to_owned(), "true".to_owned());
    }
    if args.insecure {
        metadata.insert(external::UNSAFE_SSL.name.to_owned(), "true".to_owned());
    }
    let mut auth = Vec::new();
    for (parameter, file) in
        [(external::CA_CERT, &args.ca), (external::TLS_CLIENT_CERT, &args.cert), (external::TLS_CLIENT_KEY, &args.key)]
    {
        if let Some(file) = file {
            auth.push((parameter.name, read(file)?));
        }
    }
    let trigger = Trigger {
        r#type: if args.push { external::EXTERNAL_PUSH.name } else { external::EXTERNAL.name }.to_owned(),
        name: None,
        metadata,
        authentication_ref: None,
        use_cached_metrics: None,
        metric_type: None,
    };
    let owner = Owner { namespace: &args.namespace, name: &args.name, role: Role::Metric };
    // The value of a key with FromEnv is used as it is.
    let environment = trigger.metadata.values().map(|value| (value.clone(), value.clone())).collect();
    let auth = AuthParams::from_iter(auth);
    let trigger = TriggerConfig::new(owner, 0, &trigger).resolved(&auth, &environment, None);
    let registry = Registry::new(
        Settings { http_timeout: args.timeout, ..Settings::default() },
        Connector::tcp(),
        std::sync::Arc::new(kedge_scalers::NoCluster),
    );
    match registry.external_client(&trigger) {
        Ok(client) => Ok(client),
        Err(error) => {
            let problems: Vec<String> = error.errors.iter().map(ToString::to_string).collect();
            bail!("{}", problems.join(", and "))
        }
    }
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
