//! Using and stopping one cluster.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams};

use crate::certificates::Certificates;
use crate::control_plane::ControlPlane;
use crate::kube_client::{config, connect};
use crate::nodes;
use crate::ports::Port;
use crate::process::Group;
use crate::reader::Reader;
use crate::wait::{DEADLINE, wait_for};

/// A running cluster. It is stopped when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) group: Group,
    pub(crate) folder: PathBuf,
    pub(crate) pki: Certificates,
    pub(crate) control_plane: ControlPlane,
    pub(crate) apiserver_port: u16,
    pub(crate) kubectl: PathBuf,
    pub(crate) reader: OnceLock<Reader>,
    // Held until the processes are gone: fields are dropped in this order, after `group`.
    pub(crate) reserved: Vec<Port>,
    pub(crate) _lock: File,
}

impl Cluster {
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

    /// What it is made of.
    pub fn control_plane(&self) -> ControlPlane {
        self.control_plane
    }

    /// The address of the API server.
    pub fn apiserver_port(&self) -> u16 {
        self.apiserver_port
    }

    /// The configuration of a client with the administrator's rights, to be changed.
    pub async fn client_config(&self) -> anyhow::Result<kube::Config> {
        config(&self.kubeconfig()).await
    }

    /// A client with the rights of the administrator.
    pub async fn client(&self) -> anyhow::Result<kube::Client> {
        connect(&self.kubeconfig()).await
    }

    /// The object or list at a path of the API; `None` if there is none. Blocks, and costs far less than [`Cluster::kubectl`].
    pub fn read(&self, path: &str) -> anyhow::Result<Option<serde_json::Value>> {
        self.reader.get_or_init(|| Reader::start(self.kubeconfig())).read(path)
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
        let wait = || self.kubectl(["wait", "--for=condition=Established", "--timeout=180s", "crd", "--all"]);
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

    /// Applies an object, or a `List` of them, as the administrator. Each goes to kubectl as a document of its own: a `List` it
    /// would check by itself, against a description of all kinds, before the API server does.
    pub fn apply(&self, objects: &serde_json::Value) -> anyhow::Result<()> {
        let documents = match objects["items"].as_array() {
            Some(items) if objects["kind"] == "List" => items.iter().map(|item| format!("{item}\n")).collect(),
            _ => objects.to_string(),
        };
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
        input.write_all(documents.as_bytes())?;
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

    /// Waits until the API server says that it is ready.
    pub(crate) async fn until_answering(&mut self, what: &str) -> anyhow::Result<()> {
        let client = self.client().await?;
        self.wait_alive(what, async || {
            let request = http::Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
            client.request_text(request).await.map(drop).map_err(|error| error.to_string())
        })
        .await
    }

    pub(crate) async fn create_nodes(&self, count: usize) -> anyhow::Result<()> {
        nodes::create(&self.client().await?, count).await
    }

    pub(crate) async fn until_nodes_are_ready(&mut self, count: usize) -> anyhow::Result<()> {
        let all: Api<Node> = Api::all(self.client().await?);
        self.wait_alive("all nodes are ready", async || {
            let found = all.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
            let ready = found.iter().filter(|node| nodes::is_ready(node)).count();
            if ready == count { Ok(()) } else { Err(format!("{ready} of {count} are ready")) }
        })
        .await
    }

    /// Waits for a condition for as long as all parts are alive.
    pub(crate) async fn wait_alive<T>(
        &mut self,
        what: &str,
        mut condition: impl AsyncFnMut() -> Result<T, String>,
    ) -> anyhow::Result<T> {
        let group = &mut self.group;
        wait_for(what, DEADLINE, async || match group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => condition().await.map(Ok),
        })
        .await?
    }
}
