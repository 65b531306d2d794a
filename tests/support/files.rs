//! The folders that tests read.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the workspace")
}

/// A golden file: from the folder that `KEDGE_GOLDEN_DIR` names, else from `tests/golden`.
pub fn golden(name: &str) -> String {
    let folder = std::env::var_os("KEDGE_GOLDEN_DIR").map(PathBuf::from);
    read(&folder.unwrap_or_else(|| workspace().join("tests/golden")).join(name))
}

/// The text of a file that must be there.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// All files of a folder with this ending, by name.
pub fn list(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    paths
}

/// A file of one YAML document, as JSON.
pub fn read_yaml(path: &Path) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All Rust files below a folder.
pub fn rust_sources(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        found.extend(list(&folder, "rs"));
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
        folders.extend(entries.map(|entry| entry.expect("a readable folder").path()).filter(|path| path.is_dir()));
    }
    found
}

/// A source without its inline tests.
pub fn without_tests(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}
