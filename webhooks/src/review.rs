//! The questions of the API server, and our answers: `AdmissionReview`, in the version in which it was asked.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::finding::{Finding, Severity};
use crate::lookups::Failure;
use crate::rules::requests::TARGET_MISSING;
use crate::rules::surprises::{COOLDOWN_UNUSED, POLLING_UNUSED};

/// How many findings an answer tells, and how many warnings: more help nobody.
const TOLD_MAX: usize = 25;

/// The longest text of one finding; a manifest may hold anything.
const TEXT_CHARS_MAX: usize = 1000;

const VERSION: &str = "admission.k8s.io/v1";
const VERSIONS: [&str; 2] = [VERSION, "admission.k8s.io/v1beta1"];

/// A question, with its envelope.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    #[serde(default)]
    api_version: String,
    pub request: Option<Request>,
}

impl Review {
    /// The version to answer in.
    pub fn version(&self) -> &'static str {
        VERSIONS.into_iter().find(|version| *version == self.api_version).unwrap_or(VERSION)
    }
}

/// A question.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub uid: String,
    pub operation: String,
    #[serde(default)]
    pub namespace: String,
    #[serde(default)]
    pub name: String,
    pub object: Option<Box<RawValue>>,
    pub old_object: Option<Box<RawValue>>,
    /// Missing means no.
    pub dry_run: Option<bool>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow { warnings: Vec<String> },
    Deny { code: u16, reason: String, message: String },
}

impl Verdict {
    pub fn allow() -> Self {
        Self::Allow { warnings: Vec::new() }
    }

    /// What cannot be read.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::Deny { code: 400, reason: "BadRequest".to_owned(), message: message.into() }
    }

    pub fn failed(failure: Failure) -> Self {
        Self::Deny { code: failure.code, reason: failure.reason, message: failure.message }
    }

    /// What the findings of all rules come to.
    pub fn of(findings: &[Finding]) -> Self {
        let of = |severity: Severity| findings.iter().filter(move |finding| finding.rule.severity == severity);
        if of(Severity::Error).next().is_none() {
            return Self::Allow { warnings: of(Severity::Warning).take(TOLD_MAX).map(warning).collect() };
        }
        let message = list(of(Severity::Error).map(denial));
        // KEDA: hands on the answer of the API server, which is that there is no such thing.
        match of(Severity::Error).all(|finding| finding.rule == &TARGET_MISSING) {
            true => Self::Deny { code: 404, reason: "NotFound".to_owned(), message },
            false => Self::Deny { code: 403, reason: "Forbidden".to_owned(), message },
        }
    }
}

/// One text a line, and how many are left out.
fn list(texts: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = texts.collect();
    let mut lines: Vec<String> = all.iter().take(TOLD_MAX).cloned().collect();
    if all.len() > TOLD_MAX {
        lines.push(format!("and {} more", all.len() - TOLD_MAX));
    }
    lines.join("\n")
}

/// A denial begins with KEDA's words, where it has any.
fn denial(finding: &Finding) -> String {
    shorten(&format!("{}; {} ({})", finding.problem, finding.remedy, finding.path))
}

