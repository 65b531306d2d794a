//! The server of the admission webhooks, which `kedge operator` and `kedge webhooks` share.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use anyhow::Context;
use kedge_serving::{Limits, Security, ServingCertificate, Tls, TlsProtocols};
use kedge_webhooks::Webhooks;
use kedge_webhooks::index::Index;
use kedge_webhooks::lookups::KubeLookups;
use kedge_webhooks::telemetry::Telemetry;
use tokio::net::TcpListener;
use tracing::info;

/// The admission webhooks of a process.
#[derive(Clone)]
pub(crate) struct AdmissionServer {
    client: kube::Client,
    pub(crate) index: Arc<Index>,
    protocols: TlsProtocols,
    pub(crate) telemetry: Arc<Telemetry>,
}

impl AdmissionServer {
    /// Validates the objects of these namespaces; empty means all.
    pub(crate) fn new(client: kube::Client, namespaces: &[String], protocols: TlsProtocols) -> Self {
        Self {
            client,
            index: Arc::new(Index::for_namespaces(namespaces.to_vec())),
            protocols,
            telemetry: Arc::default(),
        }
    }

    /// Serves until `stop`, if there is a listener.
    pub(crate) async fn serve(
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
            async move { webhooks.handle(request).await }
        };
        let tls = Security::Tls(Tls { protocols: self.protocols.clone(), ..Tls::new(certificate) });
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
