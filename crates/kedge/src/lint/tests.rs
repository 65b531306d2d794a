//! The linter on files: a corpus of violations, what KEDA accepts, every trigger type of KEDA, and random texts.

mod accepted;
mod corpus;
mod fuzz;
mod scalers;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::report::Report;
use super::{File, ValidationContext, validate_all, with_large_stack};
use crate::manifests::{files, stream};

/// A path in the workspace.
fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The YAML files of a folder: name without extension, and what is in it.
fn yaml_files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let paths = files::manifest_files(&workspace(folder)).unwrap();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

static CONTEXT: LazyLock<ValidationContext> = LazyLock::new(ValidationContext::new);

/// The report of one text.
fn lint(bytes: &[u8]) -> Report {
    with_large_stack(|| {
        validate_all(&CONTEXT, &[File { name: "case.yaml".to_owned(), contents: stream::parse(bytes) }])
    })
}
