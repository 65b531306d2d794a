//! `AdmissionReview`: requests of the API server, and responses in the version of the request.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::lookups::Failure;
use crate::rules::ineffective::{UNUSED_COOLDOWN_PERIOD, UNUSED_POLLING_INTERVAL};
use crate::rules::resource_requests::MISSING_TARGET;
use crate::violation::{Severity, Violation};

/// How many denials a response lists, and how many warnings: longer lists are not read.
const VIOLATIONS_MAX: usize = 25;

/// The longest text of one violation: it may quote a value of any length.
const TEXT_CHARS_MAX: usize = 1000;

const VERSION: &str = "admission.k8s.io/v1";
const VERSIONS: [&str; 2] = [VERSION, "admission.k8s.io/v1beta1"];

/// A review as it is received.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    #[serde(default)]
    api_version: String,
    pub request: Option<Request>,
}

impl Review {
    /// The version of the response.
    pub fn version(&self) -> &'static str {
        VERSIONS.into_iter().find(|version| *version == self.api_version).unwrap_or(VERSION)
    }
}

/// The request of a review.
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

/// The outcome of admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow { warnings: Vec<String> },
    Deny { code: u16, reason: String, message: String },
}

impl Verdict {
    pub fn allow() -> Self {
        Self::Allow { warnings: Vec::new() }
    }

    /// Denies a review or an object that cannot be decoded.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::Deny { code: 400, reason: "BadRequest".to_owned(), message: message.into() }
    }

    pub fn failed(failure: Failure) -> Self {
        Self::Deny { code: failure.code, reason: failure.reason, message: failure.message }
    }

    /// The outcome of all violations together: errors deny, and warnings are returned only with an admitted object.
    pub fn from_violations(violations: &[Violation]) -> Self {
        let of = |severity: Severity| violations.iter().filter(move |violation| violation.rule.severity == severity);
        if of(Severity::Error).next().is_none() {
            return Self::Allow { warnings: of(Severity::Warning).take(VIOLATIONS_MAX).map(warning).collect() };
        }
        let message = list(of(Severity::Error).map(denial));
        // KEDA: returns the NotFound of the API server.
        match of(Severity::Error).all(|violation| violation.rule == &MISSING_TARGET) {
            true => Self::Deny { code: 404, reason: "NotFound".to_owned(), message },
            false => Self::Deny { code: 403, reason: "Forbidden".to_owned(), message },
        }
    }
}

/// One text per line, and the number of those left out.
fn list(texts: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = texts.collect();
    let mut lines: Vec<String> = all.iter().take(VIOLATIONS_MAX).cloned().collect();
    if all.len() > VIOLATIONS_MAX {
        lines.push(format!("and {} more", all.len() - VIOLATIONS_MAX));
    }
    lines.join("\n")
}

/// A denial begins with KEDA's message, where KEDA has one.
fn denial(violation: &Violation) -> String {
    shorten(&format!("{}; {} ({})", violation.problem, violation.remedy, violation.path))
}

/// A warning is one line of printable text: it is sent in a header.
fn warning(violation: &Violation) -> String {
    // KEDA: these two warnings are its own, without a remedy.
    let is_kedas = [&UNUSED_POLLING_INTERVAL, &UNUSED_COOLDOWN_PERIOD].contains(&violation.rule);
    let text = if is_kedas { violation.problem.clone() } else { denial(violation) };
    shorten(&text).replace(char::is_control, " ")
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// A review as it is sent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewResponse<'a> {
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

impl<'a> ReviewResponse<'a> {
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
    use crate::rules::ineffective::COOLDOWN_GATES_LAST_STEP;
    use crate::rules::replicas::IDLE_NOT_BELOW_MIN;
    use crate::rules::trigger_types::UNKNOWN_TRIGGER_TYPE;
    use crate::violation::FieldPath;

    fn violation(rule: &'static crate::violation::Rule, problem: &str) -> Violation {
        Violation::new(rule, FieldPath::new("spec.x"), problem, "fix it")
    }

    fn sent(version: &'static str, verdict: &Verdict) -> Value {
        serde_json::to_value(ReviewResponse::new(version, "u", verdict)).unwrap()
    }

    #[test]
    fn violations_become_one_verdict() {
        let (denied, missing) =
            (violation(&IDLE_NOT_BELOW_MIN, "too many"), violation(&MISSING_TARGET, "no such thing"));
        let (warned, own) =
            (violation(&UNKNOWN_TRIGGER_TYPE, "two\nlines"), violation(&UNUSED_COOLDOWN_PERIOD, "KEDA says"));
        let advised = violation(&COOLDOWN_GATES_LAST_STEP, "not returned");
        let deny =
            |code, reason: &str, message: &str| Verdict::Deny { code, reason: reason.into(), message: message.into() };
        let rows = [
            ("nothing", vec![], Verdict::allow()),
            ("advice", vec![advised], Verdict::allow()),
            (
                "warnings",
                vec![warned.clone(), own],
                Verdict::Allow { warnings: vec!["two lines; fix it (spec.x)".into(), "KEDA says".into()] },
            ),
            (
                "an error drops warnings",
                vec![warned, denied.clone()],
                deny(403, "Forbidden", "too many; fix it (spec.x)"),
            ),
            (
                "only the target is missing",
                vec![missing.clone()],
                deny(404, "NotFound", "no such thing; fix it (spec.x)"),
            ),
            (
                "the target is missing, among others",
                vec![missing, denied],
                deny(403, "Forbidden", "no such thing; fix it (spec.x)\ntoo many; fix it (spec.x)"),
            ),
        ];
        for (name, violations, expected) in rows {
            assert_eq!(Verdict::from_violations(&violations), expected, "{name}");
        }
    }

    #[test]
    fn a_denial_has_a_maximum_length() {
        let long = "x".repeat(10_000);
        let violations: Vec<Violation> = (0..100).map(|_| violation(&IDLE_NOT_BELOW_MIN, &long)).collect();
        let Verdict::Deny { message, .. } = Verdict::from_violations(&violations) else { panic!("it is denied") };
        assert!(message.len() < 30_000 && message.ends_with("\nand 75 more"), "{}", message.len());
    }

    #[test]
    fn responses_have_the_fields_that_the_api_server_expects() {
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
    fn a_response_has_the_version_of_its_request() {
        let rows = [
            ("admission.k8s.io/v1", "admission.k8s.io/v1"),
            ("admission.k8s.io/v1beta1", "admission.k8s.io/v1beta1"),
            ("admission.k8s.io/v2", "admission.k8s.io/v1"),
            ("", "admission.k8s.io/v1"),
        ];
        for (requested, returned) in rows {
            let review: Review = serde_json::from_value(json!({ "apiVersion": requested })).unwrap();
            assert_eq!(review.version(), returned);
        }
    }
}
