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

/// The user of all requests, on both sides: the administrator of the test cluster.
const USER: &str = "admin";

/// An API server, real or not.
#[derive(Clone)]
pub(crate) enum Server {
    Real(kube::Client),
    Plane(Plane),
}

impl Server {
    /// The API server that a kubeconfig names. Requests are not retried.
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

    /// Compacts the history of the plane. The real API server does so by itself.
    pub(crate) fn compact(&self) {
        if let Self::Plane(plane) = self {
            plane.compact();
        }
    }

    /// The longest wait for a controller, or for an event. The plane responds at once, unless the machine is busy.
    pub(crate) fn deadline(&self) -> Duration {
        match self {
            Self::Real(_) => Duration::from_secs(60),
            Self::Plane(_) => Duration::from_secs(20),
        }
    }

    /// Sends a request. A panic of the plane is an error.
    pub(crate) async fn send(&self, request: Request<Body>) -> anyhow::Result<Response<Body>> {
        match self {
            Self::Real(client) => client.send(request).await.context("the real API server does not answer"),
            Self::Plane(plane) => {
                let plane = plane.clone();
                let response = tokio::spawn(async move { plane.handle(USER, request).await });
                response.await.context("the plane does not answer")
            }
        }
    }
}
