//! The commands that steps are made of, and where their output goes.

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, bail};
use kedge_test_cluster::cargo::{self, workspace};

/// Lowers the priority of commands that run in the background. They still get a share of a busy processor: else the steps at the
/// front would end long before them.
const NICE: &str = "nice";

/// Where the output of a step goes.
pub(super) enum Output {
    /// To the output of this program, at once.
    Streamed,
    /// Into this text, which is printed when the step is over.
    Kept(Mutex<String>),
}

/// A command of a step. Its text is what a user types to repeat it.
#[derive(Clone, Debug)]
pub(super) struct Invocation {
    program: &'static str,
    /// What is started, where that is not what a user types.
    executable: Option<PathBuf>,
    arguments: Vec<String>,
    environment: Vec<(&'static str, &'static str)>,
}

impl Invocation {
    pub(super) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new("cargo", arguments)
    }

    /// A task of this program. A build may replace its file later, so its path is read now.
    pub(super) fn xtask<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self { executable: env::current_exe().ok(), ..Self::new("cargo xtask", arguments) }
    }

    /// A program of the workspace, by its path there.
    pub(super) fn new<'a>(program: &'static str, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Self { program, executable: None, arguments, environment: Vec::new() }
    }

    pub(super) fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Adds arguments at the end.
    pub(super) fn extend<'a>(&mut self, arguments: impl IntoIterator<Item = &'a str>) {
        self.arguments.extend(arguments.into_iter().map(str::to_owned));
    }

    /// Runs the command; fails when it does.
    pub(super) fn run(&self, output: &Output) -> anyhow::Result<()> {
        let succeeded = match output {
            Output::Streamed => self.command().status().with_context(|| format!("cannot start `{self}`"))?,
            Output::Kept(text) => {
                let ran = self.background_command().output().with_context(|| format!("cannot start `{self}`"))?;
                let mut text = text.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                text.push_str(&String::from_utf8_lossy(&ran.stdout));
                text.push_str(&String::from_utf8_lossy(&ran.stderr));
                ran.status
            }
        };
        if !succeeded.success() {
            bail!("{succeeded}");
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = match (self.program, &self.executable) {
            (_, Some(executable)) => Command::new(executable),
            ("cargo", None) => cargo::command(&[]),
            (program, None) => Command::new(workspace().join(program)),
        };
        cargo::forget_own_package(&mut command);
        command.args(&self.arguments).envs(self.environment.iter().copied()).current_dir(workspace());
        command
    }

    fn background_command(&self) -> Command {
        let plain = self.command();
        let mut command = Command::new(NICE);
        command.arg("-n10").arg(plain.get_program()).args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(workspace()).stdin(Stdio::null());
        command
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(out, "{name}={value} ")?;
        }
        write!(out, "{}", self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(out, " {argument}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invocation_reads_as_it_is_typed() {
        let invocation = Invocation::cargo(["test", "--test", "cluster"]).env("KEDGE_TEST_PLANE", "embedded");
        assert_eq!(invocation.to_string(), "KEDGE_TEST_PLANE=embedded cargo test --test cluster");
        assert_eq!(Invocation::new("config/image/build", ["x"]).to_string(), "config/image/build x");
    }

    #[test]
    fn a_command_in_the_background_keeps_its_output_and_its_failure() {
        let output = Output::Kept(Mutex::default());
        let failing = Invocation::new("/bin/sh", ["-c", "echo out; echo err >&2; exit 3"]);
        let error = failing.run(&output).unwrap_err();
        assert_eq!(error.to_string(), "exit status: 3");
        let Output::Kept(text) = output else { unreachable!() };
        assert_eq!(text.into_inner().unwrap(), "out\nerr\n");
    }
}
