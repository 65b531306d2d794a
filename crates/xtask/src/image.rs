//! The program of the image, as its recipe builds it, and the variables that the image sets.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use kedge_test_cluster::cargo::{forget_own_package, workspace};

const DOCKERFILE: &str = include_str!("../../../config/image/Dockerfile");

/// Builds it, and answers where it is.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let program = workspace().join("target/image/kedge");
    let mut build = Command::new(workspace().join("config/image/build"));
    forget_own_package(&mut build);
    let status = build.arg(&program).status().context("cannot start config/image/build")?;
    ensure!(status.success(), "config/image/build failed ({status})");
    Ok(program)
}

/// The variables with which the program runs in the image.
pub(crate) fn environment() -> Vec<(String, String)> {
    let lines = DOCKERFILE.lines().filter_map(|line| line.strip_prefix("ENV "));
    let pairs = lines.flat_map(str::split_whitespace).filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_sets_how_memory_is_returned() {
        let environment = environment();
        assert!(environment.contains(&("MIMALLOC_PURGE_DELAY".to_owned(), "0".to_owned())), "{environment:?}");
        assert!(environment.iter().all(|(name, _)| name.starts_with("MIMALLOC_")), "{environment:?}");
    }
}
