//! What the commands share: their exit codes, and an output whose reader may go away.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Context;

/// How a command ended that did its work. One that could not returns an error, and exits with 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Clear,
    /// Exit code 1: what it was to find.
    Findings,
}

impl Outcome {
    /// Findings, if there are any.
    pub(crate) fn from_findings(any: bool) -> Self {
        if any { Self::Findings } else { Self::Clear }
    }
}

/// The exit code; an error is printed.
pub(crate) fn exit_code(done: anyhow::Result<Outcome>) -> ExitCode {
    match done {
        Ok(Outcome::Clear) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Prints a text.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(|out| out.write_all(text.as_bytes()))
}

/// Writes to standard output. A reader that closes the pipe has read enough, as in `kedge lint k8s/ | head`.
pub(crate) fn write(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}
