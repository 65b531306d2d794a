//! Running cargo on this workspace, so that tests, tasks and programs share what it compiles.
//!
//! Cargo chooses the features of dependencies for the packages that a command names. A command for one package chooses other features
//! than a command for all, and compiles most dependencies a second time. So every command here names the whole workspace.

use std::path::Path;
use std::process::{Command, ExitStatus};

use anyhow::{Context, bail};

/// The folder of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate lies two folders deep")
}

/// A cargo that works in the workspace, not yet started.
pub fn command(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(workspace());
    forget_own_package(&mut command);
    command
}

/// Runs cargo in the workspace; fails when it does.
pub fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let status: ExitStatus = command(arguments).status().context("cannot start cargo")?;
    if !status.success() {
        bail!("`cargo {}` failed ({status})", arguments.join(" "));
    }
    Ok(())
}

/// The arguments of a `cargo build` of one program of the workspace. Naming an example makes cargo choose the features that tests
/// have, development dependencies included.
pub fn build_arguments(program: &str) -> [&str; 7] {
    ["build", "--quiet", "--workspace", "--bin", program, "--example", "scaler"]
}

/// Removes what another cargo set for this program about its own package from the environment of a cargo that is to be started: build
/// scripts would take it for a change, and everything above them would be built again.
pub fn forget_own_package(cargo: &mut Command) {
    let of_this_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_this_package)) {
        cargo.env_remove(name);
    }
}
