//! The `cargo xtask` of this checkout, as a program to run.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::files::workspace;

/// The path of the program, built first.
pub fn program() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            let built = Command::new(env!("CARGO"))
                .args(["build", "--quiet", "--package", "xtask"])
                .current_dir(workspace())
                .status()
                .expect("cargo starts");
            assert!(built.success(), "xtask does not build");
            // This program is target/PROFILE/deps/NAME; xtask lies one folder up.
            let own = std::env::current_exe().expect("a program has a path");
            own.ancestors().nth(2).expect("a test lies in target/PROFILE/deps").join("xtask")
        })
        .clone()
}

/// Runs a task; answers whether it succeeded, and what it printed on both outputs.
pub fn run(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(program()).args(arguments).output().expect("xtask starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}
