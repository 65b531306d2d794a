//! The copy of the workspace in which the mutants are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{Edit, Mutant, edits};

/// Edits that the copy needs whatever the mutants are.
const SWITCH_EDITS: &str = include_str!("../../mutants/switch/edits.yaml");

/// The module that says which mutant runs, and its place in the copy.
const SWITCH: (&str, &str) = ("crates/api/src/mutants.rs", include_str!("../../mutants/switch/mutants.rs"));

/// Brings the copy up to date. Files that are the same already are left alone, so that cargo compiles only what changed.
pub(super) fn write(workspace: &Path, copy: &Path, mutants: &[Mutant]) -> anyhow::Result<()> {
    let edited = edited_files(workspace, mutants)?;
    let mut files: BTreeSet<PathBuf> = files_below(workspace)?.into_iter().collect();
    files.extend(edited.keys().cloned());
    for file in &files {
        let content = match edited.get(file) {
            Some(text) => text.clone().into_bytes(),
            None => read(&workspace.join(file))?,
        };
        write_if_changed(&copy.join(file), &content)?;
    }
    if copy.exists() {
        for file in files_below(copy)?.into_iter().filter(|file| !files.contains(file)) {
            remove(copy, &file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
    }
    Ok(())
}

/// The files that differ from those of the workspace, by path.
pub(super) fn edited_files(workspace: &Path, mutants: &[Mutant]) -> anyhow::Result<BTreeMap<PathBuf, String>> {
    let mut by_file: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
    for (of, edit) in all_edits(mutants)? {
        check(workspace, &edit).with_context(|| format!("mutant {of}: {}", edit.file))?;
        by_file.entry(edit.file.clone()).or_default().push(edit);
    }
    let mut edited = BTreeMap::from([(PathBuf::from(SWITCH.0), SWITCH.1.to_owned())]);
    for (file, all) in by_file {
        let text = edits::apply(&read_text(&workspace.join(&file))?, &all).with_context(|| file.clone())?;
        edited.insert(PathBuf::from(file), text);
    }
    Ok(edited)
}

/// Whether an edit applies, without the others: an error then names its mutant.
fn check(workspace: &Path, edit: &Edit) -> anyhow::Result<()> {
    edits::apply(&read_text(&workspace.join(&edit.file))?, std::slice::from_ref(edit)).map(drop)
}

/// All edits with the name of what they belong to, and with their condition filled in.
fn all_edits(mutants: &[Mutant]) -> anyhow::Result<Vec<(String, Edit)>> {
    let switch: Vec<Edit> = serde_saphyr::from_str(SWITCH_EDITS).context("switch/edits.yaml holds no edits")?;
    let mut all: Vec<(String, Edit)> = switch.into_iter().map(|edit| ("switch".to_owned(), edit)).collect();
    for Mutant { name, edits, .. } in mutants {
        let condition = format!("kedge_api::mutants::is_active({name:?})");
        let conditional = |edit: &Edit| Edit { replace: edit.replace.replace("$active", &condition), ..edit.clone() };
        all.extend(edits.iter().map(|edit| (name.clone(), conditional(edit))));
    }
    Ok(all)
}

/// The files that make up a workspace, by their path in it: all but hidden ones and what cargo built.
fn files_below(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            let hidden = name.to_string_lossy().starts_with('.') || path == root.join("target");
            match (hidden, path.is_dir()) {
                (true, _) => {}
                (false, true) => folders.push(path),
                (false, false) => files.push(path.strip_prefix(root).context("a path below the root")?.to_owned()),
            }
        }
    }
    Ok(files)
}

fn write_if_changed(file: &Path, content: &[u8]) -> anyhow::Result<()> {
    if std::fs::read(file).is_ok_and(|present| present == content) {
        return Ok(());
    }
    let folder = file.parent().context("a file lies in a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    std::fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}

/// Removes a file, and the folders that are empty without it: cargo takes each folder of `crates` for a member.
fn remove(copy: &Path, file: &Path) -> std::io::Result<()> {
    std::fs::remove_file(copy.join(file))?;
    let folders = file.ancestors().skip(1).map(|folder| copy.join(folder));
    folders.map_while(|folder| std::fs::remove_dir(folder).ok()).for_each(drop);
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

fn read_text(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}
