//! Words that this project does not use: they hide what happens, or who does it. `docs/ARCHITECTURE.md` and the code use the terms of
//! Kubernetes and KEDA instead.

use std::path::{Path, PathBuf};

use kedge_tests::files;
use regex::Regex;

/// The words, and what to write instead.
const WORDS: [(&str, &str); 9] = [
    ("told", "reported, logged, published, configured"),
    ("anew", "again, re-listed, rebuilt"),
    ("looked at", "reconciled, read, checked, polled"),
    ("somebody", "the operator, the caller, a user"),
    ("nobody", "no client, no process, nothing"),
    ("made good", "corrected by, retried by"),
    ("mended", "fixed, corrected"),
    ("laid to sleep", "scaled to zero"),
    ("by the ten thousand", "the number"),
];

/// Files that quote the words: their path, and why.
const EXCEPT: [(&str, &str); 4] = [
    ("tests/golden/words.rs", "lists them"),
    ("crates/kedge/src/lint/tests/accepted.rs", "names parity cases, which keep their names"),
    ("docs/differences-from-keda.md", "names parity cases, which keep their names"),
    ("docs/plane-differences.md", "names conformance scripts, which keep their names"),
];

/// What is read: code, documents, and what is deployed. Data of parity and conformance keeps its words.
const FOLDERS: [&str; 5] = ["crates", "webhooks", "tests", "docs", "config"];

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", "go", "node_modules"].contains(&name.as_str()) {
                collect(&path, found);
            }
        } else if is_read(&path) {
            found.push(path);
        }
    }
}

fn is_read(path: &Path) -> bool {
    let inside = path.strip_prefix(files::workspace()).unwrap_or(path);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_data = inside.starts_with("tests") && extension != "rs";
    !is_data && ["rs", "md", "yaml", "tpl", "toml", "proto", "txt", "sh", "go"].contains(&extension)
}

#[test]
fn no_file_uses_words_that_hide_what_happens() {
    let mut paths = vec![files::workspace().join("README.md")];
    FOLDERS.iter().for_each(|folder| collect(&files::workspace().join(folder), &mut paths));
    assert!(paths.len() > 300, "only {} files", paths.len());
    let words = WORDS.map(|(word, instead)| (Regex::new(&format!(r"(?i)\b(?:{word})\b")).unwrap(), instead));
    let mut found = Vec::new();
    for path in paths {
        let inside = path.strip_prefix(files::workspace()).unwrap().display().to_string();
        if EXCEPT.iter().any(|(except, _)| *except == inside) {
            continue;
        }
        for (number, line) in files::read(&path).lines().enumerate() {
            // Identifiers are words too.
            let line = line.replace('_', " ");
            for (word, instead) in words.iter().filter(|(word, _)| word.is_match(&line)) {
                let word = word.find(&line).map_or("", |found| found.as_str());
                found.push(format!("{inside}:{}: \"{word}\"; write: {instead}", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}
