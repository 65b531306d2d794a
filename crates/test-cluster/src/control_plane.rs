//! Which control plane a cluster is made of. Tests that are about Kubernetes' API and nothing beneath it run on either.

use std::env;

use anyhow::bail;

/// The variable that chooses.
pub const VARIABLE: &str = "KEDGE_TEST_PLANE";

/// What answers as the Kubernetes API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlPlane {
    /// etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok.
    Real,
    /// The API in memory of `crates/plane`, as a process of its own.
    Embedded,
}

impl ControlPlane {
    /// The one that the environment chooses; the real one unless it says otherwise.
    pub fn chosen() -> anyhow::Result<Self> {
        match env::var(VARIABLE).unwrap_or_default().as_str() {
            "" | "real" => Ok(Self::Real),
            "embedded" => Ok(Self::Embedded),
            other => bail!("{VARIABLE} is `{other}`; it may be `real` or `embedded`"),
        }
    }
}
