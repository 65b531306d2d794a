//! The programs of this checkout, built before they are run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use crate::files::workspace;

/// The path of `kedge`.
pub fn kedge() -> PathBuf {
    built("kedge")
}

/// The path of the program behind `cargo xtask`.
pub fn xtask() -> PathBuf {
    built("xtask")
}

/// Runs a task; answers whether it succeeded, and what it printed on both outputs.
pub fn run_xtask(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(xtask()).args(arguments).output().expect("xtask starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// The path of the program of a package, built once.
fn built(package: &'static str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let build = || {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", package])
            .current_dir(workspace())
            .status()
            .expect("cargo starts");
        assert!(status.success(), "{package} does not build");
        // This program is target/PROFILE/deps/NAME; those of packages lie one folder up.
        let own = std::env::current_exe().expect("a program has a path");
        own.ancestors().nth(2).expect("a test lies in target/PROFILE/deps").join(package)
    };
    built.entry(package).or_insert_with(build).clone()
}
