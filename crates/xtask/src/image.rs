//! The program of the image, as its recipe builds it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use kedge_test_cluster::cargo::{forget_own_package, workspace};

/// Builds it, and answers where it is.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let program = workspace().join("target/image/kedge");
    let mut build = Command::new(workspace().join("config/image/build"));
    forget_own_package(&mut build);
    let status = build.arg(&program).status().context("cannot start config/image/build")?;
    ensure!(status.success(), "config/image/build failed ({status})");
    Ok(program)
}
