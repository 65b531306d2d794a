//! All rules by id: those of admission, and those that only `kedge lint` has.

use std::fmt::Write as _;

use kedge_webhooks::nearest::nearest;
use kedge_webhooks::rules::{ALL, resource_requests, target};
use kedge_webhooks::violation::{Rule, Severity};

use super::{advice, annotations, duplicates, parameters, schema, validator};
use crate::manifests::stream;

/// The rules that only `kedge lint` has, in the order in which they are checked.
static LINT_ONLY: [&Rule; 18] = [
    &stream::SYNTAX,
    &stream::DUPLICATE_KEY,
    &stream::TOO_LARGE,
    &validator::UNKNOWN_API_VERSION,
    &validator::UNKNOWN_KIND,
    &schema::UNKNOWN_FIELD,
    &schema::SCHEMA,
    &duplicates::DUPLICATE_OBJECT,
    &advice::UNSUPPORTED_KIND,
    &advice::UNSUPPORTED_STORE,
    &parameters::MISSPELLED_PARAMETER,
    &advice::SECRET_IN_METADATA,
    &advice::CREDENTIALS_WITHOUT_TLS,
    &advice::DENIED_DESTINATION,
    &annotations::INVALID_PAUSED_REPLICAS,
    &annotations::MISSPELLED_ANNOTATION,
    &advice::NO_FALLBACK,
    &advice::NO_MAX_REPLICAS,
];

/// The admission rules that need a cluster.
static CLUSTER_ONLY: [&Rule; 2] = [&target::UNKNOWN_TARGET_KIND, &resource_requests::MISSING_TARGET];

/// Former ids, which `--ignore` still takes, and the ids of today.
#[rustfmt::skip]
const RENAMED: &[(&str, &str)] = &[
    ("annotation-misspelt", "misspelled-annotation"),
    ("aws-external-id-alone", "aws-external-id-without-role"),
    ("aws-role-of-workload", "conflicting-aws-role"),
    ("azure-identity-empty", "invalid-azure-identity"),
    ("cache-unsupported", "unsupported-cached-metrics"),
    ("cooldown-period-unused", "unused-cooldown-period"),
    ("credentials-in-the-clear", "credentials-without-tls"),
    ("fallback-negative", "negative-fallback"),
    ("file-path-namespaced", "cluster-only-file-path"),
    ("foreign-hpa", "conflicting-hpa"),
    ("formula-activation-wrong", "invalid-formula-activation-target"),
    ("formula-missing", "missing-formula"),
    ("formula-target-wrong", "invalid-formula-target"),
    ("formula-without-target", "missing-formula-target"),
    ("formula-wrong", "invalid-formula"),
    ("hpa-name-taken", "duplicate-hpa-name"),
    ("initial-cooldown-period-unused", "unused-initial-cooldown-period"),
    ("key-twice", "duplicate-key"),
    ("kind-unknown", "unknown-kind"),
    ("no-maximum", "no-max-replicas"),
    ("oauth2-wrong", "invalid-oauth2"),
    ("object-twice", "duplicate-object"),
    ("only-resources-to-zero", "unsupported-scale-to-zero"),
    ("parameter-misspelt", "misspelled-parameter"),
    ("pause-unreadable", "invalid-paused-replicas"),
    ("polling-interval-unused", "unused-polling-interval"),
    ("request-missing", "missing-resource-request"),
    ("service-principal-wrong", "invalid-service-principal"),
    ("target-kind-unknown", "unknown-target-kind"),
    ("target-missing", "missing-target"),
    ("target-taken", "duplicate-target"),
    ("transfer-unnamed", "missing-hpa-name"),
    ("trigger-name-twice", "duplicate-trigger-name"),
    ("trigger-type-unknown", "unknown-trigger-type"),
    ("trigger-type-unsupported", "unsupported-trigger-type"),
    ("trigger-wrong", "invalid-trigger"),
    ("version-unknown", "unknown-api-version"),
];

