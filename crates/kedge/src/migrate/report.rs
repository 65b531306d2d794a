//! What is said of a cluster before it changes hands, and how it is written.

use std::fmt::Write;

use serde_json::{Value, json};

/// What a finding means for the take-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Kedge does not do this, whatever is done.
    WouldNotWork,
    /// It works, once something is done.
    ToDo,
}

/// One thing that is said: of which object, which of its fields, what is the matter, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    pub(super) object: String,
    /// Empty for the whole.
    pub(super) field: String,
    pub(super) problem: String,
    pub(super) remedy: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// What there is, in sentences.
    pub(super) facts: Vec<String>,
    pub(super) findings: Vec<Finding>,
    /// How many objects of KEDA were looked at.
    pub(super) objects: usize,
}

impl Report {
    /// Whether nothing is in the way.
    pub(super) fn is_clear(&self) -> bool {
        self.count(Verdict::WouldNotWork) == 0
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.of(verdict).count()
    }

    fn of(&self, verdict: Verdict) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.verdict == verdict)
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
        format!("{in_the_way}, {to_do}; {} objects looked at", self.objects)
    }
}

/// For people: what there is, what would not work, what is to be done, and how much of it there is.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    for fact in &report.facts {
        let _ = writeln!(text, "{fact}");
    }
    for (verdict, title) in [(Verdict::WouldNotWork, "Would not work"), (Verdict::ToDo, "To be done first")] {
        if report.count(verdict) > 0 {
            let _ = writeln!(text, "\n{title}:");
        }
        for finding in report.of(verdict) {
            let Finding { object, field, problem, remedy, .. } = finding;
            let place = if field.is_empty() { object.clone() } else { format!("{object}: {field}") };
            let _ = writeln!(text, "  {place}: {problem}\n    {remedy}");
        }
    }
    let _ = writeln!(text, "\n{}", report.summary());
    text
}

/// For programs.
pub(super) fn json(report: &Report) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "verdict": match finding.verdict {
                Verdict::WouldNotWork => "wouldNotWork",
                Verdict::ToDo => "toDo",
            },
            "object": finding.object,
            "field": finding.field,
            "problem": finding.problem,
            "remedy": finding.remedy,
        })
    };
    json!({
        "facts": report.facts,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
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
        let finding = |verdict, field: &str| Finding {
            verdict,
            object: "ScaledJob shop/mail".to_owned(),
            field: field.to_owned(),
            problem: "is not run".to_owned(),
            remedy: "keep KEDA".to_owned(),
        };
        let findings =
            vec![finding(Verdict::WouldNotWork, ""), finding(Verdict::ToDo, "spec"), finding(Verdict::ToDo, "")];
        Report { facts: vec!["KEDA is here".to_owned()], findings, objects: 4 }
    }

    #[test]
    fn people_read_groups_and_a_summary() {
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

1 thing would not work, 2 things are to be done first; 4 objects looked at
";
        assert_eq!(text(&report()), expected);
        assert_eq!(
            text(&Report::default()),
            "\nnothing is in the way, nothing is to be done first; 0 objects looked at\n"
        );
    }

    #[test]
    fn programs_read_every_field() {
        let json = json(&report());
        assert_eq!(json["summary"], json!({ "objects": 4, "wouldNotWork": 1, "toDo": 2 }));
        assert_eq!(json["findings"][1]["field"], "spec");
        assert_eq!(json["findings"][0]["verdict"], "wouldNotWork");
    }

    #[test]
    fn only_what_would_not_work_is_in_the_way() {
        let mut report = report();
        assert!(!report.is_clear());
        report.findings.remove(0);
        assert!(report.is_clear());
    }
}
