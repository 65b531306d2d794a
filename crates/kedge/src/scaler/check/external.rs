//! An external scaler by its address: called with the operator's own client, its responses printed and diagnosed.
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
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use kedge_api::trigger::Trigger;
use kedge_scalers::external::{self, ExternalClient};
use kedge_scalers::{AuthParams, Connector, Owner, Registry, Role, Settings, TriggerConfig};

use super::{Format, MANIFESTS, Severity};
use crate::outcome;
use calls::Scope;
use diagnose::Verdict;
use report::Report;

/// The flags that only a call by address has.
#[derive(clap::Args)]
#[command(next_help_heading = "External scalers by address")]
pub(super) struct ExternalFlags {
    /// Use TLS; --ca, --cert and --insecure imply it
    #[arg(long, conflicts_with_all = MANIFESTS)]
    tls: bool,

    /// Trust the CA of this PEM file, in addition to those of the system
    #[arg(long, value_name = "FILE", conflicts_with_all = MANIFESTS)]
    ca: Option<PathBuf>,

    /// Present the certificate of this PEM file
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with_all = MANIFESTS)]
    cert: Option<PathBuf>,

    /// Use the private key of this PEM file
    #[arg(long, value_name = "FILE", requires = "cert", conflicts_with_all = MANIFESTS)]
    key: Option<PathBuf>,

    /// Use TLS, and accept any certificate
    #[arg(long, conflicts_with_all = MANIFESTS)]
    insecure: bool,

    /// Check the streams of `external-push` too
    #[arg(long, conflicts_with_all = MANIFESTS)]
    push: bool,
}

/// The call of one scaler.
pub(super) struct Request<'a> {
    pub(super) address: &'a str,
    pub(super) metadata: &'a [(String, String)],
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
    pub(super) timeout: Duration,
    pub(super) flags: &'a ExternalFlags,
}

/// Calls the scaler, and prints what came of it.
pub(super) fn run(request: &Request<'_>, format: Format) -> anyhow::Result<Severity> {
    Ok(match check(request, format)? {
        Verdict::InOrder => Severity::None,
        Verdict::Doubtful => Severity::Warning,
        Verdict::Wrong => Severity::Error,
    })
}

fn check(request: &Request<'_>, format: Format) -> anyhow::Result<Verdict> {
    let client = client(request)?;
    let scope = if request.flags.push { Scope::WithStreams } else { Scope::Calls };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let transcript = runtime.block_on(calls::call_all(&client, scope, request.timeout));
    let report = Report {
        endpoint: client.endpoint().to_string(),
        object: format!("{}/{}", request.namespace, request.name),
        diagnostics: diagnose::diagnose(&transcript),
        transcript,
    };
    let printed = match format {
        Format::Text => text::render(&report),
        Format::Json => json::render(&report),
    };
    outcome::print(&printed)?;
    Ok(Verdict::from_diagnostics(&report.diagnostics))
}

/// The client that the operator would have for a trigger with these parameters.
fn client(request: &Request<'_>) -> anyhow::Result<ExternalClient> {
    let flags = request.flags;
    let mut metadata: BTreeMap<String, String> = request.metadata.iter().cloned().collect();
    metadata.insert(external::SCALER_ADDRESS.name.to_owned(), request.address.to_owned());
    if flags.tls || flags.insecure {
        metadata.insert(external::ENABLE_TLS.name.to_owned(), "true".to_owned());
    }
    if flags.insecure {
        metadata.insert(external::UNSAFE_SSL.name.to_owned(), "true".to_owned());
    }
    let mut auth = Vec::new();
    for (parameter, file) in [
        (external::CA_CERT, &flags.ca),
        (external::TLS_CLIENT_CERT, &flags.cert),
        (external::TLS_CLIENT_KEY, &flags.key),
    ] {
        if let Some(file) = file {
            auth.push((parameter.name, super::read(file)?));
        }
    }
    let trigger = Trigger {
        r#type: if flags.push { external::EXTERNAL_PUSH.name } else { external::EXTERNAL.name }.to_owned(),
        name: None,
        metadata,
        authentication_ref: None,
        use_cached_metrics: None,
        metric_type: None,
    };
    let owner = Owner { namespace: request.namespace, name: request.name, role: Role::Metric };
    // The value of a key with FromEnv is used as it is.
    let environment = trigger.metadata.values().map(|value| (value.clone(), value.clone())).collect();
    let auth = AuthParams::from_iter(auth);
    let trigger = TriggerConfig::new(owner, 0, &trigger).resolved(&auth, &environment, None);
    let registry = Registry::new(
        Settings { http_timeout: request.timeout, ..Settings::default() },
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
