//! `kedge playground`: the real operator on a Kubernetes API in memory, with a page, a kubeconfig and a log.
//!
//! | module | what it holds |
//! |---|---|
//! | `lines` | what happens, as plain lines |
//! | `terminal` | the same as a picture of the terminal |

mod lines;
mod terminal;

use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use chrono::{DateTime, Utc};
use kedge_dashboard::access::Everyone;
use kedge_dashboard::{Dashboard, Hosts};
use kedge_playground::scenario::{self, Scenario};
use kedge_playground::{Options, Playground};
use kedge_serving::Security;
use serde_json::Value;
use tokio::net::TcpListener;
use tracing::level_filters::LevelFilter;

use crate::manifests::{self, files::File, stream};
use crate::process::dashboard;
use crate::process::shutdown::Shutdown;

const EXAMPLES: &str = "\
Scenarios:
  queue-worker   a worker follows a queue: from zero, up, down, and back to zero (the default)
  office-hours   two replicas in office hours and more at noon; try it with --speed 600
  flaky-source   a source fails: a few failures change nothing, many bring the fallback
  formula        two triggers and a formula
  push           an external scaler pushes

Examples:
  kedge playground
  kedge playground --speed 10
  kedge playground --scenario office-hours --speed 600
  kedge playground --manifest k8s/ --manifest extra.yaml
  helm template my-chart | kedge playground --manifest -

The playground needs no cluster and changes none. It ends with Ctrl-C, and leaves nothing behind.";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run the ScaledObjects of these YAML or JSON files, folders of such files, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    manifest: Vec<PathBuf>,

    /// Run this prepared day: queue-worker, office-hours, flaky-source, formula or push [default: queue-worker]
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,

    /// Let time pass this many times faster
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    speed: f64,

    /// Start at this instant (RFC 3339) instead of now
    #[arg(long, value_name = "INSTANT")]
    start: Option<DateTime<Utc>>,

    /// Serve the page on this port of this machine; 0 is any
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    port: u16,

    /// Serve the Kubernetes API on this port of this machine; 0 is any
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    api_port: u16,

    /// Print plain lines, also in a terminal
    #[arg(long)]
    plain: bool,

    /// Stop after this many seconds of the machine's clock
    #[arg(long, value_name = "SECONDS")]
    stop_after: Option<u64>,
}

/// Runs until it is stopped.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let (manifests, scenario) = what_to_run(args)?;
    // The log of the operator is for those who look for something in it.
    let level = if std::env::var_os("KEDGE_PLAYGROUND_LOG").is_some() { LevelFilter::INFO } else { LevelFilter::ERROR };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false).init();
    let options = Options {
        speed: args.speed,
        starts_at: args.start.unwrap_or_else(Utc::now),
        api_address: loopback(args.api_port),
        manifests,
        scenario,
    };
    serve(args, options)
}

/// The objects to apply, and who turns their dials.
fn what_to_run(args: &Args) -> anyhow::Result<(Vec<Value>, Option<&'static Scenario>)> {
    if !args.manifest.is_empty() {
        let documents = manifests::read_documents(&args.manifest)?;
        return Ok((documents.into_iter().map(|located| located.document.object).collect(), None));
    }
    let name = args.scenario.as_deref().unwrap_or(scenario::ALL[0].name);
    let Some(scenario) = Scenario::find(name) else {
        let known: Vec<&str> = scenario::ALL.iter().map(|one| one.name).collect();
        bail!("there is no scenario {name}; there are {}", known.join(", "));
    };
    let file = || File { name: name.to_owned(), contents: stream::parse(scenario.manifests.as_bytes()) }.located();
    let documents = manifests::with_large_stack(file)?;
    Ok((documents.into_iter().map(|located| located.document.object).collect(), Some(scenario)))
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

#[tokio::main]
async fn serve(args: &Args, options: Options) -> anyhow::Result<()> {
    let scenario = options.scenario;
    let page = TcpListener::bind(loopback(args.port)).await;
    let page = page.with_context(|| format!("cannot serve the page on port {}; choose another --port", args.port))?;
    let page_address = page.local_addr()?;
    let mut playground = Playground::start(options).await?;
    let dashboard = Arc::new(Dashboard {
        source: playground.view(),
        access: Arc::new(Everyone),
        controls: Some(playground.controls()),
        hosts: Hosts::Loopback,
    });
    let greeting = lines::greeting(&playground, page_address, scenario, args.speed);
    let shutdown = Shutdown::new();
    let served = dashboard::serve(page, Security::Plain, dashboard, shutdown.stopped());
    let (view, controls) = (playground.view(), playground.controls());
    let is_plain = args.plain || !std::io::stdout().is_terminal();
    let shown = async {
        let shown = if is_plain {
            print!("{greeting}");
            shutdown.run_until_stopped(lines::print_steps(view)).await;
            Ok(())
        } else {
            let greeting = greeting.lines().map(str::to_owned).collect();
            let page = format!("http://localhost:{}", page_address.port());
            terminal::show(view, controls, greeting, &page, shutdown.stopped()).await
        };
        shutdown.stop();
        shown
    };
    let ended = async {
        tokio::select! {
            () = playground.ended() => eprintln!("the operator ended; see its log with KEDGE_PLAYGROUND_LOG=1"),
            () = stop_after(args.stop_after) => {}
            () = shutdown.stopped() => {}
        }
        shutdown.stop();
    };
    let (served, shown, (), signalled) = tokio::join!(served, shown, ended, shutdown.stop_on_signal());
    playground.stop().await;
    shown?;
    served.context("the page ended")?;
    signalled
}

async fn stop_after(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(std::time::Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}
