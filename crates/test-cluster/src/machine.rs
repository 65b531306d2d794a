//! The versions of the software, and the size of the machine; nothing that identifies the machine.

use std::fmt;
use std::fs;
use std::process::Command;

use crate::cargo::workspace;
use crate::cluster::Cluster;
use crate::tools::KEDA_VERSION;

/// Displayed as one line.
#[derive(Clone, Debug)]
pub struct Machine {
    date: String,
    versions: String,
    size: String,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}; {}, shared with other work.", self.date, self.versions, self.size)
    }
}

impl Machine {
    /// How Kedge was built is for the reader.
    pub async fn read(cluster: &Cluster, build: &str) -> anyhow::Result<Self> {
        let kubernetes = cluster.client().await?.apiserver_version().await?.git_version;
        let kedge = format!("Kedge {} at {} ({build})", env!("CARGO_PKG_VERSION"), read_commit());
        Ok(Self {
            date: k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            versions: format!("KEDA {KEDA_VERSION}, {kedge}, Kubernetes {kubernetes}"),
            size: format!("{} cores, {} GiB of memory", count_cores(), read_memory_gib()),
        })
    }
}

fn read_commit() -> String {
    let output = Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(workspace()).output();
    output.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default().trim().to_owned()
}

fn count_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn read_memory_gib() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default();
    kib.div_ceil(1024 * 1024)
}
