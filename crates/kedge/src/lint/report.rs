//! What is said of the files, and how much of it there is.

use kedge_webhooks::finding::{Rule, Severity};

use super::document::Place;

/// One thing that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    pub(super) file: String,
    pub(super) place: Place,
    /// Kind and name; none where the text is not even an object.
    pub(super) object: Option<String>,
    pub(super) rule: &'static Rule,
    /// The field; empty for the whole.
    pub(super) field: String,
    pub(super) problem: String,
    pub(super) remedy: String,
}

/// All of it, in the order of files and lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    pub(super) remarks: Vec<Remark>,
    pub(super) files: usize,
    /// Objects that were judged.
    pub(super) objects: usize,
}

impl Remark {
    /// In one sentence, without the file.
    pub(super) fn message(&self) -> String {
        let parts = [self.object.as_deref().unwrap_or_default(), &self.field, &self.problem];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}; {}", parts.join(": "), self.remedy)
    }
}

impl Report {
    pub(super) fn count(&self, severity: Severity) -> usize {
        self.remarks.iter().filter(|remark| remark.rule.severity == severity).count()
    }

    /// How much there is of what.
    pub(super) fn summary(&self) -> String {
        let number = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
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

/// The word for it.
pub(super) fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "advice",
    }
}
