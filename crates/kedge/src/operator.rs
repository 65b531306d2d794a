//! `kedge operator`: watches ScaledObjects, acts on them, and serves their metrics.

mod certificate;
mod listening;
mod plain;
pub(crate) mod reference;
mod settings;
pub(crate) mod webhooks;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, ensure};
use kedge_cluster::Clock;
use kedge_metrics_api::{KubeReviewer, Parts, Readiness, Trust};
use kedge_operator::{KubeReads, Operator};
use kedge_scalers::http::connector::Connector;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::{debug, info, warn};

use settings::addresses::Address;
use settings::logging::{Format, Logging};
use settings::{Compression, Settings};
pub(crate) use settings::{Environment, Flags};

/// Settles the settings, and runs by them until told to stop.
pub(crate) fn run(flags: &Flags, environment: &Environment) -> anyhow::Result<()> {
    let mistakes = |mistakes: Vec<String>| anyhow!("the operator cannot start:\n  {}", mistakes.join("\n  "));
    let settings = settings::settle(flags, environment).map_err(mistakes)?;
    start_logging(&settings.logging);
    for warning in &settings.notices.warnings {
        warn!(warning, "not all that was asked for is done");
    }
    if let Some(flags) = &settings.notices.ignored {
        info!(flags, "flags of KEDA that have no effect here");
    }
    debug!(?settings, "settings");
    work(&settings)
}

#[tokio::main]
async fn work(settings: &Settings) -> anyhow::Result<()> {
    let client = connect(settings.kubeconfig.as_deref(), settings.compression).await?;
    let version = client.apiserver_version().await.context("the API server does not answer")?;
    info!(version = env!("CARGO_PKG_VERSION"), kubernetes = version.git_version, "starting");

    let listener = listening::listen(&settings.serving.metrics_api).await?;
    let health_listener = listen_if(settings.serving.health.as_ref()).await?;
    let telemetry_listener = listen_if(settings.serving.metrics.as_ref()).await?;
    let webhooks_listener = listen_if(settings.serving.webhooks.as_ref()).await?;

    let (stop, stopped) = watch::channel(false);
    let until_stopped = || {
        let mut stopped = stopped.clone();
        async move { drop(stopped.wait_for(|stopped| *stopped).await) }
    };
    let (certificate, keeping) = certificate::open(client.clone(), &settings.serving.certificate).await?;
    let (scalers, warnings) = settings.scalers();
    for warning in warnings {
        warn!(warning, "some certificate authorities are left out");
    }
    let reads = Arc::new(KubeReads::new(client.clone()));
    let registry = kedge_scalers::Registry::new(scalers, Connector::tcp(), reads);
    let operator = Operator::start(client.clone(), Clock::System, registry, settings.operator());
    let readiness = Readiness::new();
    let judges = webhooks::Judges::new(client.clone(), &settings.scope.namespaces, settings.service_tls.spoken());

    let trust = Trust::fetch(&client).await.context("cannot read how callers of the metrics API are known")?;
    let parts = Parts {
        source: Arc::new(operator.source()),
        reviewer: Arc::new(KubeReviewer::new(client.clone())),
        trust: trust.clone(),
        certificate: certificate.clone(),
        readiness: readiness.clone(),
    };
    info!(address = %listener.local_addr()?, "serving external metrics");
    let metrics = kedge_metrics_api::serve(listener, kedge_metrics_api::Settings::default(), parts, until_stopped());
    let probed = readiness.clone();
    let health = plain::serve(health_listener, move |path| plain::probe(&probed, path), until_stopped());
    let webhooks = judges.serve(webhooks_listener, certificate, until_stopped());
    let (render, judged) = (operator.telemetry(), judges.telemetry.clone());
    let render = Arc::new(move || [render(), judged.render()].concat());
    let telemetry = plain::serve(telemetry_listener, move |path| plain::metrics(&*render, path), until_stopped());
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
    let keeping = async {
        tokio::select! {
            never = keeping => match never {},
            () = until_stopped() => {}
        }
    };
    let asked = async {
        tokio::select! {
            asked = asked => asked,
            () = until_stopped() => Ok(()),
        }
    };
    let (metrics, health, telemetry, work, (), (), asked, webhooks) =
        tokio::join!(metrics, health, telemetry, work, trust, keeping, asked, webhooks);
    work?;
    webhooks?;
    metrics.context("the metrics API ended")?;
    health.context("the probes ended")?;
    telemetry.context("the operator's metrics ended")?;
    asked
}

async fn listen_if(address: Option<&Address>) -> anyhow::Result<Option<TcpListener>> {
    match address {
        Some(address) => listening::listen(address).await.map(Some),
        None => Ok(None),
    }
}

/// A client for commands that people run.
pub(crate) async fn connect_as_user(kubeconfig: Option<&Path>) -> anyhow::Result<kube::Client> {
    connect(kubeconfig, Compression::On).await
}

/// A client for the cluster: by the given kubeconfig, else as `kubectl` would, else from inside a pod.
async fn connect(kubeconfig: Option<&Path>, compression: Compression) -> anyhow::Result<kube::Client> {
    let mut config = match kubeconfig {
        Some(path) => {
            let read = Kubeconfig::read_from(path)
                .with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
            let names_proxy = read.clusters.iter().flat_map(|named| &named.cluster).any(|one| one.proxy_url.is_some());
            ensure!(!names_proxy, "{} has a proxy-url, which is not supported; remove it", path.display());
            kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?
        }
        None => {
            kube::Config::infer().await.context("no kubeconfig, and not in a cluster; give one with --kubeconfig")?
        }
    };
    // In a cluster the API server is asked directly whatever HTTPS_PROXY says, which is for sources; so it is outside. It may hold a
    // password, so that nobody else gets to complain about it.
    config.proxy_url = None;
    config.disable_compression |= compression == Compression::Off;
    Ok(kedge_cluster::client_with_retry_after(config)?)
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

fn start_logging(logging: &Logging) {
    let logs = tracing_subscriber::fmt().with_max_level(logging.level).with_timer(logging.time);
    // Colours are for people, not for what collects logs.
    let logs = logs.with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    match logging.format {
        Format::Text => logs.init(),
        Format::Json => logs.json().init(),
    }
}
