//! A committed file that is generated.

use std::fs;
use std::path::Path;

use anyhow::Context;
use kedge_test_cluster::cargo::workspace;

/// The path and the expected content.
pub(crate) struct GeneratedFile {
    /// Within the workspace.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl GeneratedFile {
    pub(crate) fn is_fresh(&self) -> bool {
        fs::read_to_string(workspace().join(&self.path)).is_ok_and(|found| found == self.text)
    }

    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let path = workspace().join(&self.path);
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
        fs::write(&path, &self.text).with_context(|| format!("cannot write {}", path.display()))
    }
}
