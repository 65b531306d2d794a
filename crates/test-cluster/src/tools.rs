//! The programs a cluster is made of, built from the pinned Go modules in `go/`, once, into the cache.

pub mod deb;
mod go;
pub mod maven;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::cache;

/// A program built from a Go module of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Etcd,
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    Kubectl,
    Kwok,
    Helm,
    Prometheus,
    MetricsServer,
    KedaOperator,
    KedaAdapter,
    KedaWebhooks,
    KedaOracle,
}

/// How a program is built: the folder of its module below `go/`, its package, and flags for `go build`.
struct Recipe {
    module: &'static str,
    package: &'static str,
    ldflags: &'static str,
    tags: &'static str,
}

impl Recipe {
    /// The files that the program depends on: those that pin its module, and its source where that is ours.
    fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let folder = module_folder(self.module);
        let mut files = ["go.mod", "go.sum"].map(|file| folder.join(file)).to_vec();
        if let Some(package) = self.package.strip_prefix("./") {
            let package = folder.join(package);
            let entries = fs::read_dir(&package).with_context(|| format!("cannot list {}", package.display()))?;
            let mut sources = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
            sources.sort();
            files.extend(sources);
        }
        Ok(files)
    }
}

/// Without these the API server calls itself a development version, and clients that check versions complain.
const KUBERNETES_VERSION: &str = "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 \
    -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36";

impl Tool {
    /// Everything that CI's tests may use, slowest first after etcd: a broken set-up shows early.
    pub const ALL: [Tool; 9] = [
        Tool::Etcd,
        Tool::KubeApiserver,
        Tool::KubeControllerManager,
        Tool::KubeScheduler,
        Tool::Kubectl,
        Tool::Kwok,
        Tool::Helm,
        Tool::Prometheus,
        Tool::MetricsServer,
    ];

    /// What one cluster needs to run, and kubectl to inspect it.
    pub const CLUSTER: [Tool; 6] =
        [Tool::Etcd, Tool::KubeApiserver, Tool::KubeControllerManager, Tool::KubeScheduler, Tool::Kubectl, Tool::Kwok];

    /// The peer. It takes a quarter of an hour to build, so only what is measured beside it asks for it.
    pub const KEDA: [Tool; 3] = [Tool::KedaOperator, Tool::KedaAdapter, Tool::KedaWebhooks];

    /// The name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Etcd => "etcd",
            Tool::KubeApiserver => "kube-apiserver",
            Tool::KubeControllerManager => "kube-controller-manager",
            Tool::KubeScheduler => "kube-scheduler",
            Tool::Kubectl => "kubectl",
            Tool::Kwok => "kwok",
            Tool::Helm => "helm",
            Tool::Prometheus => "prometheus",
            Tool::MetricsServer => "metrics-server",
            Tool::KedaOperator => "keda-operator",
            Tool::KedaAdapter => "keda-adapter",
            Tool::KedaWebhooks => "keda-webhooks",
            Tool::KedaOracle => "keda-oracle",
        }
    }

    fn recipe(self) -> Recipe {
        let plain = |module, package| Recipe { module, package, ldflags: "-s -w", tags: "" };
        let kubernetes = |package| Recipe { module: "kube", package, ldflags: KUBERNETES_VERSION, tags: "" };
        match self {
            Tool::Etcd => plain("etcd", "go.etcd.io/etcd/server/v3"),
            Tool::KubeApiserver => kubernetes("k8s.io/kubernetes/cmd/kube-apiserver"),
            Tool::KubeControllerManager => kubernetes("k8s.io/kubernetes/cmd/kube-controller-manager"),
            Tool::KubeScheduler => kubernetes("k8s.io/kubernetes/cmd/kube-scheduler"),
            Tool::Kubectl => kubernetes("k8s.io/kubernetes/cmd/kubectl"),
            Tool::Kwok => plain("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
            Tool::Helm => plain("helm", "helm.sh/helm/v3/cmd/helm"),
            // Without the service discoveries of a dozen clouds it builds in a third of the time.
            Tool::Prometheus => Recipe {
                tags: "remove_all_sd",
                ..plain("prometheus", "github.com/prometheus/prometheus/cmd/prometheus")
            },
            Tool::MetricsServer => plain("metrics-server", "sigs.k8s.io/metrics-server/cmd/metrics-server"),
            Tool::KedaOperator => plain("keda", "github.com/kedacore/keda/v2/cmd/operator"),
            Tool::KedaAdapter => plain("keda", "github.com/kedacore/keda/v2/cmd/adapter"),
            Tool::KedaWebhooks => plain("keda", "github.com/kedacore/keda/v2/cmd/webhooks"),
            Tool::KedaOracle => plain("keda", "./oracle"),
        }
    }

    /// Where the built program is kept: keyed by everything that goes into it.
    fn cached_path(self) -> anyhow::Result<PathBuf> {
        let recipe = self.recipe();
        let mut digest = Sha256::new();
        for path in recipe.files()? {
            digest.update(fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?);
        }
        for part in [recipe.package, recipe.ldflags, recipe.tags, std::env::consts::OS, std::env::consts::ARCH] {
            digest.update(part);
            digest.update([0]);
        }
        let key: String = digest.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(cache::folder()?.join("tools").join(format!("{}-{key}", self.name())).join(self.name()))
    }
}

/// Makes sure that these programs are built, and says on standard error what it is doing. Quick when they are.
///
/// Only one build runs at a time on this machine; others wait for it and find its result.
pub fn build(tools: &[Tool]) -> anyhow::Result<()> {
    let missing = |tools: &[Tool]| -> anyhow::Result<Vec<Tool>> {
        let mut missing = Vec::new();
        for tool in tools {
            if !tool.cached_path()?.exists() {
                missing.push(*tool);
            }
        }
        Ok(missing)
    };
    if missing(tools)?.is_empty() {
        return Ok(());
    }
    let _lock = lock_builds()?;
    let missing = missing(tools)?;
    if missing.is_empty() {
        return Ok(());
    }
    go::require()?;
    eprintln!(
        "building {} programs from Go modules, once; the first time takes about 15 minutes on 2 cores",
        missing.len()
    );
    let started = Instant::now();
    for (index, tool) in missing.iter().enumerate() {
        let recipe = tool.recipe();
        let title = format!("[{}/{}] {}", index + 1, missing.len(), tool.name());
        go::build(&title, &recipe, &tool.cached_path()?)?;
    }
    eprintln!("built in {} s; kept in {}", started.elapsed().as_secs(), cache::folder()?.join("tools").display());
    Ok(())
}

/// The path of a program, built first if need be.
pub fn path(tool: Tool) -> anyhow::Result<PathBuf> {
    build(&[tool])?;
    tool.cached_path()
}

/// The version of KEDA that is pinned.
pub const KEDA_VERSION: &str = "v2.21.0";

/// The folder of KEDA's own source, fetched as a Go module and checked against the checksum we keep: the peer's CRDs and
/// contracts, to compare ours with. Nothing that it depends on is fetched.
pub fn keda_source() -> anyhow::Result<PathBuf> {
    go::require()?;
    go::download(&module_folder("keda"), "github.com/kedacore/keda/v2")
}

fn module_folder(module: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("go").join(module)
}

pub(crate) fn lock_builds() -> anyhow::Result<File> {
    let folder = cache::folder()?.join("tools");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let path = folder.join("lock");
    let lock = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    if lock.try_lock().is_err() {
        eprintln!("waiting for another build of the same programs");
        lock.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(lock)
}
