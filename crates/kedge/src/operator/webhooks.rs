//! The admission webhooks: within the operator, or as a process of their own (`kedge webhooks`).

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use kedge_metrics_api::Readiness;
use kedge_serving::{Limits, Security, ServingCertificate, Spoken, Tls};
use kedge_webhooks::Webhooks;
use kedge_webhooks::index::Index;
use kedge_webhooks::lookups::KubeLookups;
use kedge_webhooks::telemetry::Telemetry;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{debug, info, warn};

pub(crate) use super::settings::webhooks::Flags;
use super::settings::webhooks::{self as settings, Settings};
use super::settings::{Compression, Environment};
use super::{certificate, connect, listen_if, listening, plain, start_logging, wait_for_signal};

/// The webhooks of a process.
#[derive(Clone)]
pub(super) struct Judges {
    client: kube::Client,
    index: Arc<Index>,
    spoken: Spoken,
    pub(super) telemetry: Arc<Telemetry>,
}

impl Judges {
    /// They judge what is in these namespaces; none is all.
    pub(super) fn new(client: kube::Client, namespaces: &[String], spoken: Spoken) -> Self {
        Self { client, index: Arc::new(Index::covering(namespaces.to_vec())), spoken, telemetry: Arc::default() }
    }

    /// Serves until told to stop, if there is anywhere to serve.
    pub(super) async fn serve(
        &self,
        listener: Option<TcpListener>,
        certificate: ServingCertificate,
        stop: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let Some(listener) = listener else { return Ok(()) };
        info!(address = %listener.local_addr()?, "serving admission webhooks");
        let lookups = Arc::new(KubeLookups::new(self.client.clone()));
        let webhooks = Arc::new(Webhooks::new(self.index.clone(), lookups, self.telemetry.clone()));
        let handler = move |_, request: http::Request<hyper::body::Incoming>| {
            let webhooks = webhooks.clone();
            async move { webhooks.answer(request).await }
        };
        let tls = Security::Tls(Tls { spoken: self.spoken.clone(), ..Tls::new(certificate) });
        let served = kedge_serving::serve(listener, tls, Limits::default(), handler, stop);
        tokio::select! {
            biased;
            served = served => served.map(drop).context("the admission webhooks ended"),
            never = self.watch() => match never {},
        }
    }

    async fn watch(&self) -> Infallible {
        self.index.clone().watch(self.client.clone()).await;
        unreachable!("watches do not end")
    }
}

/// Settles the settings, and runs by them until told to stop.
pub(crate) fn run(flags: &Flags, environment: &Environment) -> anyhow::Result<()> {
    let mistakes = |mistakes: Vec<String>| anyhow!("the webhooks cannot start:\n  {}", mistakes.join("\n  "));
    let settings = settings::settle(flags, environment).map_err(mistakes)?;
    start_logging(&settings.logging);
    debug!(?settings, "settings");
    for warning in &settings.warnings {
        warn!("{warning}");
    }
    work(&settings)
}

#[tokio::main]
async fn work(settings: &Settings) -> anyhow::Result<()> {
    let client = connect(settings.kubeconfig.as_deref(), Compression::Off).await?;
    let version = client.apiserver_version().await.context("the API server does not answer")?;
    info!(version = env!("CARGO_PKG_VERSION"), kubernetes = version.git_version, "starting");
    let listener = listening::listen(&settings.address).await?;
    let health = listen_if(settings.health.as_ref()).await?;
    let metrics = listen_if(settings.metrics.as_ref()).await?;
    let (certificate, keeping) = certificate::open(client.clone(), &settings.certificate).await?;

    let (stop, stopped) = watch::channel(false);
    let until_stopped = || {
        let mut stopped = stopped.clone();
        async move { drop(stopped.wait_for(|stopped| *stopped).await) }
    };
    let judges = Judges::new(client, &settings.namespaces, settings.tls.spoken());
    let readiness = Readiness::new();
    let (probed, telemetry) = (readiness.clone(), judges.telemetry.clone());
    let health = plain::serve(health, move |path| plain::probe(&probed, path), until_stopped());
    let metrics = plain::serve(metrics, move |path| plain::metrics(&|| telemetry.render(), path), until_stopped());
    let ready = async {
        tokio::select! {
            () = judges.index.until_complete() => readiness.mark_ready(),
            () = until_stopped() => {}
        }
    };
    let asked = async {
        let asked = tokio::select! {
            asked = wait_for_signal() => asked,
            () = until_stopped() => Ok(()),
        };
        info!("stopping");
        stop.send_replace(true);
        asked
    };
    let serve = async {
        let served = judges.serve(Some(listener), certificate, until_stopped()).await;
        // Whatever ended it, the rest ends too.
        stop.send_replace(true);
        served
    };
    let keeping = async {
        tokio::select! {
            never = keeping => match never {},
            () = until_stopped() => {}
        }
    };
    let (served, health, metrics, (), (), asked) = tokio::join!(serve, health, metrics, ready, keeping, asked);
    served?;
    health.context("the probes ended")?;
    metrics.context("the metrics ended")?;
    asked
}
