//! A client made from a kubeconfig.

use std::path::Path;

use kube::config::{Config, KubeConfigOptions, Kubeconfig};

/// A client with the rights that a kubeconfig gives.
pub(crate) async fn connect(kubeconfig: &Path) -> anyhow::Result<kube::Client> {
    Ok(kube::Client::try_from(config(kubeconfig).await?)?)
}

/// The configuration of such a client.
pub(crate) async fn config(kubeconfig: &Path) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}
