//! KEDA and Kedge as processes: starts and stops them, and points the API server at one of them.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kedge_test_cluster::cargo::{self, workspace};
use kedge_test_cluster::external_metrics::{Certificate, METRICS_API};
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::running_keda::NAMESPACE;
use kedge_test_cluster::tools::{self, Tool};
use kedge_test_cluster::{Cluster, Launch, RunningKeda, RunningOperator, operator};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

/// The name of KEDA's webhook configuration.
const WEBHOOK_CONFIGURATION: &str = "keda-admission";

/// The Service through which the API server reaches the current operator. Its external name is this machine.
const SERVICE: &str = "keda-metrics-on-this-machine";

/// The metrics that both operators write for an object after polling its triggers; the second one counts errors.
const POLL_METRICS: [&str; 2] = ["keda_scaler_active{", "keda_scaled_object_errors_total{"];

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

/// The Cargo profile that builds Kedge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Dev,
    Release,
}

impl Profile {
    /// For the reader of a result.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Profile::Dev => "without optimisation",
            Profile::Release => "release build",
        }
    }
}

impl From<bool> for Profile {
    fn from(release: bool) -> Self {
        if release { Profile::Release } else { Profile::Dev }
    }
}

/// What both operators need to start.
pub(crate) struct Environment<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) client: kube::Client,
    pub(crate) kedge_binary: PathBuf,
    /// Both operators serve with this certificate, as they do where Kedge uses KEDA's Secret.
    certificate: Certificate,
}

/// The running processes of one operator.
pub(crate) struct OperatorProcess {
    pub(crate) peer: Peer,
    pub(crate) started_at: Instant,
    processes: Processes,
}

enum Processes {
    Keda(RunningKeda),
    Kedge { operator: RunningOperator, webhooks: Port },
}

/// Builds KEDA and Kedge; returns the path of Kedge's binary.
pub(crate) fn build(profile: Profile) -> anyhow::Result<PathBuf> {
    tokio::task::block_in_place(|| {
        tools::build(&Tool::KEDA)?;
        let own_binary = std::env::current_exe()?;
        let folder = match profile {
            Profile::Dev => "debug",
            Profile::Release => "release",
        };
        let flags: &[&str] = match profile {
            Profile::Dev => &[],
            Profile::Release => &["--release"],
        };
        cargo::run(&[&["build", "--quiet", "--package", "kedge"], flags].concat())?;
        let target = own_binary.ancestors().nth(2).map(PathBuf::from).unwrap_or_default();
        Ok(target.join(folder).join("kedge"))
    })
}

