//! A process beside a cluster, registered with it as its external metrics API.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::cluster::Cluster;
use crate::wait::{DEADLINE, wait_for};

/// The name of the API, as an `APIService`.
pub const METRICS_API: &str = "v1beta1.external.metrics.k8s.io";

/// The Service through which the API server reaches the process, and its namespace.
const SERVICE: &str = "kedge-metrics";
const NAMESPACE: &str = "kedge";

/// A serving certificate that signs itself, PEM.
#[derive(Clone)]
pub struct Certificate {
    pub chain: String,
    pub key: String,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificate(***)")
    }
}

impl Certificate {
    /// The one of a process that is registered by [`register`].
    pub fn for_metrics_api() -> anyhow::Result<Self> {
        Self::generate(SERVICE, NAMESPACE)
    }

    /// One for `localhost`, and for the Service by which the API server finds it.
    pub fn generate(service: &str, namespace: &str) -> anyhow::Result<Self> {
        let names = [format!("{service}.{namespace}.svc"), "localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names)?;
        Ok(Self { chain: made.cert.pem(), key: made.signing_key.serialize_pem() })
    }

    /// The authority, as objects of Kubernetes hold it.
    pub fn ca_bundle(&self) -> String {
        STANDARD.encode(&self.chain)
    }
}

/// Tells the API server that external metrics are read from this port of the loopback address, where this certificate is shown.
pub fn register(cluster: &Cluster, port: u16, certificate: &Certificate) -> anyhow::Result<()> {
    let objects = json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } },
        {
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": SERVICE, "namespace": NAMESPACE },
            "spec": { "type": "ExternalName", "externalName": "localhost" },
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": { "name": METRICS_API },
            "spec": {
                "group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
                "service": { "namespace": NAMESPACE, "name": SERVICE, "port": port },
                "caBundle": certificate.ca_bundle(),
            },
        },
    ]});
    cluster.apply(&objects)
}

/// As [`until_available`], for a process that was away: the API server checks it at once, where by itself it would wait for up to half
/// a minute.
pub async fn until_available_again(cluster: &Cluster, check: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let poke = format!("checked-after-kedge={}", std::process::id());
    cluster.kubectl(["annotate", "--overwrite", "apiservice", METRICS_API, &poke])?;
    cluster.kubectl(["annotate", "apiservice", METRICS_API, "checked-after-kedge-"])?;
    until_available(cluster, check).await
}

/// Returns when the API server reads metrics from the registered address; fails when `check` does.
pub async fn until_available(cluster: &Cluster, mut check: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let available = "jsonpath={.status.conditions[?(@.type==\"Available\")].status}";
    wait_for("the metrics API is available", DEADLINE, async || {
        check().map_err(|error| error.to_string())?;
        let asked = cluster.kubectl(["get", "apiservice", METRICS_API, "--output", available]);
        match asked.as_deref() {
            Ok("True") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
}
