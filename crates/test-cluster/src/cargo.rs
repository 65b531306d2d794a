//! Running cargo on this workspace, so that tests, tasks and programs share what it compiles.
//!
//! Cargo chooses the features of dependencies for the packages that a command names. A command for one package chooses other features
//! than a command for all, and compiles most dependencies a second time. So every command here names the whole workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

/// The profile that tests are built with.
pub const DEV: &str = "dev";

/// The profile that the fault suite is built with: optimized where it spends its time, and built sooner than a release.
pub const QUICKLY_BUILT: &str = "faults";

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

/// The arguments of a cargo that builds one program of the workspace. Naming an example makes cargo choose the features that tests
/// have, development dependencies included.
pub fn build_arguments<'a>(program: &'a str, profile: &'a str) -> [&'a str; 9] {
    ["build", "--quiet", "--profile", profile, "--workspace", "--bin", program, "--example", "scaler"]
}

/// Builds one program of the workspace, and returns where it is.
pub fn build(program: &str, profile: &str) -> anyhow::Result<PathBuf> {
    let mut cargo = command(&build_arguments(program, profile));
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = cargo.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("{program} does not build ({})", output.status);
    }
    let messages = String::from_utf8(output.stdout)?;
    executable(&messages, program).with_context(|| format!("cargo does not say where {program} is"))
}

/// Where cargo put a program, from its messages in JSON lines.
fn executable(messages: &str, program: &str) -> Option<PathBuf> {
    let of = |line: &str| -> Option<PathBuf> {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["reason"] == "compiler-artifact" && message["target"]["name"] == program;
        is_it.then(|| message["executable"].as_str().map(PathBuf::from))?
    };
    messages.lines().find_map(of)
}

/// Removes what another cargo set for this program about its own package from the environment of a cargo that is to be started: build
/// scripts would take it for a change, and everything above them would be built again.
pub fn forget_own_package(cargo: &mut Command) {
    let of_this_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_this_package)) {
        cargo.env_remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_where_cargo_says_and_its_library_is_not_it() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"kedge_plane"},"executable":null}
            {"reason":"compiler-artifact","target":{"name":"kedge-plane"},"executable":"/here/kedge-plane"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages, "kedge-plane"), Some(PathBuf::from("/here/kedge-plane")));
        assert_eq!(executable("", "kedge-plane"), None);
    }
}
