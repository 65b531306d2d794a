//! What names may look like, and how the API server says that one does not.

use std::sync::LazyLock;

use regex::Regex;

const LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

static IS_LABEL: LazyLock<Regex> = LazyLock::new(|| whole(LABEL));
static IS_SUBDOMAIN: LazyLock<Regex> = LazyLock::new(|| whole(SUBDOMAIN));

fn whole(pattern: &str) -> Regex {
    Regex::new(&format!("^{pattern}$")).expect("a constant pattern compiles")
}

/// What keeps a text from being a label that begins with a letter, if anything does.
pub(super) fn label_flaw(text: &str) -> Option<String> {
    let mut flaws = Vec::new();
    if text.len() > 63 {
        flaws.push("must be no more than 63 bytes".to_owned());
    }
    if !IS_LABEL.is_match(text) {
        flaws.push(format!(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, \
             and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{LABEL}')"
        ));
    }
    joined(&flaws)
}

/// The same for labels with dots between them.
pub(super) fn subdomain_flaws(text: &str) -> Vec<String> {
    let mut flaws = Vec::new();
    if text.len() > 253 {
        flaws.push("must be no more than 253 bytes".to_owned());
    }
    if !IS_SUBDOMAIN.is_match(text) {
        flaws.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and \
             end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
        ));
    }
    flaws
}

pub(super) fn joined(flaws: &[String]) -> Option<String> {
    (!flaws.is_empty()).then(|| flaws.join(","))
}
