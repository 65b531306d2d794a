//! An operator, running beside a cluster and registered with it as its external metrics API.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::balancer::Balancer;
use crate::cluster::Cluster;
use crate::external_metrics::{self, Certificate};
use crate::http::{get, is_ok};
use crate::ports::Port;
use crate::process::Group;
use crate::wait::{DEADLINE, wait_for};

/// Who the operator is to the API server, in the audit log.
pub const IDENTITY: &str = "system:serviceaccount:kedge:kedge";

/// The name of its process, and of its log.
const PROGRAM: &str = "kedge";

/// A running operator. It ends when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct RunningOperator {
    group: Group,
    folder: PathBuf,
    ports: [Port; 3],
}

/// How an operator is started.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// What sets it apart from others beside the same cluster.
    pub name: String,
    pub flags: Vec<String>,
    pub environment: Vec<(String, String)>,
}

impl RunningOperator {
    /// Starts this program with an identity of its own, and returns when the API server reads metrics from it.
    pub async fn start(cluster: &Cluster, program: &Path) -> anyhow::Result<Self> {
        Self::launch(cluster, program, Launch::default()).await
    }

    /// As [`RunningOperator::start`], with flags and variables.
    pub async fn launch(cluster: &Cluster, program: &Path, launch: Launch) -> anyhow::Result<Self> {
        let port = Port::reserve()?;
        let authority = register(cluster, port.number)?;
        let mut operator = Self::launch_at(cluster, program, launch, port, &authority).await?;
        external_metrics::until_available(cluster, || operator.group.check()).await?;
        Ok(operator)
    }

    /// Starts several replicas behind one address, and returns when the API server reads metrics from there. Connections are
    /// taken in turn by those that run.
    pub async fn launch_replicas(
        cluster: &Cluster,
        program: &Path,
        launches: Vec<Launch>,
    ) -> anyhow::Result<(Vec<Self>, Balancer)> {
        let ports = launches.iter().map(|_| Port::reserve()).collect::<anyhow::Result<Vec<_>>>()?;
        let balancer = Balancer::start(ports.iter().map(|port| port.number).collect())?;
        let authority = register(cluster, balancer.port())?;
        let mut operators = Vec::new();
        for (launch, port) in launches.into_iter().zip(ports) {
            operators.push(Self::launch_at(cluster, program, launch, port, &authority).await?);
        }
        for operator in &mut operators {
            external_metrics::until_available(cluster, || operator.group.check()).await?;
        }
        Ok((operators, balancer))
    }

    /// Starts this program to serve metrics at this port with this certificate. Its account ([`create_account`]), whom the API
    /// server asks, and waiting are left to the caller.
    pub async fn launch_at(
        cluster: &Cluster,
        program: &Path,
        launch: Launch,
        metrics_api: Port,
        certificate: &Certificate,
    ) -> anyhow::Result<Self> {
        let folder = cluster.folder().join("operator").join(&launch.name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("tls.crt"), &certificate.chain)?;
        fs::write(folder.join("tls.key"), &certificate.key)?;
        let ports = [metrics_api, Port::reserve()?, Port::reserve()?];
        let kubeconfig = write_kubeconfig(cluster, &folder).await?;
        let mut group = Group::start(&folder)?;
        let flags = [
            "operator".to_owned(),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--metrics-api-bind-address=127.0.0.1:{}", ports[0].number),
            format!("--health-probe-bind-address=127.0.0.1:{}", ports[1].number),
            format!("--metrics-bind-address=127.0.0.1:{}", ports[2].number),
            format!("--tls-cert-file={}", folder.join("tls.crt").display()),
            format!("--tls-private-key-file={}", folder.join("tls.key").display()),
        ];
        let flags = flags.into_iter().chain(launch.flags);
        group.spawn_in(PROGRAM, program, flags, &launch.environment)?;
        Ok(Self { group, folder, ports })
    }

