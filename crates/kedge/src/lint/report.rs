//! The diagnostics of all files, and their counts.

use kedge_webhooks::violation::{Rule, Severity};

use crate::manifests::document::Position;

/// A violation at a position of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Diagnostic {
    pub(super) file: String,
    pub(super) position: Position,
    /// Kind and name; none where the document is not an object.
    pub(super) object: Option<String>,
    pub(super) rule: &'static Rule,
    /// The field; empty for the object itself.
    pub(super) field: String,
    pub(super) problem: String,
    pub(super) remedy: String,
}

/// All diagnostics, in the order of files and lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) files: usize,
    /// The number of validated objects.
    pub(super) objects: usize,
    /// The files that could not be read, and why.
    pub(super) failures: Vec<String>,
}

/// A count with its noun.
pub(super) fn number(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl Diagnostic {
    /// One sentence, without the file.
    pub(super) fn message(&self) -> String {
        let parts = [self.object.as_deref().unwrap_or_default(), &self.field, &self.problem];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}; {}", parts.join(": "), self.remedy)
    }
}

impl Report {
    pub(super) fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.rule.severity == severity).count()
    }

    /// Whether there was nothing to check: neither an object nor a document that cannot be parsed.
    pub(super) fn is_empty(&self) -> bool {
        self.objects == 0 && self.diagnostics.is_empty() && self.failures.is_empty()
    }

    /// The counts in one line.
    pub(super) fn summary(&self) -> String {
        let advice = match self.count(Severity::Advice) {
            1 => "1 piece of advice".to_owned(),
            count => format!("{count} pieces of advice"),
        };
        format!(
            "{}, {}, {advice} in {} of {}",
            number(self.count(Severity::Error), "error"),
            number(self.count(Severity::Warning), "warning"),
            number(self.objects, "object"),
            number(self.files, "file"),
        )
    }
}
