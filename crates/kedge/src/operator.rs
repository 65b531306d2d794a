//! `kedge operator`: watches ScaledObjects, acts on them, and serves their metrics.

mod plain;
mod serving;
mod settings;

use std::sync::Arc;

use anyhow::Context;
use kedge_metrics_api::{KubeReviewer, Parts, Readiness, Trust};
use kedge_operator::{Clock, Operator};
use kedge_scalers::http::connector::Connector;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

pub(crate) use settings::Args;
use settings::LogFormat;

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    start_logging(args);
    let settings = settings::read(args)?;
    let client = connect(args).await?;
    let version = client.apiserver_version().await.context("the API server does not answer")?;
    info!(version = env!("CARGO_PKG_VERSION"), kubernetes = version.git_version, "starting");

    let (stop, stopped) = watch::channel(false);
    let until_stopped = || {
        let mut stopped = stopped.clone();
        async move { drop(stopped.wait_for(|stopped| *stopped).await) }
    };
    let registry = kedge_scalers::Registry::new(settings.scalers, Connector::tcp());
    let operator = Operator::start(client.clone(), Clock::System, registry, settings.operator);
    let readiness = Readiness::new();

    let trust = Trust::fetch(&client).await.context("cannot read how callers of the metrics API are known")?;
    let parts = Parts {
        source: Arc::new(operator.source()),
        reviewer: Arc::new(KubeReviewer::new(client.clone())),
        trust: trust.clone(),
        certificate: serving::certificate(args)?,
        readiness: readiness.clone(),
    };
    let listener = TcpListener::bind(args.metrics_api_bind_address)
        .await
        .with_context(|| format!("cannot listen on {}", args.metrics_api_bind_address))?;
    info!(address = %listener.local_addr()?, "serving external metrics");
    let metrics = kedge_metrics_api::serve(listener, kedge_metrics_api::Settings::default(), parts, until_stopped());
    let probed = readiness.clone();
    let health = plain::serve(args.health_probe_bind_address, move |path| plain::probe(&probed, path), until_stopped());
    let render = Arc::new(operator.telemetry());
    let telemetry =
        plain::serve(args.metrics_bind_address, move |path| plain::metrics(&*render, path), until_stopped());
    let work = async {
        readiness.mark_ready();
        let ended = operator.run(until_stopped()).await;
        // Whatever ended it, the rest ends too.
        stop.send_replace(true);
        ended
    };
    let asked = async {
        wait_for_signal().await?;
        info!("stopping");
        stop.send_replace(true);
        anyhow::Ok(())
    };
    let trust = async {
        tokio::select! {
            never = trust.watch(client.clone()) => match never {},
            () = until_stopped() => {}
        }
    };
    let asked = async {
        tokio::select! {
            asked = asked => asked,
            () = until_stopped() => Ok(()),
        }
    };
    let (metrics, health, telemetry, work, (), asked) = tokio::join!(metrics, health, telemetry, work, trust, asked);
    work?;
    metrics.context("the metrics API ended")?;
    health?;
    telemetry?;
    asked
}

/// A client for the cluster: by the given kubeconfig, else as `kubectl` would, else from inside a pod.
async fn connect(args: &Args) -> anyhow::Result<kube::Client> {
    let config = match &args.kubeconfig {
        Some(path) => {
            let read = Kubeconfig::read_from(path)
                .with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
            kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?
        }
        None => {
            kube::Config::infer().await.context("no kubeconfig, and not in a cluster; give one with --kubeconfig")?
        }
    };
    Ok(kedge_operator::patient_client(config)?)
}

async fn wait_for_signal() -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

fn start_logging(args: &Args) {
    let logs = tracing_subscriber::fmt().with_max_level(args.log_level).with_writer(std::io::stderr);
    match args.log_format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
}
