//! `kedge lint`: what admission would say of manifests, and some advice, without a cluster.
//!
//! | module | what it holds |
//! |---|---|
//! | `input`, `stream`, `document` | files, their documents, objects out of these, and where their fields stand |
//! | `shape`, `path`, `remedy` | what the API server itself would refuse, and what to do about it |
//! | `judge` | the rules of admission, with the other documents as neighbours |
//! | `repeated` | objects that stand twice in one file |
//! | `advice`, `annotations`, `parameters` | what only this command says |
//! | `rules` | all rules by name |
//! | `report` | what is said, and how much of it |
//! | `text`, `json`, `sarif`, `github` | the formats |

mod advice;
mod annotations;
mod document;
mod github;
mod input;
mod json;
pub(crate) mod judge;
mod parameters;
mod path;
mod remedy;
mod repeated;
mod report;
mod rules;
mod sarif;
mod shape;
mod stream;
mod text;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use kedge_webhooks::finding::{Finding, Rule, Severity};
use serde_json::Value;

use document::Document;
use input::{File, read_all};
use judge::{Judge, Tools};
use report::{Remark, Report};
use stream::Unreadable;

const EXAMPLES: &str = "\
Exit codes:
  0  nothing is wrong
  1  something is, as --fail-on says
  2  a file could not be read; the others were judged

Examples:
  kedge lint worker.yaml
  kedge lint manifests/*.yaml --format github
  helm template shop ./chart | kedge lint -
  kedge lint k8s/ --fail-on warning --format sarif > kedge.sarif
  kedge lint k8s/ --fail-on advice --ignore no-fallback,no-maximum
  kedge lint --rules";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// YAML files, folders with them, or - for standard input
    #[arg(required_unless_present = "rules")]
    files: Vec<PathBuf>,

    /// Rules that are not told, by name; may be given several times, or parted by commas
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rules::parse)]
    ignore: Vec<&'static Rule>,

    /// List all rules instead
    #[arg(long, conflicts_with = "files")]
    rules: bool,

    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// From what on the exit code is 1
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
    Github,
}

#[derive(Clone, Copy, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Advice,
    Never,
}

/// Room for the deepest document that is read, several times over; the parser takes some 40 KiB a level when it is not optimised.
const STACK_BYTES: usize = 32 << 20;

pub(crate) fn run(args: &Args) -> ExitCode {
    match with_room(|| lint(args)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Does work whose depth others decide.
fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let worker = worker.expect("a process can have a second thread");
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// All objects of files, folders or standard input, for commands that can do nothing with a part of them.
pub(crate) fn read_objects(paths: &[PathBuf]) -> anyhow::Result<Vec<Value>> {
    with_room(|| input::read_objects(paths))
}

/// `docs/reference/lint.md`.
pub(crate) fn reference() -> String {
    rules::page()
}

fn lint(args: &Args) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if args.rules {
        out.write_all(rules::text().as_bytes()).context("cannot write the rules")?;
        return Ok(ExitCode::SUCCESS);
    }
    let (files, failures) = read_all(&args.files);
    let mut report = judge_all(&Tools::new(), &files);
    report.remarks.retain(|remark| !args.ignore.contains(&remark.rule));
    let written = match args.format {
        Format::Text => text::write(&report, &mut out),
        Format::Json => json::write(&report, &mut out),
        Format::Sarif => sarif::write(&report, &mut out),
        Format::Github => github::write(&report, &mut out),
    };
    written.and_then(|()| out.flush()).context("cannot write what was found")?;
    failures.iter().for_each(|failure| eprintln!("error: {failure:#}"));
    Ok(match (failures.is_empty(), fails(&report, args.fail_on)) {
        (false, _) => ExitCode::from(2),
        (true, true) => ExitCode::FAILURE,
        (true, false) => ExitCode::SUCCESS,
    })
}

fn fails(report: &Report, fail_on: FailOn) -> bool {
    let worst = match fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Advice => Severity::Advice,
        FailOn::Never => return false,
    };
    report.remarks.iter().any(|remark| remark.rule.severity <= worst)
}

fn judge_all(tools: &Tools, files: &[File]) -> Report {
    let documents = files.iter().flat_map(|file| &file.contents.documents);
    let judge = Judge::knowing(tools, documents.map(|document| &document.object));
    let mut report = Report { files: files.len(), ..Report::default() };
    for file in files {
        let mut remarks = Vec::new();
        let mut repeated = repeated::find(&file.contents.documents);
        for (position, document) in file.contents.documents.iter().enumerate() {
            let Some(findings) = judge.judge(&document.object) else { continue };
            report.objects += 1;
            let findings = findings.into_iter().chain(repeated.remove(&position));
            remarks.extend(findings.map(|finding| remark(file, document, finding)));
        }
        remarks.extend(file.contents.unreadable.iter().map(|unreadable| unreadable_remark(file, unreadable)));
        remarks.sort_by_key(|remark| (remark.place, remark.rule.severity));
        report.remarks.extend(remarks);
    }
    report
}

fn remark(file: &File, document: &Document, finding: Finding) -> Remark {
    Remark {
        file: file.name.clone(),
        place: document.place(&finding.path),
        object: Some(name_of(&document.object)),
        rule: finding.rule,
        field: finding.path.to_string(),
        // KEDA has words of several lines.
        problem: finding.problem.replace('\n', ": "),
        remedy: finding.remedy,
    }
}

fn unreadable_remark(file: &File, unreadable: &Unreadable) -> Remark {
    Remark {
        file: file.name.clone(),
        place: unreadable.place,
        object: None,
        rule: unreadable.rule,
        field: String::new(),
        problem: unreadable.problem.clone(),
        remedy: unreadable.remedy.to_owned(),
    }
}

/// Kind, namespace if there is one, and name.
pub(crate) fn name_of(object: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let (kind, metadata) = (text(&object["kind"]), &object["metadata"]);
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    match (namespace.as_str(), name.as_str()) {
        (_, "") => format!("{kind} without a name"),
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}

#[cfg(test)]
mod tests;
