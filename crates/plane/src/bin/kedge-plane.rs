//! `kedge-plane`: a Kubernetes API in memory behind a socket, with what makes it look like a cluster: controllers, nodes that
//! are ready, pods that run at once. Its flags are called as those of kube-apiserver and kube-controller-manager that mean
//! the same.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use chrono::{TimeDelta, Utc};
use clap::Parser;
use kedge_plane::controllers::{Accounts, Controllers, HpaSettings, Nodes, Settings};
use kedge_plane::serve::tls::{self, KeyedCertificate};
use kedge_plane::serve::{AuditLog, NetworkBackends, Tokens, front_proxy, resource_metrics, serve};
use kedge_plane::{Options, Plane};
use tokio::net::TcpListener;

/// The length of the log: more than a slow watcher falls behind.
const HISTORY: usize = 100_000;

/// A Kubernetes API in memory
#[derive(Parser)]
struct Cli {
    /// Serve on this address
    #[arg(long, value_name = "ADDRESS")]
    listen: SocketAddr,

    /// Present this certificate to clients, PEM
    #[arg(long, value_name = "FILE")]
    tls_cert_file: PathBuf,

    /// Its key
    #[arg(long, value_name = "FILE")]
    tls_private_key_file: PathBuf,

    /// Trust this CA for client certificates and for backends
    #[arg(long, value_name = "FILE")]
    client_ca_file: PathBuf,

    /// Publish this CA of the front-proxy certificate
    #[arg(long, value_name = "FILE")]
    requestheader_client_ca_file: PathBuf,

    /// Publish this common name of the front-proxy certificate
    #[arg(long, value_name = "NAME")]
    requestheader_allowed_names: String,

    /// Present this front-proxy certificate to aggregated API servers
    #[arg(long, value_name = "FILE")]
    proxy_client_cert_file: PathBuf,

    /// Its key
    #[arg(long, value_name = "FILE")]
    proxy_client_key_file: PathBuf,

    /// Write the audit log to this file
    #[arg(long, value_name = "FILE")]
    audit_log_path: Option<PathBuf>,

    /// Serve metrics.k8s.io, from annotations of pods
    #[arg(long)]
    serve_usage: bool,

    /// Reconcile each HPA at this period
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "15s")]
    horizontal_pod_autoscaler_sync_period: TimeDelta,

    /// Ignore the CPU usage of a starting pod for this long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "5m")]
    horizontal_pod_autoscaler_cpu_initialization_period: TimeDelta,

    /// Count a pod that becomes unready this soon after its start as never ready
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "30s")]
    horizontal_pod_autoscaler_initial_readiness_delay: TimeDelta,

    /// Stabilize scale-downs over this window where the HPA sets none
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "5m")]
    horizontal_pod_autoscaler_downscale_stabilization: TimeDelta,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let cli = Cli::parse();
    let audit = cli.audit_log_path.as_deref().map(AuditLog::create).transpose().context("no audit log")?;
    let plane = Plane::new(options(audit.as_ref()));
    let authority = tls::read(&cli.client_ca_file)?;
    let tls = tls::server_config(KeyedCertificate::read(&cli.tls_cert_file, &cli.tls_private_key_file)?, &authority)?;
    let front_proxy = KeyedCertificate::read(&cli.proxy_client_cert_file, &cli.proxy_client_key_file)?;
    let authority = String::from_utf8(authority)?;
    furnish(&plane, &cli, &authority).await?;
    let listener = TcpListener::bind(cli.listen).await.with_context(|| format!("cannot listen on {}", cli.listen))?;
    tracing::info!(address = %cli.listen, "serving");
    // Each is a task of its own, so that none waits for another; none ends.
    tokio::spawn(Controllers::new(&plane, settings(&cli)).run());
    tokio::spawn(Nodes::new(&plane).run());
    tokio::spawn(Accounts::new(&plane, &authority).run());
    tokio::spawn(NetworkBackends::new(&plane, Some(front_proxy)).run());
    match serve(plane, listener, tls, audit).await {}
}

/// Puts into the plane what a cluster has from the start.
async fn furnish(plane: &Plane, cli: &Cli, authority: &str) -> anyhow::Result<()> {
    let published = front_proxy::Published {
        client_authority: authority.to_owned(),
        front_proxy_authority: String::from_utf8(tls::read(&cli.requestheader_client_ca_file)?)?,
        front_proxy_name: cli.requestheader_allowed_names.clone(),
    };
    front_proxy::publish(plane, &published).await?;
    if cli.serve_usage {
        resource_metrics::register(plane, |pod, container| Some(resource_metrics::annotated_usage(pod, container)))
            .await?;
    }
    Ok(())
}

/// Tokens that cannot be guessed, and a log of what controllers do, too.
fn options(audit: Option<&AuditLog>) -> Options {
    let tokens = Tokens::default();
    let (holders, audit) = (tokens.clone(), audit.cloned());
    Options {
        history: HISTORY,
        authenticate: Arc::new(move |token| holders.holder(token)),
        issue: Arc::new(move |user, _| tokens.issue(user)),
        observe: Arc::new(move |call, code| {
            if let Some(audit) = &audit {
                audit.note_call(call, code, Utc::now());
            }
        }),
        ..Options::default()
    }
}

fn settings(cli: &Cli) -> Settings {
    let hpa = HpaSettings {
        sync_period: cli.horizontal_pod_autoscaler_sync_period,
        cpu_initialization_period: cli.horizontal_pod_autoscaler_cpu_initialization_period,
        initial_readiness_delay: cli.horizontal_pod_autoscaler_initial_readiness_delay,
        downscale_stabilization: cli.horizontal_pod_autoscaler_downscale_stabilization,
        ..HpaSettings::default()
    };
    Settings { hpa, ..Settings::default() }
}

/// A duration as Go writes it.
fn parse_duration(text: &str) -> Result<TimeDelta, String> {
    kedge_plane::serve::parse_duration(text).ok_or_else(|| "is no duration such as 1m30s or 500ms".to_owned())
}
