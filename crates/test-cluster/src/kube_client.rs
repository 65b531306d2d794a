//! A client made from a kubeconfig.

use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};

/// A client with the rights that a kubeconfig gives.
pub(crate) async fn connect(kubeconfig: &Path) -> anyhow::Result<kube::Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(kube::Client::try_from(config)?)
}
