//! The chart, rendered by helm.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use kedge_test_cluster::tools::{self, Tool};
use serde_json::Value;

use crate::files;

/// The folder of the chart.
pub fn chart() -> PathBuf {
    files::workspace().join("config/helm/kedge")
}

/// Runs helm. Returns its standard output, or the standard error of a failure.
pub fn helm(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<String, String> {
    let program = tools::path(Tool::Helm).expect("helm");
    let output = Command::new(program).args(arguments).output().expect("helm starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// One rendered object.
#[derive(Debug)]
pub struct Document {
    pub text: String,
    pub object: Value,
}

impl Document {
    /// Kind, namespace and name.
    pub fn title(&self) -> String {
        let meta = &self.object["metadata"];
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, namespace, name) = (word(&self.object["kind"]), word(&meta["namespace"]), word(&meta["name"]));
        if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
    }

    pub fn is(&self, kind: &str) -> bool {
        self.object["kind"] == kind
    }
}

/// Renders the chart as the release `keda` in the namespace `keda`, with further arguments of `helm template`.
pub fn template(arguments: &[&str]) -> Result<Vec<Document>, String> {
    let chart = chart().display().to_string();
    // Helm as it is built here has a very old default for this version.
    let fixed = ["template", "keda", &chart, "--namespace=keda", "--kube-version=1.36"];
    let rendered = helm(fixed.iter().chain(arguments))?;
    let texts = rendered.split("---\n# Source: ").filter(|text| !text.trim().is_empty());
    Ok(texts.map(document).collect())
}

fn document(text: &str) -> Document {
    let (_, text) = text.split_once('\n').expect("a line with the name of the template");
    let object = serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Document { text: format!("{}\n", text.trim_end()), object }
}
