//! What is generated for the Helm chart: its schema, the page of its values, copies of what lies outside its folder, and the
//! plain manifests, which are the chart rendered.

mod page;
mod schema;
mod values;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use kedge_test_cluster::tools::{self, Tool};
use serde::Deserialize;

use crate::generated_file::GeneratedFile;
use kedge_test_cluster::cargo::workspace;

const CHART: &str = "config/helm/kedge";

/// Helm packs only what is in the chart's folder: (the folder of the originals, the folder of the copies, the ending).
const COPIED: [(&str, &str, &str); 2] = [
    ("crds", "config/helm/kedge/files/crds", "yaml"),
    ("config/dashboards", "config/helm/kedge/files/dashboards", "json"),
];

/// A value of KEDA's chart that does nothing here.
#[derive(Debug, Deserialize)]
pub(crate) struct KedaValue {
    value: String,
    then: Outcome,
    because: String,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Ignored,
    Refused,
}

/// Everything but the rendered manifests.
pub(crate) fn parts() -> anyhow::Result<Vec<GeneratedFile>> {
    let entries = values::parse(&read(&format!("{CHART}/values.yaml"))?)?;
    let kedas: Vec<KedaValue> = serde_saphyr::from_str(&read(&format!("{CHART}/files/keda-values.yaml"))?)
        .context("files/keda-values.yaml cannot be read")?;
    let schema = schema::render(&entries, &kedas)?;
    let mut parts = vec![
        GeneratedFile {
            path: format!("{CHART}/values.schema.json"),
            text: serde_json::to_string_pretty(&schema)? + "\n",
        },
        GeneratedFile { path: "docs/helm-values.md".to_owned(), text: page::render(&entries, &kedas) },
    ];
    for (from, to, ending) in COPIED {
        for name in names(from, ending)? {
            parts.push(GeneratedFile { path: format!("{to}/{name}"), text: read(&format!("{from}/{name}"))? });
        }
    }
    Ok(parts)
}

const MANIFESTS: &str = "\
# Kedge for `kubectl apply --server-side -f`: the Helm chart with its default values and metrics on, in the namespace keda.
# Written by `cargo xtask generate`.
---
apiVersion: v1
kind: Namespace
metadata:
  name: keda
";

/// The plain manifests.
pub(crate) fn manifests() -> anyhow::Result<GeneratedFile> {
    let output = Command::new(tools::path(Tool::Helm)?)
        .args(["template", "keda", CHART, "--namespace=keda", "--kube-version=1.36"])
        .arg("--set=customManagedBy=kubectl,prometheus.operator.enabled=true")
        .current_dir(workspace())
        .output()
        .context("helm does not start")?;
    if !output.status.success() {
        bail!("the chart cannot be rendered: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let rendered = String::from_utf8(output.stdout)?;
    let lines = rendered.lines().filter(|line| !line.starts_with("# Source: ") && !line.trim().is_empty());
    let text = lines.fold(MANIFESTS.to_owned(), |text, line| text + line + "\n");
    Ok(GeneratedFile { path: "config/manifests/kedge.yaml".to_owned(), text })
}

/// Removes the copies: an original may have gone.
pub(crate) fn clear() -> anyhow::Result<()> {
    for (_, to, ending) in COPIED {
        for name in names(to, ending)? {
            fs::remove_file(workspace().join(to).join(name))?;
        }
    }
    Ok(())
}

/// Copies without an original.
pub(crate) fn strange_copies(all: &[GeneratedFile]) -> anyhow::Result<Vec<String>> {
    let mut strange = Vec::new();
    for (_, to, ending) in COPIED {
        let found = names(to, ending)?.into_iter().map(|name| format!("{to}/{name}"));
        strange.extend(found.filter(|path| all.iter().all(|one| one.path != *path)));
    }
    Ok(strange)
}

fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(workspace().join(path)).with_context(|| format!("cannot read {path}"))
}

/// The names of the files of a folder with this ending, in order.
fn names(folder: &str, ending: &str) -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(workspace().join(folder)).with_context(|| format!("cannot list {folder}"))?;
    let paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    let is_meant = |path: &&PathBuf| path.extension().is_some_and(|found| found == ending);
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = paths.iter().filter(is_meant).filter_map(name).collect();
    names.sort();
    Ok(names)
}

/// The path of a value as it is written with `--set`.
fn dotted(path: &[String]) -> String {
    path.join(".")
}

#[cfg(test)]
mod tests;
