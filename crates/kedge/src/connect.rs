//! The client of a cluster, for every command that needs one.

mod shared;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use http::{HeaderValue, header};
use http_body_util::BodyExt;
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kedge_cluster::RetryAfterLayer;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tower::ServiceBuilder;

use self::shared::{InFlight, Shared};

/// How often a connection that has requests in flight is probed, watches among them.
const PROBE_EVERY: Duration = Duration::from_secs(30);

/// A connection whose probe is not answered within this time is closed, and its requests fail.
const PROBE_TIMEOUT: Duration = Duration::from_secs(15);

/// A client for commands that users run.
pub(crate) async fn connect_as_user(kubeconfig: Option<&Path>) -> anyhow::Result<kube::Client> {
    client_of(&config(kubeconfig).await?)
}

/// The same, by a context of the kubeconfig.
pub(crate) async fn connect_by_context(kubeconfig: Option<&Path>, context: &str) -> anyhow::Result<kube::Client> {
    let read = match kubeconfig {
        Some(path) => read_kubeconfig(path)?,
        None => Kubeconfig::read().context("no kubeconfig; give one with --kubeconfig")?,
    };
    let options = KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
    let config = kube::Config::from_custom_kubeconfig(read, &options).await?;
    client_of(&adjusted(config))
}

/// The same, by a configuration.
pub(crate) fn client_of(config: &kube::Config) -> anyhow::Result<kube::Client> {
    Ok(kedge_cluster::client_with_retry_after(config.clone())?)
}

/// A client for processes that serve. Requests and watches share a connection where the API server has HTTP/2, as it does unless something
/// in between does not: each further connection would take 50 KB.
pub(crate) async fn connect(kubeconfig: Option<&Path>) -> anyhow::Result<kube::Client> {
    let config = config(kubeconfig).await?;
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let mut tls = HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config()?).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name.clone().try_into().with_context(|| format!("tls-server-name {name:?} is not a host name"))?;
        tls = tls.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    // HTTP/1.1 has no probes.
    let mut connector = TimeoutConnector::new(tls.enable_all_versions().wrap_connector(tcp));
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let clients = Arc::new(Shared::new(move || -> Client<_, Body> {
        Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http2_keep_alive_interval(PROBE_EVERY)
            .http2_keep_alive_timeout(PROBE_TIMEOUT)
            .build(connector.clone())
    }));
    let send = tower::service_fn(move |request| {
        let (client, in_flight) = clients.take();
        async move {
            let response = client.request(request).await?;
            // A request is in flight until its response is dropped.
            let hold = move |frame| {
                let _: &InFlight = &in_flight;
                frame
            };
            Ok::<_, tower::BoxError>(response.map(|body| body.map_frame(hold)))
        }
    });
    let service = ServiceBuilder::new()
        .layer(RetryAfterLayer)
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .service(send);
    Ok(ClientBuilder::new(service, config.default_namespace).build())
}

/// By the given kubeconfig, else as `kubectl` would connect, else with the service account of the pod.
pub(crate) async fn config(kubeconfig: Option<&Path>) -> anyhow::Result<kube::Config> {
    let config = match kubeconfig {
        Some(path) => {
            kube::Config::from_custom_kubeconfig(read_kubeconfig(path)?, &KubeConfigOptions::default()).await?
        }
        None => {
            kube::Config::infer().await.context("no kubeconfig, and not in a cluster; give one with --kubeconfig")?
        }
    };
    Ok(adjusted(config))
}

fn adjusted(mut config: kube::Config) -> kube::Config {
    // HTTPS_PROXY is for the sources of scalers: the API server is reached directly, in a cluster and outside. The URL of a proxy
    // may hold a password, so that no error of the client should quote it.
    config.proxy_url = None;
    // Requests are repeated by our own rules.
    config.default_retry = false;
    // Up to the slash, it is the name under which the API server records who wrote which field.
    config.headers.push((header::USER_AGENT, HeaderValue::from_static(kedge_scalers::http::USER_AGENT)));
    config
}

fn read_kubeconfig(path: &Path) -> anyhow::Result<Kubeconfig> {
    let read = Kubeconfig::read_from(path).with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
    let names_proxy = read.clusters.iter().flat_map(|named| &named.cluster).any(|one| one.proxy_url.is_some());
    ensure!(!names_proxy, "{} has a proxy-url, which is not supported; remove it", path.display());
    Ok(read)
}
