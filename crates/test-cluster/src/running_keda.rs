//! The real KEDA beside a cluster: operator, metrics adapter and webhooks, as processes with the administrator's rights.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use kube::Client;
use serde_json::json;

use crate::cluster::Cluster;
use crate::external_metrics::{self, Certificate};
use crate::http::get;
use crate::ports::Port;
use crate::process::Group;
use crate::tools::{self, Tool};
use crate::wait::{DEADLINE, wait_for};

/// The namespace that KEDA is configured with: that of its Lease.
pub const NAMESPACE: &str = "keda";

/// The user that KEDA runs as: the administrator.
pub const USER: &str = "admin";

/// How many requests to the API server KEDA allows itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientLimits {
    /// As it is shipped.
    Default,
    /// So many that what is measured is its work.
    Raised,
}

/// KEDA waits for up to half a minute for what it is in the middle of.
const END_LIMIT: Duration = Duration::from_secs(60);

/// A running KEDA. It ends when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct RunningKeda {
    group: Group,
    ports: Ports,
}

#[derive(Debug)]
struct Ports {
    metrics_api: Port,
    webhooks: Port,
    metrics_service: Port,
    operator_metrics: Port,
    adapter_metrics: Port,
    /// What is served and not read: probes, and metrics of the webhooks.
    unused: [Port; 3],
}

impl RunningKeda {
    /// Starts all three on a cluster that has KEDA's CRDs, and returns when the API server reads metrics from it. Its webhooks
    /// are not registered. It elects no leader: on a busy machine it would lose the election, and end.
    pub async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        Self::start_with(cluster, "", ClientLimits::Raised).await
    }

    /// As [`RunningKeda::start`]. The name sets the logs apart from those of an earlier one.
    pub async fn start_with(cluster: &Cluster, name: &str, limits: ClientLimits) -> anyhow::Result<Self> {
        cluster.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } }))?;
        let certificate = Certificate::for_metrics_api()?;
        let mut keda = Self::spawn(cluster, name, &certificate, limits, &[])?;
        external_metrics::register(cluster, keda.metrics_api_port(), &certificate)?;
        keda.until_ready().await?;
        external_metrics::until_available(cluster, || keda.group.check()).await?;
        Ok(keda)
    }

    /// Starts all three, with this certificate, and does not wait. The name sets the logs apart from those of an earlier one.
    pub fn launch(cluster: &Cluster, name: &str, certificate: &Certificate) -> anyhow::Result<Self> {
        Self::spawn(cluster, name, certificate, ClientLimits::Raised, &["--leader-elect"])
    }

    fn spawn(
        cluster: &Cluster,
        name: &str,
        certificate: &Certificate,
        limits: ClientLimits,
        operator_flags: &[&str],
    ) -> anyhow::Result<Self> {
        let folder = cluster.folder().join("keda").join(name);
        let certificates = folder.join("certificates");
        write_certificates(&certificates, certificate)?;
        let ports = Ports::reserve()?;
        let mut group = Group::start(&folder)?;
        let kubeconfig = cluster.kubeconfig();
        let environment = environment(&kubeconfig);
        let mut start = |tool: Tool, flags: Vec<String>| {
            group.spawn_in(tool.name(), &tools::path(tool)?, flags, &environment).context("KEDA cannot be started")
        };
        let operator_flags = operator_flags.iter().map(|flag| (*flag).to_owned()).chain(limits.flags());
        start(Tool::KedaOperator, ports.operator_flags(&certificates).into_iter().chain(operator_flags).collect())?;
        let adapter_flags = ports.adapter_flags(&certificates, &kubeconfig).into_iter().chain(limits.flags());
        start(Tool::KedaAdapter, adapter_flags.collect())?;
        start(Tool::KedaWebhooks, ports.webhooks_flags(&certificates))?;
        Ok(Self { group, ports })
    }

    /// Returns when the adapter says that it is ready, as a kubelet would ask it.
    pub async fn until_ready(&mut self) -> anyhow::Result<()> {
        let mut config =
            kube::Config::new(format!("https://127.0.0.1:{}", self.ports.metrics_api.number).parse::<http::Uri>()?);
        config.accept_invalid_certs = true;
        let adapter = Client::try_from(config)?;
        wait_for("KEDA's adapter is ready", DEADLINE, async || {
            self.group.check().map_err(|error| error.to_string())?;
            let request = http::Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
            adapter.request_text(request).await.map(drop).map_err(|error| error.to_string())
        })
        .await
    }

    /// Asks all three to end, and when they have, starts them again as they were started.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.group.end(END_LIMIT).await.context("KEDA does not end")?;
        self.group.start_again()
    }

    /// Returns when the API server reads metrics from the adapter, though it may have been away.
    pub async fn until_registered(&mut self, cluster: &Cluster) -> anyhow::Result<()> {
        external_metrics::until_available_again(cluster, || self.group.check()).await
    }

    /// Asks all three to end, and waits until they have.
    pub async fn end(mut self) -> anyhow::Result<()> {
        self.group.end(END_LIMIT).await.context("KEDA does not end")
    }

    /// Fails, with the end of its log, if one of them has ended.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.group.check()
    }

    /// The processes of operator and adapter.
    pub fn process_ids(&self) -> Vec<u32> {
        [Tool::KedaOperator, Tool::KedaAdapter].iter().filter_map(|tool| self.group.process(tool.name())).collect()
    }

    /// Where `external.metrics.k8s.io` is served.
    pub fn metrics_api_port(&self) -> u16 {
        self.ports.metrics_api.number
    }

    /// Where admission is served.
    pub fn webhooks_port(&self) -> u16 {
        self.ports.webhooks.number
    }

    /// The operator's own metrics.
    pub async fn metrics(&self) -> anyhow::Result<String> {
        metrics_at(&self.ports.operator_metrics).await
    }

    /// The adapter's own metrics.
    pub async fn adapter_metrics(&self) -> anyhow::Result<String> {
        metrics_at(&self.ports.adapter_metrics).await
    }
}