/// A warning is one line of printable text: it is sent in a header.
fn warning(finding: &Finding) -> String {
    // KEDA: these two are told in its words and no others.
    let is_kedas = [&POLLING_UNUSED, &COOLDOWN_UNUSED].contains(&finding.rule);
    let text = if is_kedas { finding.problem.clone() } else { denial(finding) };
    shorten(&text).replace(char::is_control, " ")
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// An answer, with its envelope.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer<'a> {
    kind: &'static str,
    api_version: &'static str,
    response: Response<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    status: Status<'a>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct Status<'a> {
    metadata: Metadata,
    code: u16,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
}

#[derive(Debug, Serialize)]
struct Metadata {}

impl<'a> Answer<'a> {
    pub fn new(version: &'static str, uid: &'a str, verdict: &'a Verdict) -> Self {
        let status = |code, reason, message| Status { metadata: Metadata {}, code, reason, message };
        let response = match verdict {
            Verdict::Allow { warnings } => Response { uid, allowed: true, status: status(200, "", ""), warnings },
            Verdict::Deny { code, reason, message } => {
                Response { uid, allowed: false, status: status(*code, reason, message), warnings: &[] }
            }
        };
        Self { kind: "AdmissionReview", api_version: version, response }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::finding::FieldPath;
    use crate::rules::kinds::TYPE_UNKNOWN;
    use crate::rules::replicas::IDLE_NOT_BELOW_MIN;
    use crate::rules::surprises::COOLDOWN_GATES_LAST_STEP;

    fn finding(rule: &'static crate::finding::Rule, problem: &str) -> Finding {
        Finding::new(rule, FieldPath::of("spec.x"), problem, "mend it")
    }

    fn sent(version: &'static str, verdict: &Verdict) -> Value {
        serde_json::to_value(Answer::new(version, "u", verdict)).unwrap()
    }

    #[test]
    fn findings_become_one_verdict() {
        let (denied, missing) = (finding(&IDLE_NOT_BELOW_MIN, "too many"), finding(&TARGET_MISSING, "no such thing"));
        let (warned, own) = (finding(&TYPE_UNKNOWN, "two\nlines"), finding(&COOLDOWN_UNUSED, "KEDA says"));
        let advised = finding(&COOLDOWN_GATES_LAST_STEP, "not told");
        let deny =
            |code, reason: &str, message: &str| Verdict::Deny { code, reason: reason.into(), message: message.into() };
        let rows = [
            ("nothing", vec![], Verdict::allow()),
            ("advice", vec![advised], Verdict::allow()),
            (
                "warnings",
                vec![warned.clone(), own],
                Verdict::Allow { warnings: vec!["two lines; mend it (spec.x)".into(), "KEDA says".into()] },
            ),
            (
                "an error drops warnings",
                vec![warned, denied.clone()],
                deny(403, "Forbidden", "too many; mend it (spec.x)"),
            ),
            (
                "only the target is missing",
                vec![missing.clone()],
                deny(404, "NotFound", "no such thing; mend it (spec.x)"),
            ),
            (
                "the target is missing, among others",
                vec![missing, denied],
                deny(403, "Forbidden", "no such thing; mend it (spec.x)\ntoo many; mend it (spec.x)"),
            ),
        ];
        for (name, findings, expected) in rows {
            assert_eq!(Verdict::of(&findings), expected, "{name}");
        }
    }

    #[test]
    fn an_answer_does_not_grow_without_end() {
        let long = "x".repeat(10_000);
        let findings: Vec<Finding> = (0..100).map(|_| finding(&IDLE_NOT_BELOW_MIN, &long)).collect();
        let Verdict::Deny { message, .. } = Verdict::of(&findings) else { panic!("it is denied") };
        assert!(message.len() < 30_000 && message.ends_with("\nand 75 more"), "{}", message.len());
    }

    #[test]
    fn answers_have_the_shape_that_the_api_server_expects() {
        let warned = Verdict::Allow { warnings: vec!["careful".to_owned()] };
        assert_eq!(
            sent(VERSION, &warned),
            json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {
                "uid": "u", "allowed": true, "status": { "metadata": {}, "code": 200 }, "warnings": ["careful"] } })
        );
        assert_eq!(
            sent("admission.k8s.io/v1beta1", &Verdict::unreadable("what?")),
            json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "response": {
                "uid": "u", "allowed": false, "status": { "metadata": {}, "code": 400, "reason": "BadRequest", "message": "what?" } } })
        );
    }

    #[test]
    fn a_question_is_answered_in_its_own_version() {
        let rows = [
            ("admission.k8s.io/v1", "admission.k8s.io/v1"),
            ("admission.k8s.io/v1beta1", "admission.k8s.io/v1beta1"),
            ("admission.k8s.io/v2", "admission.k8s.io/v1"),
            ("", "admission.k8s.io/v1"),
        ];
        for (asked, answered) in rows {
            let review: Review = serde_json::from_value(json!({ "apiVersion": asked })).unwrap();
            assert_eq!(review.version(), answered);
        }
    }
}
