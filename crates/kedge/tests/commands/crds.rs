//! `kedge crds`, as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn kedge(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kedge")).args(arguments).output().unwrap()
}

/// The committed CRDs, by file name.
fn committed() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
    files.sort_by_key(|file| file.file_name());
    let read = |file: fs::DirEntry| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap());
    files.into_iter().map(read).collect()
}

#[test]
fn it_prints_every_crd() {
    let output = kedge(&["crds"]);
    let all: String = committed().into_iter().map(|(_, text)| text).collect();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), all);
}

#[test]
fn it_writes_one_file_a_crd_and_names_each() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new/folder");
    let output = kedge(&["crds", "--out-dir", target.to_str().unwrap()]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for (name, text) in committed() {
        assert_eq!(fs::read_to_string(target.join(&name)).unwrap(), text, "{name}");
        assert!(said.contains(&name), "{said}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let output = kedge(&["crds", "--out-dir", "/dev/null/crds"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("cannot create the folder /dev/null/crds"), "{said}");
}
