//! What it ran on: versions and the size of the machine, and nothing that names it.

use std::fs;
use std::process::Command;

use kedge_test_cluster::Cluster;
use kedge_test_cluster::tools::KEDA_VERSION;

use crate::takeover::Profile;
use kedge_test_cluster::cargo::workspace;

pub(super) struct Machine {
    pub(super) date: String,
    pub(super) versions: String,
    pub(super) size: String,
}

impl Machine {
    pub(super) async fn look(cluster: &Cluster, profile: Profile) -> anyhow::Result<Self> {
        let kubernetes = cluster.client().await?.apiserver_version().await?.git_version;
        let build = match profile {
            Profile::Dev => "without optimisation",
            Profile::Release => "release build",
        };
        let own = format!("Kedge {} at {} ({build})", env!("CARGO_PKG_VERSION"), commit());
        Ok(Self {
            date: k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            versions: format!("KEDA {KEDA_VERSION}, {own}, Kubernetes {kubernetes}"),
            size: format!("{} cores, {} GiB of memory", cores(), memory_gib()),
        })
    }
}

fn commit() -> String {
    let asked = Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(workspace()).output();
    asked.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default().trim().to_owned()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn memory_gib() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default();
    kib.div_ceil(1024 * 1024)
}
