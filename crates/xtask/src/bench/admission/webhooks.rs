//! The webhooks, in a process of their own.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use kedge_test_cluster::external_metrics::Certificate;
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::process::Group;
use kedge_test_cluster::usage::Usage;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_test_cluster::{Cluster, http};
use serde_json::json;

const PROGRAM: &str = "webhooks";

pub(super) struct Webhooks {
    group: Group,
    port: Port,
    /// The certificate that they show.
    pub(super) certificate: Certificate,
    _probes: Port,
}

impl Webhooks {
    /// Starts and registers them, and returns when they are ready.
    pub(super) async fn start(cluster: &Cluster, program: &Path) -> anyhow::Result<Self> {
        let (port, probes) = (Port::reserve()?, Port::reserve()?);
        let certificate = Certificate::generate("keda-admission-webhooks", "keda")?;
        let folder = cluster.folder().join(PROGRAM);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("tls.crt"), &certificate.chain)?;
        fs::write(folder.join("tls.key"), &certificate.key)?;
        let mut group = Group::start(&folder)?;
        let address = SocketAddr::from(([127, 0, 0, 1], probes.number));
        let flags = [
            PROGRAM.to_owned(),
            format!("--kubeconfig={}", cluster.kubeconfig().display()),
            format!("--port={}", port.number),
            format!("--health-probe-bind-address={address}"),
            "--metrics-bind-address=0".to_owned(),
            format!("--cert-dir={}", folder.display()),
        ];
        group.spawn(PROGRAM, program, flags)?;
        wait_for("the webhooks are ready", DEADLINE, async || {
            group.check().map_err(|error| error.to_string())?;
            match http::get(address, "/readyz").await {
                Ok(answer) if http::is_ok(&answer) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await?;
        let webhooks = Self { group, port, certificate, _probes: probes };
        webhooks.register(cluster)?;
        Ok(webhooks)
    }

    /// Has the API server ask them, and refuse what they do not answer.
    fn register(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let rule = json!({
            "apiGroups": ["keda.sh"], "apiVersions": ["v1alpha1"], "operations": ["CREATE", "UPDATE"], "resources": ["scaledobjects"],
        });
        let client = json!({ "url": self.url(), "caBundle": self.certificate.ca_bundle() });
        cluster.apply(&json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": "keda-admission" },
            "webhooks": [{
                "name": "vscaledobject.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "rules": [rule], "clientConfig": client,
            }],
        }))
    }

    pub(super) fn url(&self) -> String {
        format!("https://localhost:{}/validate-keda-sh-v1alpha1-scaledobject", self.port.number)
    }

    /// The memory that they have in use, in bytes.
    pub(super) fn weight(&self) -> anyhow::Result<u64> {
        Ok(Usage::of(self.group.process(PROGRAM).context("they do not run")?)?.resident_bytes)
    }

    /// Fails if they have ended.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        self.group.check()
    }
}
