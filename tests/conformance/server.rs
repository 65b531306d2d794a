//! The two sides: the real API server, and the plane in this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http::{Request, Response};
use kedge_plane::Access;
use kedge_plane::{Options, Plane};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};

/// Who asks, on both sides: the administrator of the test cluster.
const USER: &str = "admin";

/// Something that answers requests as an API server does.
#[derive(Clone)]
pub(crate) enum Server {
    Real(kube::Client),
    Plane(Plane),
}

impl Server {
    /// The API server that a kubeconfig names. Nothing is asked twice.
    pub(crate) async fn real(kubeconfig: &Path) -> anyhow::Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        Ok(Self::Real(kube::Client::try_from(config)?))
    }

    /// A plane on which, as on the real one, only the administrator may do anything.
    pub(crate) fn plane() -> Self {
        let authorize = Arc::new(|access: &Access| access.user == USER);
        Self::Plane(Plane::new(Options { authorize, ..Options::default() }))
    }

    /// Forgets what is past, where that is not done in time.
    pub(crate) fn compact(&self) {
        if let Self::Plane(plane) = self {
            plane.compact();
        }
    }

    /// The longest wait for the work of a controller, or for an event. The plane does its work at once, unless the machine is busy.
    pub(crate) fn deadline(&self) -> Duration {
        match self {
            Self::Real(_) => Duration::from_secs(60),
            Self::Plane(_) => Duration::from_secs(20),
        }
    }

    /// The answer to a request. A plane that panics has not answered.
    pub(crate) async fn send(&self, request: Request<Body>) -> anyhow::Result<Response<Body>> {
        match self {
            Self::Real(client) => client.send(request).await.context("the real API server does not answer"),
            Self::Plane(plane) => {
                let plane = plane.clone();
                let answered = tokio::spawn(async move { plane.handle(USER, request).await });
                answered.await.context("the plane does not answer")
            }
        }
    }
}
