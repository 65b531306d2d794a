//! The programs of this checkout, built before they are run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use kedge_test_cluster::cargo;

use crate::files::workspace;

/// The path of `kedge`.
pub fn kedge() -> PathBuf {
    built("kedge")
}

/// The path of the program behind `cargo xtask`.
pub fn xtask() -> PathBuf {
    built("xtask")
}

/// Runs a task. Returns whether it succeeded, and what it printed on both outputs.
pub fn run_xtask(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(xtask()).args(arguments).output().expect("xtask starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// The path of the example of an external scaler in Rust.
pub fn rust_scaler() -> PathBuf {
    // Cargo builds the example beside every program.
    once("examples/scaler", |_| cargo_build("kedge"))
}

/// The path of the example of an external scaler in Go.
pub fn go_scaler() -> PathBuf {
    once("examples/scaler-go", |program| {
        let mut go = Command::new("go");
        go.args(["build", "-trimpath", "-o"]).arg(program).arg(".").env("CGO_ENABLED", "0");
        let output = go.current_dir(workspace().join("docs/examples/scaler-go")).output().expect("go starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "docs/examples/scaler-go does not build; go says:\n{stderr}");
    })
}

/// The path of a program of the workspace, built once.
fn built(program: &'static str) -> PathBuf {
    once(program, |_| cargo_build(program))
}

/// The path of a program below the folder that programs are built into. It is built at the first call.
fn once(name: &'static str, build: impl FnOnce(&Path)) -> PathBuf {
    static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let make = || {
        // This program is target/PROFILE/deps/NAME; those of packages lie one folder up.
        let own = std::env::current_exe().expect("a program has a path");
        let program = own.ancestors().nth(2).expect("a test lies in target/PROFILE/deps").join(name);
        build(&program);
        program
    };
    built.entry(name).or_insert_with(make).clone()
}

fn cargo_build(program: &str) {
    cargo::build(program, cargo::DEV).expect("the program builds");
}
