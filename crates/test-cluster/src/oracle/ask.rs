//! Asks the program in `go/keda/oracle`, which builds KEDA's scalers.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, ensure};

use super::case::{Answer, Case, Recorded};
use super::sources::Sources;
use crate::tools::{self, Tool};

/// KEDA's answers to these cases, with the servers that run.
pub fn record(cases: Vec<Case>, sources: &Sources) -> anyhow::Result<Vec<Recorded>> {
    let filled: Vec<Case> = cases.iter().map(|case| sources.fill(case)).collect();
    let answers = ask(&filled)?;
    ensure!(answers.len() == cases.len(), "{} answers to {} cases", answers.len(), cases.len());
    let recorded = cases.into_iter().zip(answers).map(|(case, answer)| {
        ensure!(answer.name == case.name, "the answer to {:?} is named {:?}", case.name, answer.name);
        Ok(Recorded { case, keda: sources.conceal(answer) })
    });
    recorded.collect()
}

fn ask(cases: &[Case]) -> anyhow::Result<Vec<Answer>> {
    let mut lines = String::new();
    for case in cases {
        lines.push_str(&serde_json::to_string(case)?);
        lines.push('\n');
    }
    let mut child = Command::new(tools::path(Tool::KedaOracle)?)
        // Credentials of this machine are no part of a case.
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the oracle")?;
    let mut input = child.stdin.take().context("the oracle has no input")?;
    let writer = thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().ok().context("the writer died")??;
    ensure!(output.status.success(), "the oracle ended with {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    // Libraries of KEDA print, too; an answer is an object.
    let answers = text.lines().filter_map(|line| line.find("{\"name\":").map(|start| &line[start..]));
    answers.map(|line| serde_json::from_str(line).with_context(|| format!("no answer: {line}"))).collect()
}
