//! `kedge operator`: reconciles ScaledObjects and serves their metrics and the admission webhooks.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use kedge_cluster::Clock;
use kedge_dashboard::{Dashboard, DashboardSource, Hosts};
use kedge_metrics_api::{KubeReviewer, Parts, Readiness, Trust};
use kedge_operator::{KubeReads, Operator, OperatorView};
use kedge_scalers::http::connector::Connector;
use kedge_serving::{ClientCertificates, Security, ServeError, Tls};
use tokio::net::TcpListener;
use tracing::{debug, info, warn};

use crate::admission::AdmissionServer;
use crate::connect::connect;
use crate::dashboard_access::ReviewedAccess;
use crate::process::listen::{listen, listen_if};
use crate::process::logs::start_logging;
use crate::process::shutdown::Shutdown;
use crate::process::{certificate, dashboard, plain_http};
pub(crate) use crate::settings::{Environment, Flags};
use crate::settings::{Settings, resolve};

/// Resolves the settings and runs until it is stopped.
pub(crate) fn run(flags: &Flags, environment: &Environment) -> anyhow::Result<()> {
    let invalid = |errors: Vec<String>| anyhow!("the operator cannot start:\n  {}", errors.join("\n  "));
    let settings = resolve(flags, environment).map_err(invalid)?;
    start_logging(&settings.logging);
    for warning in &settings.notices.warnings {
        warn!(warning, "check the settings");
    }
    if let Some(flags) = &settings.notices.ignored {
        info!(flags, "flags of KEDA that have no effect here");
    }
    debug!(?settings, "settings");
    serve(&settings)
}

/// The listeners of the operator. They are bound before any other work.
struct Listeners {
    metrics_api: TcpListener,
    health: Option<TcpListener>,
    telemetry: Option<TcpListener>,
    webhooks: Option<TcpListener>,
    dashboard: Option<TcpListener>,
}

impl Listeners {
    async fn bind(settings: &Settings) -> anyhow::Result<Self> {
        Ok(Self {
            metrics_api: listen(&settings.serving.metrics_api).await?,
            health: listen_if(settings.serving.health.as_ref()).await?,
            telemetry: listen_if(settings.serving.metrics.as_ref()).await?,
            webhooks: listen_if(settings.serving.webhooks.as_ref()).await?,
            dashboard: listen_if(settings.serving.dashboard.as_ref()).await?,
        })
    }
}

// One thread: 1,000 objects need a thirtieth of a core, and a thread that wakes another for each step of a poll takes more than the step.
#[tokio::main(flavor = "current_thread")]
async fn serve(settings: &Settings) -> anyhow::Result<()> {
    let client = connect(settings.kubeconfig.as_deref()).await?;
    let version = client.apiserver_version().await.context("the API server does not answer")?;
    info!(version = env!("CARGO_PKG_VERSION"), kubernetes = version.git_version, "starting");

    let listeners = Listeners::bind(settings).await?;
    let shutdown = Shutdown::new();
    let (certificate, renewal) = certificate::open(client.clone(), &settings.serving.certificate).await?;
    let operator = start(client.clone(), settings);
    let readiness = Readiness::new();
    let admission = AdmissionServer::new(client.clone(), &settings.scope.namespaces, settings.service_tls.protocols());

    let trust = Trust::fetch(&client).await.context("cannot read how callers of the metrics API authenticate")?;
    let parts = Parts {
        source: Arc::new(operator.source()),
        reviewer: Arc::new(KubeReviewer::new(client.clone())),
        trust: trust.clone(),
        certificate: certificate.clone(),
        readiness: readiness.clone(),
    };
    info!(address = %listeners.metrics_api.local_addr()?, "serving external metrics");
    let api_settings = kedge_metrics_api::Settings::default();
    let metrics_api = kedge_metrics_api::serve(listeners.metrics_api, api_settings, parts, shutdown.stopped());
    let probed = readiness.clone();
    let health = plain_http::serve(listeners.health, move |path| plain_http::probe(&probed, path), shutdown.stopped());
    let dashboard = serve_dashboard(
        listeners.dashboard,
        operator.view(),
        client.clone(),
        trust.clone(),
        Tls {
            clients: ClientCertificates::Requested,
            protocols: settings.service_tls.protocols(),
            ..Tls::new(certificate.clone())
        },
        shutdown.stopped(),
    );
    let webhooks = admission.serve(listeners.webhooks, certificate, shutdown.stopped());
    let (own, of_webhooks) = (operator.telemetry(), admission.telemetry.clone());
    let render = Arc::new(move || [own(), of_webhooks.render()].concat());
    let telemetry =
        plain_http::serve(listeners.telemetry, move |path| plain_http::metrics(&*render, path), shutdown.stopped());
    let reconciling = async {
        readiness.mark_ready();
        let ended = operator.run(shutdown.stopped()).await;
        shutdown.stop();
        ended
    };
    let (metrics_api, health, telemetry, reconciled, (), (), signalled, webhooks, dashboard) = tokio::join!(
        metrics_api,
        health,
        telemetry,
        reconciling,
        shutdown.run_until_stopped(trust.watch(client.clone())),
        shutdown.run_until_stopped(renewal),
        shutdown.stop_on_signal(),
        webhooks,
        dashboard,
    );
    reconciled?;
    webhooks?;
    dashboard.context("the dashboard ended")?;
    metrics_api.context("the metrics API ended")?;
    health.context("the probes ended")?;
    telemetry.context("the operator's metrics ended")?;
    signalled
}

/// Serves the dashboard until `stop`, if there is a listener.
async fn serve_dashboard(
    listener: Option<TcpListener>,
    view: Option<OperatorView>,
    client: kube::Client,
    trust: Trust,
    tls: Tls,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (Some(listener), Some(view)) = (listener, view) else { return Ok(()) };
    let source: Arc<dyn DashboardSource> = Arc::new(view);
    let reviewer = Arc::new(KubeReviewer::new(client));
    let access = Arc::new(ReviewedAccess::new(source.clone(), reviewer, trust));
    // No browser adds a token by itself; one with a client certificate checks the name in that of this server before it sends anything.
    let dashboard = Arc::new(Dashboard { source, access, controls: None, hosts: Hosts::Any });
    dashboard::serve(listener, Security::Tls(tls), dashboard, stop).await
}

/// Starts the operator with the scalers of the settings.
fn start(client: kube::Client, settings: &Settings) -> Operator {
    let (scalers, warnings) = settings.scalers();
    for warning in warnings {
        warn!(warning, "some CA certificates are ignored");
    }
    let operator = settings.operator();
    let reads = Arc::new(KubeReads::new(client.clone(), operator.credentials.clone()));
    let registry = kedge_scalers::Registry::new(scalers, Connector::tcp(), reads)
        .with_unexpected_parameters(settings.unexpected_parameters);
    Operator::start(client, Clock::System, registry, operator)
}
