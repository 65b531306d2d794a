//! Starting, using and stopping one cluster.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::api::{Api, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::certificates::Certificates;
use crate::components::{self, Ports};
use crate::metrics_server;
use crate::nodes;
use crate::ports::Port;
use crate::process::Group;
use crate::state::StateFolder;
use crate::tools::{self, Tool};
use crate::wait::wait_for;

/// Longer than any component takes to start on a busy machine; a dead one is noticed at once.
const START_LIMIT: Duration = Duration::from_secs(120);

const AUDIT_POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config/audit-policy.yaml");
const STAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config/stages.yaml");
const USAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config/usage.yaml");

/// A running cluster. It is stopped when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct Cluster {
    group: Group,
    folder: PathBuf,
    pki: Certificates,
    ports: Ports,
    kubectl: PathBuf,
    // Held until the processes are gone: fields are dropped in this order, after `group`.
    _reserved: Vec<Port>,
    _lock: File,
}

/// What may be chosen about a cluster before it starts.
#[derive(Debug)]
pub struct ClusterBuilder {
    name: String,
    nodes: usize,
    hpa_sync_period: Duration,
    metrics_server: bool,
    apiserver_flags: Vec<OsString>,
    controller_manager_flags: Vec<OsString>,
}

impl ClusterBuilder {
    /// How many nodes there are; 1 unless said otherwise.
    pub fn nodes(mut self, count: usize) -> Self {
        self.nodes = count;
        self
    }

    /// How often the HPA controller looks at each HPA; 15 s, as in any cluster, unless said otherwise. A new HPA's first
    /// look comes one period late.
    pub fn hpa_sync_period(mut self, period: Duration) -> Self {
        self.hpa_sync_period = period;
        self
    }

    /// A metrics-server runs beside it, so that HPAs see what pods use: what an annotation of each says.
    pub fn metrics_server(mut self) -> Self {
        self.metrics_server = true;
        self
    }

    /// One more flag for kube-apiserver; a flag given twice counts as given last.
    pub fn apiserver_flag(mut self, flag: impl Into<OsString>) -> Self {
        self.apiserver_flags.push(flag.into());
        self
    }

    /// One more flag for kube-controller-manager; a flag given twice counts as given last.
    pub fn controller_manager_flag(mut self, flag: impl Into<OsString>) -> Self {
        self.controller_manager_flags.push(flag.into());
        self
    }

    /// Builds what is missing, starts everything, and returns when pods can run.
    pub async fn start(self) -> anyhow::Result<Cluster> {
        let name = self.name.clone();
        let needed = self.tools();
        tokio::task::spawn_blocking(move || tools::build(&needed)).await??;
        let mut cluster = self.launch().with_context(|| format!("cluster {name}"))?;
        cluster.become_ready(&self).await.with_context(|| format!("cluster {name}"))?;
        Ok(cluster)
    }

    fn tools(&self) -> Vec<Tool> {
        Tool::CLUSTER.into_iter().chain(self.metrics_server.then_some(Tool::MetricsServer)).collect()
    }

    /// Starts etcd and the API server, which waits for etcd by itself.
    fn launch(&self) -> anyhow::Result<Cluster> {
        let state = StateFolder::of(&self.name)?;
        let lock = state.take()?;
        let folder = state.path().to_owned();
        let mut reserved = Vec::new();
        let mut port = || -> anyhow::Result<u16> {
            let port = Port::reserve()?;
            let number = port.number;
            reserved.push(port);
            Ok(number)
        };
        let ports = Ports {
            etcd_client: port()?,
            etcd_peer: port()?,
            apiserver: port()?,
            controller_manager: port()?,
            scheduler: port()?,
            kwok: port()?,
            metrics_server: port()?,
        };
        let pki = Certificates::create(&folder, ports.apiserver)?;
        let mut group = Group::start(&folder)?;
        group.spawn("etcd", &tools::path(Tool::Etcd)?, components::etcd(&folder, ports))?;
        let mut flags = components::apiserver(&folder, ports, &pki, Path::new(AUDIT_POLICY));
        flags.extend(self.apiserver_flags.iter().cloned());
        group.spawn("kube-apiserver", &tools::path(Tool::KubeApiserver)?, flags)?;
        let kubectl = tools::path(Tool::Kubectl)?;
        Ok(Cluster { group, folder, pki, ports, kubectl, _reserved: reserved, _lock: lock })
    }
}

impl Cluster {
    /// A cluster of this name: a-z, 0-9 and `-`. Two that run at once need two names.
    pub fn builder(name: impl Into<String>) -> ClusterBuilder {
        ClusterBuilder {
            name: name.into(),
            nodes: 1,
            hpa_sync_period: Duration::from_secs(15),
            metrics_server: false,
            apiserver_flags: Vec::new(),
            controller_manager_flags: Vec::new(),
        }
    }

