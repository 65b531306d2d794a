//! The API in memory, as a process of its own: one program in place of the six of a real control plane.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;

use anyhow::{Context, bail};
use serde_json::Value;

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
    let program = tokio::task::spawn_blocking(program).await??;
    let flags = components::plane(cluster, options);
    cluster.group.spawn(PROGRAM, &program, flags)?;
    cluster.until_answering("the plane is ready").await?;
    cluster.create_nodes(options.nodes).await?;
    cluster.until_nodes_are_ready(options.nodes).await
}

/// The path of the program, built at the first call.
fn program() -> anyhow::Result<PathBuf> {
    static BUILT: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(path) = &*built {
        return Ok(path.clone());
    }
    let path = build()?;
    *built = Some(path.clone());
    Ok(path)
}

fn build() -> anyhow::Result<PathBuf> {
    let mut cargo = cargo::command(&cargo::build_arguments(PROGRAM));
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = cargo.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("{PROGRAM} does not build ({})", output.status);
    }
    executable(&String::from_utf8(output.stdout)?).with_context(|| format!("cargo does not say where {PROGRAM} is"))
}

/// Where cargo put the program, from its messages in JSON lines.
fn executable(messages: &str) -> Option<PathBuf> {
    let of = |line: &str| -> Option<PathBuf> {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["reason"] == "compiler-artifact" && message["target"]["name"] == PROGRAM;
        is_it.then(|| message["executable"].as_str().map(PathBuf::from))?
    };
    messages.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_where_cargo_says_and_its_library_is_not_it() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"kedge_plane"},"executable":null}
            {"reason":"compiler-artifact","target":{"name":"kedge-plane"},"executable":"/here/kedge-plane"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages), Some(PathBuf::from("/here/kedge-plane")));
        assert_eq!(executable(""), None);
    }
}
