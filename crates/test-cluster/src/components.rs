//! The command line of each program of the control plane.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::certificates::Certificates;
use crate::cluster::Cluster;
use crate::options::ClusterOptions;

/// Flags are put together from text and paths; this takes both.
macro_rules! flag {
    ($name:literal, $value:expr) => {{
        let mut flag = OsString::from(concat!("--", $name, "="));
        flag.push(&$value);
        flag
    }};
}

/// The loopback ports of one cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) etcd_client: u16,
    pub(crate) etcd_peer: u16,
    pub(crate) apiserver: u16,
    pub(crate) controller_manager: u16,
    pub(crate) scheduler: u16,
    pub(crate) kwok: u16,
    pub(crate) metrics_server: u16,
}

pub(crate) fn etcd(folder: &Path, ports: Ports) -> Vec<OsString> {
    let client = format!("http://127.0.0.1:{}", ports.etcd_client);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    vec![
        flag!("data-dir", folder.join("etcd")),
        flag!("listen-client-urls", client),
        flag!("advertise-client-urls", client),
        flag!("listen-peer-urls", peer),
        flag!("initial-advertise-peer-urls", peer),
        flag!("initial-cluster", format!("default={peer}")),
        // Nothing here outlives the machine, so nothing needs to reach the disk.
        "--unsafe-no-fsync".into(),
    ]
}

pub(crate) fn apiserver(folder: &Path, ports: Ports, pki: &Certificates, audit_policy: &Path) -> Vec<OsString> {
    let server = pki.server();
    let front_proxy = pki.front_proxy();
    vec![
        flag!("etcd-servers", format!("http://127.0.0.1:{}", ports.etcd_client)),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        // A loopback address is not a legal endpoint of the Service `kubernetes`.
        "--endpoint-reconciler-type=none".into(),
        flag!("secure-port", ports.apiserver.to_string()),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        flag!("tls-cert-file", server.certificate),
        flag!("tls-private-key-file", server.key),
        flag!("client-ca-file", pki.ca_path()),
        "--authorization-mode=RBAC".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        flag!("service-account-key-file", pki.service_accounts_public_key()),
        flag!("service-account-signing-key-file", pki.service_accounts_key()),
        flag!("requestheader-client-ca-file", pki.front_proxy_ca_path()),
        "--requestheader-allowed-names=front-proxy".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        flag!("proxy-client-cert-file", front_proxy.certificate),
        flag!("proxy-client-key-file", front_proxy.key),
        flag!("audit-policy-file", audit_policy),
        flag!("audit-log-path", folder.join("audit.log")),
        "--audit-log-mode=blocking".into(),
        // In megabytes: tests read the log as one file.
        "--audit-log-maxsize=10000".into(),
    ]
}

pub(crate) fn controller_manager(ports: Ports, pki: &Certificates, hpa_sync_period: Duration) -> Vec<OsString> {
    let kubeconfig = pki.controller_manager_kubeconfig();
    vec![
        flag!("kubeconfig", kubeconfig),
        flag!("authentication-kubeconfig", kubeconfig),
        flag!("authorization-kubeconfig", kubeconfig),
        "--bind-address=127.0.0.1".into(),
        flag!("secure-port", ports.controller_manager.to_string()),
        "--leader-elect=false".into(),
        "--use-service-account-credentials".into(),
        flag!("service-account-private-key-file", pki.service_accounts_key()),
        flag!("root-ca-file", pki.ca_path()),
        // At its default limits it throttles itself past a few hundred HPAs.
        "--kube-api-qps=500".into(),
        "--kube-api-burst=1000".into(),
        flag!("horizontal-pod-autoscaler-sync-period", format!("{}ms", hpa_sync_period.as_millis())),
    ]
}

pub(crate) fn scheduler(ports: Ports, pki: &Certificates) -> Vec<OsString> {
    let kubeconfig = pki.scheduler_kubeconfig();
    vec![
        flag!("kubeconfig", kubeconfig),
        flag!("authentication-kubeconfig", kubeconfig),
        flag!("authorization-kubeconfig", kubeconfig),
        "--bind-address=127.0.0.1".into(),
        flag!("secure-port", ports.scheduler.to_string()),
        "--leader-elect=false".into(),
    ]
}

pub(crate) fn kwok(ports: Ports, pki: &Certificates, configs: &[&Path]) -> Vec<OsString> {
    let server = pki.server();
    let mut flags = vec![
        flag!("kubeconfig", pki.kwok_kubeconfig()),
        "--manage-all-nodes=true".into(),
        "--node-ip=127.0.0.1".into(),
        flag!("node-port", ports.kwok.to_string()),
        flag!("server-address", format!("127.0.0.1:{}", ports.kwok)),
        flag!("tls-cert-file", server.certificate),
        flag!("tls-private-key-file", server.key),
        // Its own heartbeat is slower than the grace period of nodes; the lease is not.
        "--node-lease-duration-seconds=40".into(),
    ];
    flags.extend(configs.iter().map(|config| flag!("config", config)));
    flags
}

pub(crate) fn metrics_server(folder: &Path, ports: Ports, pki: &Certificates) -> Vec<OsString> {
    let kubeconfig = pki.admin_kubeconfig();
    vec![
        // Nodes are checked against the authority that it names.
        flag!("kubeconfig", kubeconfig),
        flag!("authentication-kubeconfig", kubeconfig),
        flag!("authorization-kubeconfig", kubeconfig),
        "--bind-address=127.0.0.1".into(),
        flag!("secure-port", ports.metrics_server.to_string()),
        flag!("cert-dir", folder.join("metrics-server")),
        "--kubelet-use-node-status-port".into(),
        "--kubelet-preferred-address-types=InternalIP".into(),
        // The shortest that it takes; a request must end within nine tenths of it.
        "--metric-resolution=10s".into(),
        "--kubelet-request-timeout=5s".into(),
    ]
}

/// The API in memory takes the flags of kube-controller-manager that are about its controllers.
pub(crate) fn plane(cluster: &Cluster, options: &ClusterOptions) -> Vec<OsString> {
    let (server, front_proxy) = (cluster.pki.server(), cluster.pki.front_proxy());
    let mut flags = vec![
        flag!("listen", format!("127.0.0.1:{}", cluster.apiserver_port())),
        flag!("tls-cert-file", server.certificate),
        flag!("tls-private-key-file", server.key),
        flag!("client-ca-file", cluster.pki.ca_path()),
        flag!("requestheader-client-ca-file", cluster.pki.front_proxy_ca_path()),
        flag!("requestheader-allowed-names", "front-proxy"),
        flag!("proxy-client-cert-file", front_proxy.certificate),
        flag!("proxy-client-key-file", front_proxy.key),
        flag!("audit-log-path", cluster.audit_log()),
        flag!("horizontal-pod-autoscaler-sync-period", format!("{}ms", options.hpa_sync_period.as_millis())),
    ];
    flags.extend(options.metrics_server.then(|| "--serve-usage".into()));
    flags.extend(options.controller_manager_flags.iter().cloned());
    flags
}