impl Ports {
    fn reserve() -> anyhow::Result<Self> {
        Ok(Self {
            metrics_api: Port::reserve()?,
            webhooks: Port::reserve()?,
            metrics_service: Port::reserve()?,
            operator_metrics: Port::reserve()?,
            adapter_metrics: Port::reserve()?,
            unused: [Port::reserve()?, Port::reserve()?, Port::reserve()?],
        })
    }

    fn operator_flags(&self, certificates: &Path) -> Vec<String> {
        vec![
            format!("--cert-dir={}", certificates.display()),
            format!("--metrics-service-bind-address={}", local(&self.metrics_service)),
            format!("--metrics-bind-address={}", local(&self.operator_metrics)),
            format!("--health-probe-bind-address={}", local(&self.unused[0])),
        ]
    }

    fn adapter_flags(&self, certificates: &Path, kubeconfig: &Path) -> Vec<String> {
        let kubeconfig = kubeconfig.display();
        vec![
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.metrics_api.number),
            format!("--cert-dir={}", certificates.display()),
            format!("--tls-cert-file={}", certificates.join("tls.crt").display()),
            format!("--tls-private-key-file={}", certificates.join("tls.key").display()),
            format!("--lister-kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            format!("--metrics-service-address=localhost:{}", self.metrics_service.number),
            format!("--port={}", self.adapter_metrics.number),
        ]
    }

    fn webhooks_flags(&self, certificates: &Path) -> Vec<String> {
        vec![
            format!("--cert-dir={}", certificates.display()),
            format!("--port={}", self.webhooks.number),
            format!("--metrics-bind-address={}", local(&self.unused[1])),
            format!("--health-probe-bind-address={}", local(&self.unused[2])),
        ]
    }
}

async fn metrics_at(port: &Port) -> anyhow::Result<String> {
    Ok(get(SocketAddr::from(([127, 0, 0, 1], port.number)), "/metrics").await?)
}

impl ClientLimits {
    fn flags(self) -> Vec<String> {
        match self {
            Self::Default => Vec::new(),
            Self::Raised => vec!["--kube-api-qps=1000".to_owned(), "--kube-api-burst=2000".to_owned()],
        }
    }
}

fn local(port: &Port) -> String {
    format!("127.0.0.1:{}", port.number)
}

fn environment(kubeconfig: &Path) -> Vec<(String, String)> {
    [
        ("KUBECONFIG", kubeconfig.display().to_string()),
        ("POD_NAMESPACE", NAMESPACE.to_owned()),
        ("KEDA_CLUSTER_OBJECT_NAMESPACE", NAMESPACE.to_owned()),
        ("WATCH_NAMESPACE", String::new()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// It signs itself: it is also the authority by which operator and adapter trust each other.
fn write_certificates(folder: &Path, certificate: &Certificate) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    for (file, text) in [("ca.crt", &certificate.chain), ("tls.crt", &certificate.chain), ("tls.key", &certificate.key)]
    {
        fs::write(folder.join(file), text).with_context(|| format!("cannot write {file} into {}", folder.display()))?;
    }
    Ok(())
}
