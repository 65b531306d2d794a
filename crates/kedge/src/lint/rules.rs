//! All rules by name: those of admission, and those that only `kedge lint` has.

use std::fmt::Write as _;

use kedge_webhooks::finding::{Rule, Severity};
use kedge_webhooks::nearest::nearest;
use kedge_webhooks::rules::{ALL, requests, target};

use super::report::word;
use super::{advice, annotations, judge, parameters, repeated, shape, stream};

/// Those of `kedge lint` alone, in the order in which a text comes to be judged.
static OWN: [&Rule; 15] = [
    &stream::SYNTAX,
    &stream::KEY_TWICE,
    &stream::TOO_LARGE,
    &judge::VERSION_UNKNOWN,
    &judge::KIND_UNKNOWN,
    &shape::UNKNOWN_FIELD,
    &shape::SCHEMA,
    &repeated::OBJECT_TWICE,
    &parameters::PARAMETER_MISSPELT,
    &advice::SECRET_IN_METADATA,
    &advice::CREDENTIALS_IN_THE_CLEAR,
    &annotations::PAUSE_UNREADABLE,
    &annotations::ANNOTATION_MISSPELT,
    &advice::NO_FALLBACK,
    &advice::NO_MAXIMUM,
];

/// Rules of admission whose answer only a cluster has.
static OF_A_CLUSTER: [&Rule; 2] = [&target::KIND_UNKNOWN, &requests::TARGET_MISSING];

/// Every rule that can be told of a file.
pub(super) fn all() -> Vec<&'static Rule> {
    let offline = ALL.iter().copied().filter(|rule| !OF_A_CLUSTER.contains(rule));
    OWN.iter().copied().chain(offline).collect()
}

/// A rule by its name.
pub(super) fn parse(name: &str) -> Result<&'static Rule, String> {
    let rules = all();
    let found = rules.iter().copied().find(|rule| rule.id == name);
    found.ok_or_else(|| match nearest(name, rules.iter().map(|rule| rule.id)) {
        Some(meant) => format!("there is no such rule; write {meant}"),
        None => "there is no such rule; `kedge lint --rules` lists all".to_owned(),
    })
}

/// The list, for people.
pub(super) fn text() -> String {
    let rules = all();
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or_default();
    let mut list = String::new();
    for rule in rules {
        let _ = writeln!(list, "{:width$}  {:7}  {}", rule.id, word(rule.severity), rule.about);
    }
    list
}

const OPENING: &str = "\
# Rules of `kedge lint`

<!-- Written by `cargo xtask generate`. -->

Each can be told of a file alone; see [lint](../lint.md). An *error* is refused by the API server, by `kubectl` or by admission; a *warning* works, but does not do
what it seems to; *advice* is about what could be better. *Also at admission*: the webhooks say the same of an object that gets as far as them.

| rule | severity | what it is about | also at admission |
|---|---|---|---|
";

/// The page.
pub(super) fn page() -> String {
    let mut page = OPENING.to_owned();
    for rule in all() {
        let also = if ALL.contains(&rule) && rule.severity != Severity::Advice { "yes" } else { "" };
        let _ = writeln!(page, "| `{}` | {} | {} | {also} |", rule.id, word(rule.severity), rule.about);
    }
    page.push_str("\n## Only in a cluster\n\nThese rules of [admission](../admission.md) need what no file holds.\n\n| rule | what it is about |\n|---|---|\n");
    for rule in OF_A_CLUSTER {
        let _ = writeln!(page, "| `{}` | {} |", rule.id, rule.about);
    }
    page
}
