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

use std::path::PathBuf;

use clap::ValueEnum;
use kedge_webhooks::violation::{Severity, Violation};

use crate::manifests::document::Document;
use crate::manifests::files::{File, read_all};
use crate::manifests::stream::UnreadableDocument;
use crate::manifests::{name_of, with_large_stack};
use crate::outcome::{self, Outcome};
use crate::validation::rules::{self, NamedRule};
use crate::validation::{QUOTE_IT, ValidationContext, Validator, duplicates, quote_remedy};
use report::{Diagnostic, Report, number};

/// Why a run that checked nothing fails: in a pipe, the command before it may have failed.
const NOTHING_CHECKED: &str =
    "nothing was checked: there is no object of keda.sh (if that is expected, give --allow-empty)";

const EXAMPLES: &str = "\
Exit codes:
  0  no violation that --fail-on names
  1  a violation that --fail-on names
  2  a file could not be read, or no file has an object of KEDA; the others were checked

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
    /// Check these YAML or JSON files, folders of such files, or - for standard input
    #[arg(required_unless_present = "rules")]
    files: Vec<PathBuf>,

    /// Ignore these rules, by id; repeat the flag, or separate the ids by commas
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rules::parse)]
    ignore: Vec<NamedRule>,

    /// Do not fail where the files have no object of KEDA
    #[arg(long)]
    allow_empty: bool,

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

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    with_large_stack(|| lint(args))
}

fn lint(args: &Args) -> anyhow::Result<Outcome> {
    if args.rules {
        return outcome::print(&rules::text()).map(|()| Outcome::Clear);
    }
    for NamedRule { rule, former_id } in &args.ignore {
        if let Some(former) = former_id {
            eprintln!("notice: the rule {former} is now called {}; update --ignore", rule.id);
        }
    }
    let (files, failures) = read_all(&args.files);
    let mut report = validate_all(&ValidationContext::new(), &files);
    report.failures = failures.iter().map(|failure| format!("{failure:#}")).collect();
    if report.is_empty() && !args.allow_empty {
        report.failures.push(format!("{NOTHING_CHECKED} in {}", number(report.files, "file")));
    }
    report.diagnostics.retain(|diagnostic| args.ignore.iter().all(|ignored| ignored.rule != diagnostic.rule));
    outcome::write(|out| match args.format {
        Format::Text => text::write(&report, out),
        Format::Json => json::write(&report, out),
        Format::Sarif => sarif::write(&report, out),
        Format::Github => github::write(&report, out),
    })?;
    match report.failures.as_slice() {
        [] => Ok(Outcome::from_findings(fails(&report, args.fail_on))),
        failures => Err(anyhow::anyhow!("{}", failures.join("\nerror: "))),
    }
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
    let violation = as_written(document, violation);
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

/// A remedy that quotes a value quotes it as it is written: `010` and `no` are other values for YAML.
fn as_written(document: &Document, violation: Violation) -> Violation {
    match document.written(&violation.path) {
        Some(written) if violation.remedy.starts_with(QUOTE_IT) => {
            Violation { remedy: quote_remedy(written), ..violation }
        }
        _ => violation,
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
