//! The API in memory, as a process of its own: one program in place of the six of a real control plane.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::bail;

use crate::cargo;
use crate::cluster::Cluster;
use crate::components;
use crate::options::ClusterOptions;

const PROGRAM: &str = "kedge-plane";

/// Builds the program if need be, starts it, and returns when pods can run.
pub(crate) async fn start(cluster: &mut Cluster, options: &ClusterOptions) -> anyhow::Result<()> {
    if let Some(flag) = options.apiserver_flags.first() {
        bail!("{} is for kube-apiserver, and {PROGRAM} is none", flag.display());
    }
    let profile = options.plane_profile;
    let program = tokio::task::spawn_blocking(move || program(profile)).await??;
    let flags = components::plane(cluster, options);
    cluster.group.spawn(PROGRAM, &program, flags)?;
    cluster.until_answering("the plane is ready").await?;
    cluster.create_nodes(options.nodes).await?;
    cluster.until_nodes_are_ready(options.nodes).await
}

/// The path of the program, built at the first call for each profile.
fn program(profile: &'static str) -> anyhow::Result<PathBuf> {
    static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(path) = built.get(profile) {
        return Ok(path.clone());
    }
    let path = cargo::build(PROGRAM, profile)?;
    built.insert(profile, path.clone());
    Ok(path)
}
