//! `kedge scaler check`: calls an external scaler by the operator's own code, shows what comes back and judges it.
//!
//! | module | what it holds |
//! |---|---|
//! | `ask` | the calls, one after another |
//! | `judge` | what is wrong with the answers: pure |
//! | `remedy` | what to do about a call that failed |
//! | `text`, `json` | the two formats |

mod ask;
mod json;
mod judge;
mod remedy;
mod text;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use kedge_api::trigger::Trigger;
use kedge_scalers::external::ExternalClient;
use kedge_scalers::metadata::convert;
use kedge_scalers::{AuthParams, Connector, Owner, Registry, Role, Settings, TriggerConfig};

use ask::{Scope, Transcript};
use judge::{Finding, Verdict};

const EXAMPLES: &str = "\
Examples:
  kedge scaler check localhost:9090
  kedge scaler check scaler.queues:9090 --metadata queue=orders --push
  kedge scaler check localhost:9090 --ca ca.crt --cert client.crt --key client.key --format json

The exit code is 0 if all is in order, 1 if there are warnings, 2 if something is wrong.";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where the scaler is, as in `scalerAddress`: host:port
    address: String,

    /// An entry of the trigger's metadata, as often as needed. A key that ends in FromEnv takes the resolved value
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_entry)]
    metadata: Vec<(String, String)>,

    /// The name of the ScaledObject to ask for
    #[arg(long, default_value = "check")]
    name: String,

    /// Its namespace
    #[arg(long, default_value = "default")]
    namespace: String,

    /// Speak TLS; --ca, --cert and --insecure do so too
    #[arg(long)]
    tls: bool,

    /// A PEM file with an authority to trust beside those of this machine
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// A PEM file with the certificate to show
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// A PEM file with its key
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Speak TLS, and believe any certificate
    #[arg(long)]
    insecure: bool,

    /// Check the streams of `external-push`, too
    #[arg(long)]
    push: bool,

    /// How long each call may take, and how long each stream is listened to
    #[arg(long, value_name = "TIME", value_parser = parse_timeout, default_value = "3s")]
    timeout: Duration,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines to read
    Text,
    /// One JSON object
    Json,
}

/// What was said, and what is to be said about it.
struct Report {
    endpoint: String,
    object: String,
    transcript: Transcript,
    findings: Vec<Finding>,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    match check(args) {
        Ok(Verdict::InOrder) => ExitCode::SUCCESS,
        Ok(Verdict::Doubtful) => ExitCode::from(1),
        Ok(Verdict::Wrong) => ExitCode::from(2),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn check(args: &Args) -> anyhow::Result<Verdict> {
    let client = client(args)?;
    let scope = if args.push { Scope::WithStreams } else { Scope::Calls };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let transcript = runtime.block_on(ask::ask(&client, scope, args.timeout));
    let report = Report {
        endpoint: client.endpoint().to_string(),
        object: format!("{}/{}", args.namespace, args.name),
        findings: judge::judge(&transcript),
        transcript,
    };
    let printed = match args.format {
        Format::Text => text::render(&report),
        Format::Json => json::render(&report),
    };
    match std::io::stdout().write_all(printed.as_bytes()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.context("cannot write to standard output")?,
    }
    Ok(Verdict::of(&report.findings))
}

/// The client that the operator would have for a trigger with these parameters.
fn client(args: &Args) -> anyhow::Result<ExternalClient> {
    let mut metadata: BTreeMap<String, String> = args.metadata.iter().cloned().collect();
    metadata.insert("scalerAddress".to_owned(), args.address.clone());
    if args.tls || args.insecure {
        metadata.insert("enableTLS".to_owned(), "true".to_owned());
    }
    if args.insecure {
        metadata.insert("unsafeSsl".to_owned(), "true".to_owned());
    }
    let mut auth = Vec::new();
    for (parameter, file) in [("caCert", &args.ca), ("tlsClientCert", &args.cert), ("tlsClientKey", &args.key)] {
        if let Some(file) = file {
            auth.push((parameter, read(file)?));
        }
    }
    let trigger = Trigger {
        r#type: if args.push { "external-push" } else { "external" }.to_owned(),
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
        Err(flaw) => Err(format!("{}; {}", flaw.problem, flaw.remedy)),
    }
}
