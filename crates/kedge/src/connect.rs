//! The client of a cluster, for every command that needs one.

use std::path::Path;

use anyhow::{Context, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};

/// Whether the API server may compress its responses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Compression {
    Off,
    On,
}

/// A client for commands that users run.
pub(crate) async fn connect_as_user(kubeconfig: Option<&Path>) -> anyhow::Result<kube::Client> {
    connect(kubeconfig, Compression::On).await
}

/// A client: by the given kubeconfig, else as `kubectl` would connect, else with the service account of the pod.
pub(crate) async fn connect(kubeconfig: Option<&Path>, compression: Compression) -> anyhow::Result<kube::Client> {
    let mut config = match kubeconfig {
        Some(path) => from_file(path).await?,
        None => {
            kube::Config::infer().await.context("no kubeconfig, and not in a cluster; give one with --kubeconfig")?
        }
    };
    // HTTPS_PROXY is for the sources of scalers: the API server is reached directly, in a cluster and outside. The URL of a proxy
    // may hold a password, so that no error of the client should quote it.
    config.proxy_url = None;
    config.disable_compression |= compression == Compression::Off;
    Ok(kedge_cluster::client_with_retry_after(config)?)
}

async fn from_file(path: &Path) -> anyhow::Result<kube::Config> {
    let read = Kubeconfig::read_from(path).with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
    let names_proxy = read.clusters.iter().flat_map(|named| &named.cluster).any(|one| one.proxy_url.is_some());
    ensure!(!names_proxy, "{} has a proxy-url, which is not supported; remove it", path.display());
    Ok(kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?)
}
