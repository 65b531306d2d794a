//! The report of a cluster before its migration, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::manifests::name_of;

/// What an issue means for the migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Kedge does not support this.
    WouldNotWork,
    /// It works after the remedy is applied.
    ToDo,
}

/// An issue of an object: the field, the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Issue {
    pub(super) verdict: Verdict,
    pub(super) object: String,
    /// Empty for the object itself.
    pub(super) field: String,
    pub(super) problem: String,
    pub(super) remedy: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// The facts about the installation.
    pub(super) facts: Vec<String>,
    pub(super) issues: Vec<Issue>,
    /// The number of checked objects of KEDA.
    pub(super) objects: usize,
}

impl Report {
    /// Whether the migration can begin.
    pub(super) fn is_clear(&self) -> bool {
        self.count(Verdict::WouldNotWork) == 0
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.of(verdict).count()
    }

    fn of(&self, verdict: Verdict) -> impl Iterator<Item = &Issue> {
        self.issues.iter().filter(move |issue| issue.verdict == verdict)
    }

    fn summary(&self) -> String {
        let in_the_way = match self.count(Verdict::WouldNotWork) {
            0 => "nothing is in the way".to_owned(),
            1 => "1 thing would not work".to_owned(),
            count => format!("{count} things would not work"),
        };
        let to_do = match self.count(Verdict::ToDo) {
            0 => "nothing is to be done first".to_owned(),
            1 => "1 thing is to be done first".to_owned(),
            count => format!("{count} things are to be done first"),
        };
        format!("{in_the_way}, {to_do}; {} objects checked", self.objects)
    }
}

/// The object of an issue.
pub(super) struct Subject<'a> {
    pub(super) verdict: Verdict,
    pub(super) object: &'a Value,
}

impl Subject<'_> {
    pub(super) fn issue(&self, field: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Issue {
        Issue {
            verdict: self.verdict,
            object: name_of(self.object),
            field: field.to_owned(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// Text: the facts, what would not work, what to do first, and the counts.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    for fact in &report.facts {
        let _ = writeln!(text, "{fact}");
    }
    for (verdict, title) in [(Verdict::WouldNotWork, "Would not work"), (Verdict::ToDo, "To be done first")] {
        if report.count(verdict) > 0 {
            let _ = writeln!(text, "\n{title}:");
        }
        for issue in report.of(verdict) {
            let Issue { object, field, problem, remedy, .. } = issue;
            let place = if field.is_empty() { object.clone() } else { format!("{object}: {field}") };
            let _ = writeln!(text, "  {place}: {problem}\n    {remedy}");
        }
    }
    let _ = writeln!(text, "\n{}", report.summary());
    text
}

/// JSON.
pub(super) fn json(report: &Report) -> Value {
    let issue = |issue: &Issue| {
        json!({
            "verdict": match issue.verdict {
                Verdict::WouldNotWork => "wouldNotWork",
                Verdict::ToDo => "toDo",
            },
            "object": issue.object,
            "field": issue.field,
            "problem": issue.problem,
            "remedy": issue.remedy,
        })
    };
    json!({
        "facts": report.facts,
        "findings": report.issues.iter().map(issue).collect::<Vec<_>>(),
        "summary": {
            "objects": report.objects,
            "wouldNotWork": report.count(Verdict::WouldNotWork),
            "toDo": report.count(Verdict::ToDo),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let issue = |verdict, field: &str| Issue {
            verdict,
            object: "ScaledJob shop/mail".to_owned(),
            field: field.to_owned(),
            problem: "is not run".to_owned(),
            remedy: "keep KEDA".to_owned(),
        };
        let issues = vec![issue(Verdict::WouldNotWork, ""), issue(Verdict::ToDo, "spec"), issue(Verdict::ToDo, "")];
        Report { facts: vec!["KEDA is here".to_owned()], issues, objects: 4 }
    }

    #[test]
    fn the_text_has_groups_and_a_summary() {
        let expected = "\
KEDA is here

Would not work:
  ScaledJob shop/mail: is not run
    keep KEDA

To be done first:
  ScaledJob shop/mail: spec: is not run
    keep KEDA
  ScaledJob shop/mail: is not run
    keep KEDA

1 thing would not work, 2 things are to be done first; 4 objects checked
";
        assert_eq!(text(&report()), expected);
        assert_eq!(
            text(&Report::default()),
            "\nnothing is in the way, nothing is to be done first; 0 objects checked\n"
        );
    }

    #[test]
    fn the_json_has_every_field() {
        let json = json(&report());
        assert_eq!(json["summary"], json!({ "objects": 4, "wouldNotWork": 1, "toDo": 2 }));
        assert_eq!(json["findings"][1]["field"], "spec");
        assert_eq!(json["findings"][0]["verdict"], "wouldNotWork");
    }

    #[test]
    fn only_what_would_not_work_blocks() {
        let mut report = report();
        assert!(!report.is_clear());
        report.issues.remove(0);
        assert!(report.is_clear());
    }
}