/// Every rule that a file can violate.
pub(crate) fn all() -> Vec<&'static Rule> {
    let offline = ALL.iter().copied().filter(|rule| !CLUSTER_ONLY.contains(rule));
    LINT_ONLY.iter().copied().chain(offline).collect()
}

/// A rule that a user names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedRule {
    pub(crate) rule: &'static Rule,
    /// The former id, if the user wrote that.
    pub(crate) former_id: Option<&'static str>,
}

/// A rule by its id, or by its former id.
pub(crate) fn parse(id: &str) -> Result<NamedRule, String> {
    let rules = all();
    let renamed = RENAMED.iter().find(|(former, _)| *former == id);
    let current = renamed.map_or(id, |(_, current)| current);
    if let Some(rule) = rules.iter().copied().find(|rule| rule.id == current) {
        return Ok(NamedRule { rule, former_id: renamed.map(|(former, _)| *former) });
    }
    Err(match nearest(current, rules.iter().map(|rule| rule.id)) {
        Some(suggestion) => format!("there is no such rule; write {suggestion}"),
        None => "there is no such rule; `kedge lint --rules` lists all".to_owned(),
    })
}

/// The former ids of a rule.
pub(crate) fn former_ids(rule: &Rule) -> Vec<&'static str> {
    RENAMED.iter().filter(|(_, current)| *current == rule.id).map(|(former, _)| *former).collect()
}

/// The list for `kedge lint --rules`.
pub(crate) fn text() -> String {
    let rules = all();
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or_default();
    let mut list = String::new();
    for rule in rules {
        let _ = writeln!(list, "{:width$}  {:7}  {}", rule.id, severity_label(rule.severity), rule.about);
    }
    list
}

/// The label of a severity in the output.
pub(crate) fn severity_label(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "advice",
    }
}

const OPENING: &str = "\
# Rules of `kedge lint`

<!-- Written by `cargo xtask generate`. -->

`kedge lint` checks each of these rules without a cluster; see [lint](../lint.md). The API server, `kubectl` or admission rejects an
object with an *error*. An object with a *warning* is stored, but a setting has not the effect that it seems to have. *Advice* is about
objects that work and could be better. *Also at admission*: the webhooks report the same violation.

| rule | severity | condition | also at admission |
|---|---|---|---|
";

/// `docs/reference/lint.md`.
pub(crate) fn page() -> String {
    let mut page = OPENING.to_owned();
    for rule in all() {
        let also = if ALL.contains(&rule) && rule.severity != Severity::Advice { "yes" } else { "" };
        let _ = writeln!(page, "| `{}` | {} | {} | {also} |", rule.id, severity_label(rule.severity), rule.about);
    }
    page.push_str("\n## Only in a cluster\n\nThese rules of [admission](../admission.md) need a cluster.\n\n| rule | condition |\n|---|---|\n");
    for rule in CLUSTER_ONLY {
        let _ = writeln!(page, "| `{}` | {} |", rule.id, rule.about);
    }
    page.push_str("\n## Renamed rules\n\n`--ignore` still takes the former id, with a notice on standard error.\n\n| former id | rule |\n|---|---|\n");
    for (former, current) in RENAMED {
        let _ = writeln!(page, "| `{former}` | `{current}` |");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_former_id_names_a_rule_of_today() {
        let current: Vec<&str> = all().iter().chain(&CLUSTER_ONLY).map(|rule| rule.id).collect();
        for (former, rule) in RENAMED {
            assert!(current.contains(rule), "{rule}");
            assert!(!current.contains(former), "{former}");
        }
        assert!(RENAMED.is_sorted());
    }

    #[test]
    fn a_rule_is_found_by_its_id_and_by_its_former_id() {
        let former = parse("key-twice").unwrap();
        assert_eq!((former.rule.id, former.former_id), ("duplicate-key", Some("key-twice")));
        let current = parse("duplicate-key").unwrap();
        assert_eq!((current.rule, current.former_id), (former.rule, None));
        assert_eq!(parse("duplicate-keys").unwrap_err(), "there is no such rule; write duplicate-key");
    }
}