    /// Kills it (-9) and starts it again, with the same identity, flags and ports: the cluster needs no change.
    pub fn kill_and_restart(&mut self) -> anyhow::Result<()> {
        self.group.restart(PROGRAM)
    }

    /// Returns when it says that it is ready.
    pub async fn until_ready(&mut self) -> anyhow::Result<()> {
        let probe = self.health_address();
        wait_for("the operator is ready", DEADLINE, async || {
            self.group.check().map_err(|error| error.to_string())?;
            match get(probe, "/readyz").await {
                Ok(answer) if is_ok(&answer) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await
    }

    /// Returns when the API server reads metrics from it, though it may have been away.
    pub async fn until_registered(&mut self, cluster: &Cluster) -> anyhow::Result<()> {
        external_metrics::until_available_again(cluster, || self.group.check()).await
    }

    /// Its own metrics.
    pub async fn metrics(&self) -> anyhow::Result<String> {
        Ok(get(self.metrics_address(), "/metrics").await?)
    }

    /// Fails, with the end of its log, if it has ended.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.group.check()
    }

    /// Asks it to end, and when it has, starts it again with the same identity, flags and ports.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.group.terminate(DEADLINE).await.with_context(|| self.log())?;
        self.group.start_again()
    }

    /// Asks it to end, and waits until it has, with success.
    pub async fn terminate(mut self) -> anyhow::Result<()> {
        self.group.terminate(DEADLINE).await.with_context(|| self.log())
    }

    /// The number of its process, while it runs.
    pub fn process_id(&self) -> Option<u32> {
        self.group.process(PROGRAM)
    }

    /// Where `external.metrics.k8s.io` is served.
    pub fn metrics_api_port(&self) -> u16 {
        self.ports[0].number
    }

    /// Where its probes are served.
    pub fn health_address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.ports[1].number).into()
    }

    /// Where its own metrics are served.
    pub fn metrics_address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.ports[2].number).into()
    }

    /// Who signed the certificate that it serves with, for `localhost` too: it itself. PEM.
    pub fn ca_pem(&self) -> String {
        fs::read_to_string(self.folder.join("tls.crt")).unwrap_or_default()
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("logs/kedge.log")).unwrap_or_default()
    }
}

/// Registers the metrics API, and creates the operator's account.
fn register(cluster: &Cluster, port: u16) -> anyhow::Result<Certificate> {
    let certificate = Certificate::for_metrics_api()?;
    external_metrics::register(cluster, port, &certificate)?;
    create_account(cluster)?;
    Ok(certificate)
}

/// Makes the operator's account, with the rights of the administrator.
pub fn create_account(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "kedge" } },
        { "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "kedge", "namespace": "kedge" } },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "kedge" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [{ "kind": "ServiceAccount", "name": "kedge", "namespace": "kedge" }],
        },
    ]}))
}

/// A token of the operator's account, for a day.
async fn token(cluster: &Cluster) -> anyhow::Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client().await?, "kedge");
    let wanted: TokenRequest =
        serde_json::from_value(json!({ "spec": { "audiences": [], "expirationSeconds": 24 * 60 * 60 } }))?;
    let given = accounts.create_token_request("kedge", &PostParams::default(), &wanted).await?;
    given.status.and_then(|status| status.token).context("a token request without an answer")
}

async fn write_kubeconfig(cluster: &Cluster, folder: &Path) -> anyhow::Result<PathBuf> {
    let token = token(cluster).await?;
    let admin: Value = serde_json::from_str(&fs::read_to_string(cluster.kubeconfig())?)?;
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "clusters": admin["clusters"],
        "users": [{ "name": "kedge", "user": { "token": token } }],
        "contexts": [{ "name": "kedge", "context": { "cluster": "kedge", "user": "kedge" } }],
        "current-context": "kedge",
    });
    let path = folder.join("kubeconfig");
    fs::write(&path, config.to_string()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
