//! `kedge dashboard`: the dashboard of a cluster in a browser, with the credentials of a kubeconfig.
//!
//! | module | what it holds |
//! |---|---|
//! | `leader` | the pod that serves it |
//! | `tunnel` | requests to that pod, through the API server |
//! | `proxy` | the local server: which requests are passed on |
//! | `key` | the secret between this command and the page that it opened |

mod key;
mod leader;
mod proxy;
mod tunnel;

use std::io::IsTerminal;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use kedge_serving::Security;
use tokio::net::TcpListener;

use self::key::PageKey;
use self::leader::{Choice, Leader};
use self::proxy::Proxy;
use self::tunnel::Tunnel;
use crate::connect;
use crate::process::shutdown::Shutdown;
use crate::process::{browser, dashboard};

const EXAMPLES: &str = "\
The operator must serve a dashboard: with the chart, set operator.dashboard.enabled. You see the ScaledObjects that you may get.
Your kubeconfig needs to allow: get leases and pods, and create pods/portforward, in the namespace of the operator.

Examples:
  kedge dashboard
  kedge dashboard --namespace kedge --port 9000 --no-open";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Use this kubeconfig; by default $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Set the namespace of the operator
    #[arg(long, short, value_name = "NAME", default_value = "keda")]
    namespace: String,

    /// Set the Lease that names the leader
    #[arg(long, value_name = "NAME", default_value = "operator.keda.sh")]
    lease: String,

    /// Use this pod instead of the leader's
    #[arg(long, value_name = "NAME")]
    pod: Option<String>,

    /// Serve the page on this port of this machine; 0 is any
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    port: u16,

    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
}

/// Runs until it is stopped.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let config = connect::config(args.kubeconfig.as_deref()).await?;
    let choice = match &args.pod {
        Some(pod) => Choice::Pod(pod.clone()),
        None => Choice::HolderOf { lease: args.lease.clone() },
    };
    let leader = Leader::new(connect::client_of(&config)?, args.namespace.clone(), choice);
    let found = leader.find().await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).await;
    let listener = listener.with_context(|| format!("cannot serve on port {}; choose another --port", args.port))?;
    // Not `localhost`: a browser may try `::1` first, where another user of the machine may listen and read the key.
    let address = format!("http://{}", listener.local_addr()?);
    let key = PageKey::random()?;
    println!("{}/{} serves the dashboard; open", args.namespace, found.name);
    println!("  {}", key.page(&address));
    println!("Ctrl-C ends this.");
    let opened =
        (!args.no_open && std::io::stdout().is_terminal()).then(|| browser::open_privately(&key.page(&address)));
    let shutdown = Shutdown::new();
    let proxy = Arc::new(Proxy { tunnel: Tunnel::new(&config, leader)?, key });
    let handler = dashboard::with_body(move |head, _| {
        let proxy = proxy.clone();
        async move { proxy.respond(&head).await }
    });
    let served = kedge_serving::serve(listener, Security::Plain, dashboard::limits(), handler, shutdown.stopped());
    let (served, signalled) = tokio::join!(served, shutdown.stop_on_signal());
    // The file with the address goes with it.
    drop(opened);
    served.context("the page ended")?;
    signalled
}
