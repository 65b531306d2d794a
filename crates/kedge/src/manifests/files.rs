//! The paths of a command line: files, folders and standard input.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

use super::stream::{self, Contents, UnreadableDocument};

/// A file and its documents.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) contents: Contents,
}

/// The files that can be read, and the errors of the others.
pub(crate) fn read_all(paths: &[PathBuf]) -> (Vec<File>, Vec<anyhow::Error>) {
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for path in paths {
        match files_at(path) {
            Ok(paths) => paths.iter().for_each(|path| match read_file(path) {
                Ok(file) => files.push(file),
                Err(error) => failures.push(error),
            }),
            Err(error) => failures.push(error),
        }
    }
    (files, failures)
}

/// All objects. Fails at the first file or document that cannot be read.
pub(crate) fn read_objects(paths: &[PathBuf]) -> anyhow::Result<Vec<Value>> {
    let (files, failures) = read_all(paths);
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    let mut objects = Vec::new();
    for File { name, contents } in files {
        if let Some(UnreadableDocument { position, problem, remedy, .. }) = contents.unreadable.first() {
            bail!("{name}:{}:{}: {problem}; {remedy}", position.line, position.column);
        }
        objects.extend(contents.documents.into_iter().map(|document| document.object));
    }
    Ok(objects)
}

/// The files of a folder; any other path as it is.
fn files_at(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let files = yaml_files(path)?;
    if files.is_empty() {
        bail!("there are no .yaml or .yml files in {}", path.display());
    }
    Ok(files)
}

/// The YAML files of a folder and its subfolders, sorted.
pub(crate) fn yaml_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(yaml_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    Ok(files)
}

fn read_file(path: &Path) -> anyhow::Result<File> {
    let (name, bytes) = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        ("<stdin>".to_owned(), bytes)
    } else {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        (path.display().to_string(), bytes)
    };
    Ok(File { name, contents: stream::parse(&bytes) })
}
