//! The paths of a command line: files, folders and standard input.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use kedge_webhooks::violation::FieldPath;

use super::document::{Document, Position};
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

/// A document, and the file that it is in.
pub(crate) struct LocatedDocument {
    pub(crate) file: String,
    pub(crate) document: Document,
}

impl LocatedDocument {
    /// Where a field of it is, as compilers write it.
    pub(crate) fn place(&self, path: &FieldPath) -> String {
        let Position { line, column } = self.document.position(path);
        format!("{}:{line}:{column}", self.file)
    }
}

/// All documents. Fails at the first file or document that cannot be read.
pub(crate) fn read_documents(paths: &[PathBuf]) -> anyhow::Result<Vec<LocatedDocument>> {
    let (files, failures) = read_all(paths);
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    files
        .into_iter()
        .map(File::located)
        .collect::<anyhow::Result<Vec<_>>>()
        .map(|all| all.into_iter().flatten().collect())
}

impl File {
    /// Its documents, or the first that cannot be read.
    pub(crate) fn located(self) -> anyhow::Result<Vec<LocatedDocument>> {
        let Self { name, contents } = self;
        if let Some(UnreadableDocument { position, problem, remedy, .. }) = contents.unreadable.first() {
            bail!("{name}:{}:{}: {problem}; {remedy}", position.line, position.column);
        }
        let located = |document| LocatedDocument { file: name.clone(), document };
        Ok(contents.documents.into_iter().map(located).collect())
    }
}

/// The files of a folder; any other path as it is.
fn files_at(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let files = manifest_files(path)?;
    if files.is_empty() {
        bail!("there are no .yaml, .yml or .json manifests in {}", path.display());
    }
    Ok(files)
}

/// The manifests of a folder and its subfolders, sorted. Hidden folders and those of package managers have none.
pub(crate) fn manifest_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            let is_of_tool = name.starts_with('.') || name == "node_modules";
            files.extend(if is_of_tool { Vec::new() } else { manifest_files(&path)? });
        } else if is_manifest(&path) {
            files.push(path);
        }
    }
    Ok(files)
}

/// Every YAML file. Of the JSON files of a folder only those that have objects: others are of other tools.
fn is_manifest(path: &Path) -> bool {
    match path.extension().and_then(OsStr::to_str) {
        Some("yaml" | "yml") => true,
        Some("json") => std::fs::read_to_string(path).is_ok_and(|text| text.contains("\"apiVersion\"")),
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_manifests_of_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let object = r#"{"apiVersion": "keda.sh/v1alpha1"}"#;
        for (name, text) in [
            ("b.yaml", ""),
            ("a/c.yml", ""),
            ("a/object.json", object),
            ("package.json", "{}"),
            ("notes.txt", ""),
            (".terraform/x.yaml", ""),
            ("node_modules/x/y.yaml", ""),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = manifest_files(folder.path()).unwrap();
        let names: Vec<&Path> = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
        assert_eq!(names, [Path::new("a/c.yml"), Path::new("a/object.json"), Path::new("b.yaml")]);
    }
}
