//! `kedge webhooks`: the admission webhooks as a process of their own.

use anyhow::{Context, anyhow};
use kedge_metrics_api::Readiness;
use tracing::{debug, info, warn};

use crate::admission::AdmissionServer;
use crate::connect::connect;
use crate::process::listen::{listen, listen_if};
use crate::process::logs::start_logging;
use crate::process::shutdown::Shutdown;
use crate::process::{certificate, plain_http};
use crate::settings::Environment;
pub(crate) use crate::settings::webhooks::Flags;
use crate::settings::webhooks::{Settings, resolve};

/// Resolves the settings and runs until it is stopped.
pub(crate) fn run(flags: &Flags, environment: &Environment) -> anyhow::Result<()> {
    let invalid = |errors: Vec<String>| anyhow!("the webhooks cannot start:\n  {}", errors.join("\n  "));
    let settings = resolve(flags, environment).map_err(invalid)?;
    start_logging(&settings.logging);
    debug!(?settings, "settings");
    for warning in &settings.warnings {
        warn!("{warning}");
    }
    serve(&settings)
}

#[tokio::main(flavor = "current_thread")]
async fn serve(settings: &Settings) -> anyhow::Result<()> {
    let client = connect(settings.kubeconfig.as_deref()).await?;
    let version = client.apiserver_version().await.context("the API server does not answer")?;
    info!(version = env!("CARGO_PKG_VERSION"), kubernetes = version.git_version, "starting");
    let listener = listen(&settings.address).await?;
    let health = listen_if(settings.health.as_ref()).await?;
    let metrics = listen_if(settings.metrics.as_ref()).await?;
    let (certificate, renewal) = certificate::open(client.clone(), &settings.certificate).await?;

    let shutdown = Shutdown::new();
    let admission = AdmissionServer::new(client, &settings.namespaces, settings.tls.protocols());
    let readiness = Readiness::new();
    let (probed, telemetry) = (readiness.clone(), admission.telemetry.clone());
    let health = plain_http::serve(health, move |path| plain_http::probe(&probed, path), shutdown.stopped());
    let metrics =
        plain_http::serve(metrics, move |path| plain_http::metrics(&|| telemetry.render(), path), shutdown.stopped());
    let ready = async {
        tokio::select! {
            () = admission.index.wait_until_synced() => readiness.mark_ready(),
            () = shutdown.stopped() => {}
        }
    };
    let serving = async {
        let served = admission.serve(Some(listener), certificate, shutdown.stopped()).await;
        shutdown.stop();
        served
    };
    let (served, health, metrics, (), (), signalled) =
        tokio::join!(serving, health, metrics, ready, shutdown.run_until_stopped(renewal), shutdown.stop_on_signal(),);
    served?;
    health.context("the probes ended")?;
    metrics.context("the metrics ended")?;
    signalled
}
