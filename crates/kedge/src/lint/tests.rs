//! The linter held against files: a corpus of mistakes, what KEDA accepts, every trigger type of KEDA, and texts at random.

mod accepted;
mod corpus;
mod fuzz;
mod scalers;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::judge::Tools;
use super::report::Report;
use super::{File, judge_all, stream, with_room};

/// A path in the workspace.
fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The YAML files of a folder: name without extension, and what is in it.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let paths = super::input::yaml_files(&workspace(folder)).unwrap();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

static TOOLS: LazyLock<Tools> = LazyLock::new(Tools::new);

/// What is said of one text.
fn lint(bytes: &[u8]) -> Report {
    with_room(|| judge_all(&TOOLS, &[File { name: "case.yaml".to_owned(), contents: stream::read(bytes) }]))
}