impl<'a> Environment<'a> {
    /// Creates Kedge's account, the Service and the certificate. The chart contains the APIService and the webhook
    /// configuration.
    pub(crate) async fn prepare(cluster: &'a Cluster, kedge_binary: PathBuf) -> anyhow::Result<Self> {
        operator::create_account(cluster)?;
        cluster.apply(&json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": SERVICE, "namespace": NAMESPACE },
            "spec": { "type": "ExternalName", "externalName": "localhost" },
        }))?;
        let certificate = Certificate::generate(SERVICE, NAMESPACE)?;
        Ok(Self { cluster, client: cluster.client().await?, kedge_binary, certificate })
    }

    /// Points the API server at this operator, as the endpoints of a Service do when a pod becomes ready.
    pub(crate) async fn point_api_server_at(&self, process: &OperatorProcess) -> anyhow::Result<()> {
        let api_services: Api<APIService> = Api::all(self.client.clone());
        let service = json!({ "namespace": NAMESPACE, "name": SERVICE, "port": process.metrics_api_port() });
        let patch = json!({ "spec": { "service": service, "caBundle": self.certificate.ca_bundle() } });
        api_services.patch(METRICS_API, &PatchParams::default(), &Patch::Merge(patch)).await?;
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let patch = json!({ "webhooks": self.render_webhooks(process.webhooks_port())? });
        configurations.patch(WEBHOOK_CONFIGURATION, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Renders Kedge's webhooks with a port of this machine. KEDA serves the same paths.
    fn render_webhooks(&self, port: u16) -> anyhow::Result<Value> {
        let text = std::fs::read_to_string(workspace().join("webhooks/registration.yaml"))?;
        let mut configuration: Value = serde_saphyr::from_str(&text)?;
        for webhook in configuration["webhooks"].as_array_mut().context("the configuration has no webhooks")? {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default().to_owned();
            let service = json!({ "namespace": NAMESPACE, "name": SERVICE, "port": port, "path": path });
            webhook["clientConfig"] = json!({ "service": service, "caBundle": self.certificate.ca_bundle() });
        }
        Ok(configuration["webhooks"].take())
    }

    /// Starts an operator without waiting until it is ready. The name distinguishes it from earlier processes. Kedge's
    /// Lease is in `namespace`; KEDA's namespace is always the same.
    pub(crate) async fn start(&self, peer: Peer, name: &str, namespace: &str) -> anyhow::Result<OperatorProcess> {
        let started_at = Instant::now();
        let processes = match peer {
            Peer::Keda => Processes::Keda(RunningKeda::launch(self.cluster, name, &self.certificate)?),
            Peer::Kedge => self.start_kedge(name, namespace).await?,
        };
        Ok(OperatorProcess { peer, started_at, processes })
    }

    async fn start_kedge(&self, name: &str, namespace: &str) -> anyhow::Result<Processes> {
        let webhooks = Port::reserve()?;
        let flags = vec!["--leader-elect".to_owned(), format!("--webhooks-bind-address=127.0.0.1:{}", webhooks.number)];
        // The Secrets of ClusterTriggerAuthentications stay in KEDA's namespace.
        let secrets = ("KEDA_CLUSTER_OBJECT_NAMESPACE", NAMESPACE);
        let environment = [("POD_NAMESPACE", namespace), ("POD_NAME", name), secrets];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let launch = Launch { name: name.to_owned(), flags, environment };
        let port = Port::reserve()?;
        let operator =
            RunningOperator::launch_at(self.cluster, &self.kedge_binary, launch, port, &self.certificate).await?;
        Ok(Processes::Kedge { operator, webhooks })
    }
}

impl OperatorProcess {
    pub(crate) async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        match &mut self.processes {
            Processes::Keda(keda) => keda.until_ready().await,
            Processes::Kedge { operator, .. } => operator.until_ready().await,
        }
    }

    /// Sends SIGTERM, and waits until the processes have ended.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        match self.processes {
            Processes::Keda(keda) => keda.end().await,
            Processes::Kedge { operator, .. } => operator.terminate().await,
        }
    }

    /// Fails if a process has ended.
    pub(crate) fn check_running(&mut self) -> anyhow::Result<()> {
        match &mut self.processes {
            Processes::Keda(keda) => keda.check(),
            Processes::Kedge { operator, .. } => operator.check(),
        }
    }

    /// Fetches the objects whose triggers were polled, by the operator's own metrics: `namespace/name`.
    pub(crate) async fn fetch_polled_objects(&self) -> anyhow::Result<BTreeSet<String>> {
        let text = match &self.processes {
            Processes::Keda(keda) => keda.metrics().await?,
            Processes::Kedge { operator, .. } => operator.metrics().await?,
        };
        let is_poll_metric = |line: &&str| POLL_METRICS.iter().any(|metric| line.starts_with(metric));
        Ok(text.lines().filter(is_poll_metric).filter_map(parse_object).collect())
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

/// Parses `namespace/name` of the object from the labels of a metric.
fn parse_object(line: &str) -> Option<String> {
    let label = |name: &str| line.split_once(&format!("{name}=\""))?.1.split_once('"').map(|(value, _)| value);
    Some(format!("{}/{}", label("namespace")?, label("scaledObject")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_is_parsed_from_the_labels_of_a_metric() {
        let line =
            r#"keda_scaler_active{metric="s0-prometheus",namespace="team-1",scaledObject="web",type="scaledobject"} 1"#;
        assert_eq!(parse_object(line).as_deref(), Some("team-1/web"));
        assert_eq!(parse_object("keda_scaler_active{} 1"), None);
    }
}