    /// The folder with data and logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The kubeconfig of the administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.pki.admin_kubeconfig()
    }

    /// One JSON line a request, without bodies.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// The address of the API server.
    pub fn apiserver_port(&self) -> u16 {
        self.ports.apiserver
    }

    /// A client with the rights of the administrator.
    pub async fn client(&self) -> anyhow::Result<kube::Client> {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig())?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(kube::Client::try_from(config)?)
    }

    /// Runs the real kubectl as the administrator, and answers what it printed.
    pub fn kubectl(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> anyhow::Result<String> {
        let mut command = Command::new(&self.kubectl);
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments);
        let output = command.output().context("cannot start kubectl")?;
        if !output.status.success() {
            bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Applies the CRDs in a folder, and returns when they can be used.
    pub fn install_crds(&self, folder: &Path) -> anyhow::Result<()> {
        self.kubectl(["apply", "--server-side", "--filename", &folder.display().to_string()])?;
        // A CRD that is a moment old has no conditions, and kubectl takes that for an error.
        let wait = || self.kubectl(["wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"]);
        let mut waited = wait();
        for _ in 0..50 {
            if waited.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(200));
            waited = wait();
        }
        waited.map(drop)
    }

    /// Applies objects, or a `List` of them, as the administrator.
    pub fn apply(&self, objects: &serde_json::Value) -> anyhow::Result<()> {
        let mut child = Command::new(&self.kubectl)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(["apply", "--server-side", "--force-conflicts", "--filename=-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start kubectl")?;
        let mut input = child.stdin.take().context("kubectl takes no input")?;
        input.write_all(objects.to_string().as_bytes())?;
        drop(input);
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("kubectl apply failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }

    /// Fails, with the end of its log, if a part of the cluster has died.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.group.check()
    }

    /// Starts what needs an API server that answers: the controller manager gives up at once without one.
    fn launch_clients(&mut self, choices: &ClusterBuilder) -> anyhow::Result<()> {
        let mut flags = components::controller_manager(self.ports, &self.pki, choices.hpa_sync_period);
        flags.extend(choices.controller_manager_flags.iter().cloned());
        let group = &mut self.group;
        group.spawn("kube-controller-manager", &tools::path(Tool::KubeControllerManager)?, flags)?;
        let flags = components::scheduler(self.ports, &self.pki);
        group.spawn("kube-scheduler", &tools::path(Tool::KubeScheduler)?, flags)?;
        let flags = components::kwok(self.ports, &self.pki, Path::new(STAGES), Path::new(USAGE));
        group.spawn("kwok", &tools::path(Tool::Kwok)?, flags)
    }

    async fn become_ready(&mut self, choices: &ClusterBuilder) -> anyhow::Result<()> {
        let client = self.client().await?;
        self.wait_alive("kube-apiserver is ready", async || {
            let request = http::Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
            client.request_text(request).await.map_err(|error| error.to_string())
        })
        .await?;
        self.launch_clients(choices)?;
        nodes::create(&client, choices.nodes).await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
        self.wait_alive("kube-controller-manager works", async || {
            accounts.get("default").await.map_err(|error| error.to_string())
        })
        .await?;
        let all: Api<Node> = Api::all(client.clone());
        self.wait_alive("all nodes are ready", async || {
            let found = all.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
            let ready = found.iter().filter(|node| nodes::is_ready(node)).count();
            if ready == choices.nodes { Ok(()) } else { Err(format!("{ready} of {} are ready", choices.nodes)) }
        })
        .await?;
        if choices.metrics_server { self.start_metrics_server(&client).await } else { Ok(()) }
    }

    async fn start_metrics_server(&mut self, client: &kube::Client) -> anyhow::Result<()> {
        let flags = components::metrics_server(&self.folder, self.ports, &self.pki);
        self.group.spawn("metrics-server", &tools::path(Tool::MetricsServer)?, flags)?;
        metrics_server::register(client, self.ports.metrics_server).await?;
        self.wait_alive("metrics-server is available", async || metrics_server::is_available(client).await).await
    }

    /// Waits for a condition for as long as all parts are alive.
    async fn wait_alive<T>(
        &mut self,
        what: &str,
        mut look: impl AsyncFnMut() -> Result<T, String>,
    ) -> anyhow::Result<T> {
        let group = &mut self.group;
        wait_for(what, START_LIMIT, async || match group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => look().await.map(Ok),
        })
        .await?
    }
}
