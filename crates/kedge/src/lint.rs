//! `kedge lint`: what admission would say of manifests, and some advice, without a cluster.
//!
//! | module | what it holds |
//! |---|---|
//! | `document` | objects out of YAML, and where their fields stand |
//! | `shape` | what the API server itself would refuse |
//! | `judge` | the rules of admission, with the other documents as neighbours |
//! | `advice` | what only this command says |
//! | `report` | what is said, and how much of it |
//! | `text`, `json`, `sarif`, `github` | the formats |

mod advice;
mod document;
mod github;
mod json;
pub(crate) mod judge;
mod report;
mod sarif;
mod shape;
mod text;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;
use kedge_webhooks::finding::{Finding, Rule, Severity};
use serde_json::Value;

use document::{Document, Unreadable};
use judge::Judge;
use report::{Remark, Report};

const EXAMPLES: &str = "\
Exit codes:
  0  nothing is wrong
  1  something is, as --fail-on says
  2  a file could not be read

Examples:
  kedge lint worker.yaml
  kedge lint manifests/*.yaml --format github
  helm template shop ./chart | kedge lint -
  kedge lint k8s/ --fail-on warning --format sarif > kedge.sarif";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// YAML files, folders with them, or - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

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

static SYNTAX: Rule = Rule {
    id: "yaml-syntax",
    severity: Severity::Error,
    about: "A text that is not YAML, from there on.",
    counted_as: None,
};

/// What was read of one file.
struct File {
    name: String,
    documents: Vec<Document>,
    unreadable: Option<Unreadable>,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    match lint(args) {
        Ok(report) if fails(&report, args.fail_on) => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn lint(args: &Args) -> anyhow::Result<Report> {
    let files = read_all(&args.files)?;
    let report = judge_all(&files);
    let mut out = std::io::stdout().lock();
    let written = match args.format {
        Format::Text => text::write(&report, &mut out),
        Format::Json => json::write(&report, &mut out),
        Format::Sarif => sarif::write(&report, &mut out),
        Format::Github => github::write(&report, &mut out),
    };
    written.and_then(|()| out.flush()).context("cannot write what was found")?;
    Ok(report)
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

fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let inside = yaml_files(path)?;
            if inside.is_empty() {
                bail!("there are no .yaml or .yml files in {}", path.display());
            }
            for path in inside {
                files.push(read_file(&path)?);
            }
        } else {
            files.push(read_file(path)?);
        }
    }
    Ok(files)
}

/// All objects of these files, for commands that can do nothing with a part of them.
pub(crate) fn read_objects(paths: &[PathBuf]) -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for file in read_all(paths)? {
        if let Some(Unreadable { place, problem }) = &file.unreadable {
            bail!("{}:{}:{}: {problem}; correct it", file.name, place.line, place.column);
        }
        objects.extend(file.documents.into_iter().map(|document| document.object));
    }
    Ok(objects)
}

/// The YAML files of a folder and of those in it, in order.
fn yaml_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(yaml_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    Ok(files)
}

fn read_file(path: &Path) -> anyhow::Result<File> {
    let (name, text) = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        ("<stdin>".to_owned(), text)
    } else {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        (path.display().to_string(), text)
    };
    let (documents, unreadable) = document::read(&text);
    Ok(File { name, documents, unreadable })
}

fn judge_all(files: &[File]) -> Report {
    let judge = Judge::knowing(files.iter().flat_map(|file| &file.documents).map(|document| &document.object));
    let mut report = Report { files: files.len(), ..Report::default() };
    for file in files {
        let mut remarks = Vec::new();
        for document in &file.documents {
            let Some(findings) = judge.judge(&document.object) else { continue };
            report.objects += 1;
            remarks.extend(findings.into_iter().map(|finding| remark(file, document, finding)));
        }
        remarks.extend(file.unreadable.iter().map(|unreadable| unreadable_remark(file, unreadable)));
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
        problem: finding.problem,
        remedy: finding.remedy,
    }
}

fn unreadable_remark(file: &File, unreadable: &Unreadable) -> Remark {
    Remark {
        file: file.name.clone(),
        place: unreadable.place,
        object: None,
        rule: &SYNTAX,
        field: String::new(),
        problem: unreadable.problem.clone(),
        remedy: "correct it; what follows is not looked at".to_owned(),
    }
}

/// Kind, namespace if there is one, and name.
pub(crate) fn name_of(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, metadata) = (text(&object["kind"]), &object["metadata"]);
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}
