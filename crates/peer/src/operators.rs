//! Who is in charge: KEDA or Kedge, as processes; and telling the API server whom to ask.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kedge_test_cluster::external_metrics::{Certificate, METRICS_API};
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::running_keda::NAMESPACE;
use kedge_test_cluster::{Cluster, Launch, RunningKeda, RunningOperator, operator};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use kedge_test_cluster::cargo::workspace;

/// The name of the webhooks' registration, which is KEDA's.
const WEBHOOKS: &str = "keda-admission";

/// The Service by which the API server finds either of them. It is this machine, at the port that is set.
const SERVICE: &str = "keda-metrics-on-this-machine";

/// Series that both write about an object when they have asked its sources: in vain, the second.
const LOOKS: [&str; 2] = ["keda_scaler_active{", "keda_scaled_object_errors_total{"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Keda,
    Kedge,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Peer::Keda => "KEDA",
            Peer::Kedge => "Kedge",
        })
    }
}

/// What both need to be started.
pub(crate) struct Environment<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) client: kube::Client,
    /// The program of Kedge.
    pub(crate) kedge: PathBuf,
    /// Both show the same one, as they do where Kedge takes KEDA's Secret over.
    certificate: Certificate,
}

/// The processes of one of them.
pub(crate) struct OperatorProcess {
    pub(crate) peer: Peer,
    pub(crate) started_at: Instant,
    processes: Processes,
}

enum Processes {
    Keda(RunningKeda),
    Kedge { operator: RunningOperator, webhooks: Port },
}

impl<'a> Environment<'a> {
    /// Makes what both need. The registrations themselves are the chart's.
    pub(crate) async fn prepare(cluster: &'a Cluster, kedge: PathBuf) -> anyhow::Result<Self> {
        operator::create_account(cluster)?;
        cluster.apply(&json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": SERVICE, "namespace": NAMESPACE },
            "spec": { "type": "ExternalName", "externalName": "localhost" },
        }))?;
        let certificate = Certificate::generate(SERVICE, NAMESPACE)?;
        Ok(Self { cluster, client: cluster.client().await?, kedge, certificate })
    }

    /// Tells the API server to ask this one from now on, as the endpoints of a Service do when a pod becomes ready.
    pub(crate) async fn point_at(&self, process: &OperatorProcess) -> anyhow::Result<()> {
        let apis: Api<APIService> = Api::all(self.client.clone());
        let service = json!({ "namespace": NAMESPACE, "name": SERVICE, "port": process.metrics_api_port() });
        let patch = json!({ "spec": { "service": service, "caBundle": self.certificate.ca_bundle() } });
        apis.patch(METRICS_API, &PatchParams::default(), &Patch::Merge(patch)).await?;
        let registrations: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let patch = json!({ "webhooks": self.webhooks(process.webhooks_port())? });
        registrations.patch(WEBHOOKS, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// The webhooks as Kedge registers them, which is where KEDA serves them too, at a port of this machine.
    fn webhooks(&self, port: u16) -> anyhow::Result<Value> {
        let text = std::fs::read_to_string(workspace().join("webhooks/registration.yaml"))?;
        let mut registration: Value = serde_saphyr::from_str(&text)?;
        for webhook in registration["webhooks"].as_array_mut().context("no webhooks are registered")? {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default().to_owned();
            let service = json!({ "namespace": NAMESPACE, "name": SERVICE, "port": port, "path": path });
            webhook["clientConfig"] = json!({ "service": service, "caBundle": self.certificate.ca_bundle() });
        }
        Ok(registration["webhooks"].take())
    }

    /// Starts one of them, and does not wait. The name sets it apart from an earlier one. The namespace that Kedge is configured with is that
    /// of its Lease; KEDA's is always the same.
    pub(crate) async fn start(&self, peer: Peer, name: &str, home: &str) -> anyhow::Result<OperatorProcess> {
        let started_at = Instant::now();
        let processes = match peer {
            Peer::Keda => Processes::Keda(RunningKeda::launch(self.cluster, name, &self.certificate)?),
            Peer::Kedge => self.start_kedge(name, home).await?,
        };
        Ok(OperatorProcess { peer, started_at, processes })
    }

    async fn start_kedge(&self, name: &str, home: &str) -> anyhow::Result<Processes> {
        let webhooks = Port::reserve()?;
        let flags = vec!["--leader-elect".to_owned(), format!("--webhooks-bind-address=127.0.0.1:{}", webhooks.number)];
        // Where KEDA's release has its Secrets, wherever Kedge is.
        let secrets = ("KEDA_CLUSTER_OBJECT_NAMESPACE", NAMESPACE);
        let environment = [("POD_NAMESPACE", home), ("POD_NAME", name), secrets];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let launch = Launch { name: name.to_owned(), flags, environment };
        let port = Port::reserve()?;
        let operator = RunningOperator::launch_at(self.cluster, &self.kedge, launch, port, &self.certificate).await?;
        Ok(Processes::Kedge { operator, webhooks })
    }
}

impl OperatorProcess {
    /// Returns when it says that it is ready.
    pub(crate) async fn until_ready(&mut self) -> anyhow::Result<()> {
        match &mut self.processes {
            Processes::Keda(keda) => keda.until_ready().await,
            Processes::Kedge { operator, .. } => operator.until_ready().await,
        }
    }

    /// Asks it to end, and returns when it has.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        match self.processes {
            Processes::Keda(keda) => keda.end().await,
            Processes::Kedge { operator, .. } => operator.terminate().await,
        }
    }

    /// Fails if a process of it has ended.
    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        match &mut self.processes {
            Processes::Keda(keda) => keda.check(),
            Processes::Kedge { operator, .. } => operator.check(),
        }
    }

    /// The objects whose triggers it has polled, by its own metrics: `namespace/name`.
    pub(crate) async fn polled_objects(&self) -> anyhow::Result<BTreeSet<String>> {
        let text = match &self.processes {
            Processes::Keda(keda) => keda.metrics().await?,
            Processes::Kedge { operator, .. } => operator.metrics().await?,
        };
        let tells = |line: &&str| LOOKS.iter().any(|series| line.starts_with(series));
        Ok(text.lines().filter(tells).filter_map(object_of).collect())
    }

    fn metrics_api_port(&self) -> u16 {
        match &self.processes {
            Processes::Keda(keda) => keda.metrics_api_port(),
            Processes::Kedge { operator, .. } => operator.metrics_api_port(),
        }
    }

    fn webhooks_port(&self) -> u16 {
        match &self.processes {
            Processes::Keda(keda) => keda.webhooks_port(),
            Processes::Kedge { webhooks, .. } => webhooks.number,
        }
    }
}

/// The object that a line of metrics is about.
fn object_of(line: &str) -> Option<String> {
    let label = |name: &str| line.split_once(&format!("{name}=\""))?.1.split_once('"').map(|(value, _)| value);
    Some(format!("{}/{}", label("namespace")?, label("scaledObject")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_metrics_names_its_object() {
        let line =
            r#"keda_scaler_active{metric="s0-prometheus",namespace="team-1",scaledObject="web",type="scaledobject"} 1"#;
        assert_eq!(object_of(line).as_deref(), Some("team-1/web"));
        assert_eq!(object_of("keda_scaler_active{} 1"), None);
    }
}
