//! `kedge lint`: violations of manifests, as the API server and admission would report them, and advice, without a cluster.
//!
//! | module | what it holds |
//! |---|---|
//! | `report` | the diagnostics of all files, and their counts |
//! | `text`, `json`, `sarif`, `github` | the output formats |

mod github;
mod json;
mod report;
mod sarif;
mod text;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use kedge_webhooks::violation::{Severity, Violation};

use crate::manifests::document::Document;
use crate::manifests::files::{File, read_all};
use crate::manifests::stream::UnreadableDocument;
use crate::manifests::{name_of, with_large_stack};
use crate::validation::rules::{self, NamedRule};
use crate::validation::{ValidationContext, Validator, duplicates};
use report::{Diagnostic, Report};

const EXAMPLES: &str = "\
Exit codes:
  0  no violation that --fail-on names
  1  a violation that --fail-on names
  2  a file could not be read; the others were checked

Examples:
  kedge lint worker.yaml
  kedge lint manifests/*.yaml --format github
  helm template shop ./chart | kedge lint -
  kedge lint k8s/ --fail-on warning --format sarif > kedge.sarif
  kedge lint k8s/ --fail-on advice --ignore no-fallback,no-max-replicas
  kedge lint --rules";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Check these YAML files, folders of YAML files, or - for standard input
    #[arg(required_unless_present = "rules")]
    files: Vec<PathBuf>,

    /// Ignore these rules, by id; repeat the flag, or separate the ids by commas
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rules::parse)]
    ignore: Vec<NamedRule>,

    /// List all rules and exit
    #[arg(long, conflicts_with = "files")]
    rules: bool,

    /// Choose the output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Exit with code 1 from this severity on
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

pub(crate) fn run(args: &Args) -> ExitCode {
    match with_large_stack(|| lint(args)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn lint(args: &Args) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if args.rules {
        out.write_all(rules::text().as_bytes()).context("cannot write the rules")?;
        return Ok(ExitCode::SUCCESS);
    }
    for NamedRule { rule, former_id } in &args.ignore {
        if let Some(former) = former_id {
            eprintln!("notice: the rule {former} is now called {}; update --ignore", rule.id);
        }
    }
    let (files, failures) = read_all(&args.files);
    let mut report = validate_all(&ValidationContext::new(), &files);
    report.diagnostics.retain(|diagnostic| args.ignore.iter().all(|ignored| ignored.rule != diagnostic.rule));
    let written = match args.format {
        Format::Text => text::write(&report, &mut out),
        Format::Json => json::write(&report, &mut out),
        Format::Sarif => sarif::write(&report, &mut out),
        Format::Github => github::write(&report, &mut out),
    };
    written.and_then(|()| out.flush()).context("cannot write the report")?;
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
    report.diagnostics.iter().any(|diagnostic| diagnostic.rule.severity <= worst)
}

fn validate_all(context: &ValidationContext, files: &[File]) -> Report {
    let documents = files.iter().flat_map(|file| &file.contents.documents);
    let validator = Validator::with_objects(context, documents.map(|document| &document.object));
    let mut report = Report { files: files.len(), ..Report::default() };
    for file in files {
        let mut diagnostics = Vec::new();
        let mut duplicates = duplicates::find(&file.contents.documents);
        for (position, document) in file.contents.documents.iter().enumerate() {
            let Some(violations) = validator.validate(&document.object) else { continue };
            report.objects += 1;
            let violations = violations.into_iter().chain(duplicates.remove(&position));
            diagnostics.extend(violations.map(|violation| diagnostic(file, document, violation)));
        }
        diagnostics.extend(file.contents.unreadable.iter().map(|unreadable| unreadable_diagnostic(file, unreadable)));
        diagnostics.sort_by_key(|diagnostic| (diagnostic.position, diagnostic.rule.severity));
        report.diagnostics.extend(diagnostics);
    }
    report
}

fn diagnostic(file: &File, document: &Document, violation: Violation) -> Diagnostic {
    Diagnostic {
        file: file.name.clone(),
        position: document.position(&violation.path),
        object: Some(name_of(&document.object)),
        rule: violation.rule,
        field: violation.path.to_string(),
        // Some messages of KEDA have several lines.
        problem: violation.problem.replace('\n', ": "),
        remedy: violation.remedy,
    }
}

fn unreadable_diagnostic(file: &File, unreadable: &UnreadableDocument) -> Diagnostic {
    Diagnostic {
        file: file.name.clone(),
        position: unreadable.position,
        object: None,
        rule: unreadable.rule,
        field: String::new(),
        problem: unreadable.problem.clone(),
        remedy: unreadable.remedy.to_owned(),
    }
}

#[cfg(test)]
mod tests;
