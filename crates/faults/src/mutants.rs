//! Mutants: deliberate defects of the operator, each of which the suite must detect.
//!
//! Production code holds none of them. `mutants/*.yaml` describes each as edits of the sources; they are applied, all at once, to a
//! copy of the workspace, behind a switch that exists only there. The copy is built once, and runs one mutant after another.

mod copy;
mod edits;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use anyhow::{Context, bail};
use serde::Deserialize;

pub use edits::Edit;

/// Names the mutant to a program built from the copy.
const ENVIRONMENT: &str = "KEDGE_MUTANT";

/// The program built from the copy.
const PROGRAM: &str = "kedge-faults-mutants";

/// One deliberate defect.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// The name of its file, without the extension.
    #[serde(skip)]
    pub name: String,
    /// The defect, in one sentence.
    pub breaks: String,
    /// The scenario that detects it soonest.
    pub scenario: String,
    pub edits: Vec<Edit>,
}

/// All mutants, by name.
pub fn load() -> anyhow::Result<Vec<Mutant>> {
    let folder = folder();
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files.iter().map(|file| parse(file)).collect()
}

fn parse(file: &Path) -> anyhow::Result<Mutant> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mutant: Mutant = serde_saphyr::from_str(&text).with_context(|| format!("{} is no mutant", file.display()))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Mutant { name, ..mutant })
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mutants")
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate lies two folders deep")
}

/// Builds the copy, and runs every mutant until it is detected.
pub fn detect_all(runs: u64) -> anyhow::Result<ExitCode> {
    let mutants = load()?;
    let built = std::env::current_exe().context("cannot locate this program")?;
    let built = built.parent().context("this program lies in no folder")?;
    let copy = built.with_file_name("mutants");
    copy::write(workspace(), &copy, &mutants)?;
    build(&copy, built)?;
    let program = built.join(PROGRAM);
    let mut undetected = 0;
    for mutant in &mutants {
        let verdict = run(&program, mutant, runs)?;
        undetected += usize::from(verdict.is_none());
        let missed = || format!("NOT DETECTED in {runs} runs of {}. {}", mutant.scenario, mutant.breaks);
        println!("{:<30} {}", mutant.name, verdict.unwrap_or_else(missed));
    }
    println!("{} of {} mutants detected", mutants.len() - undetected, mutants.len());
    Ok(if undetected == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the copy with the profile of this program, into the same folder: dependencies are compiled once.
fn build(copy: &Path, folder: &Path) -> anyhow::Result<()> {
    let profile = folder.file_name().and_then(OsStr::to_str).context("the folder of this program has no name")?;
    let profile = if profile == "debug" { "dev" } else { profile };
    let target = folder.parent().context("this program lies in no target folder")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The same features as those of every other build of the workspace.
    command.args(["build", "--quiet", "--profile", profile, "--workspace", "--bin", PROGRAM, "--example", "scaler"]);
    command.current_dir(copy).env("CARGO_TARGET_DIR", target);
    // What `cargo run` sets for this package would make build scripts run again.
    let own = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(own)) {
        command.env_remove(name);
    }
    let output = command.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the mutants do not compile:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// How a mutant was detected, if it was.
fn run(program: &Path, mutant: &Mutant, runs: u64) -> anyhow::Result<Option<String>> {
    let runs = runs.to_string();
    let mut command = Command::new(program);
    command.args(["find-violation", "--scenario", &mutant.scenario, "--runs", &runs]).env(ENVIRONMENT, &mutant.name);
    let Output { status, stdout, stderr } = command.output().context("cannot start the mutants")?;
    match status.code() {
        Some(0) => Ok(Some(String::from_utf8_lossy(&stdout).trim().to_owned())),
        Some(1) => Ok(None),
        _ => bail!("{} ended with {status}:\n{}", mutant.name, String::from_utf8_lossy(&stderr)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edit_of_every_mutant_applies() {
        let mutants = load().expect("the mutants");
        assert_eq!(mutants.len(), 17);
        copy::edited_files(workspace(), &mutants).expect("every `find` text occurs exactly once in its file");
    }

    #[test]
    fn every_mutant_names_a_scenario() {
        let scenarios = crate::scenario::all();
        for mutant in load().expect("the mutants") {
            assert!(scenarios.iter().any(|scenario| scenario.name == mutant.scenario), "{}", mutant.name);
        }
    }
}
