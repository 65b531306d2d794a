//! RBAC rules, merged: one per resource and verbs, with all of its reasons.

use std::collections::{BTreeMap, BTreeSet};

/// The verbs of a reader.
pub(super) const READ: &[&str] = &["get", "list", "watch"];

/// Where a rule applies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    Namespace(String),
    Cluster,
}

/// An RBAC rule, for all objects of a resource or for some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) verbs: &'static [&'static str],
    /// None means all.
    pub(super) names: Option<BTreeSet<String>>,
    pub(super) reasons: BTreeSet<String>,
}

/// All rules, and what the manifests do not determine.
#[derive(Debug, Default)]
pub(super) struct RbacRules {
    pub(super) rules: BTreeMap<Scope, Vec<Rule>>,
    pub(super) unknown: BTreeSet<String>,
    /// The namespaces that the operator manages.
    pub(super) watched: BTreeSet<String>,
}

/// Verbs on a resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access<'a> {
    pub(super) group: &'a str,
    pub(super) resource: &'a str,
    pub(super) verbs: &'static [&'static str],
}

impl RbacRules {
    /// Allows access to all objects of a resource.
    pub(super) fn allow_all(&mut self, scope: &Scope, access: Access<'_>, reason: impl Into<String>) {
        self.rule(scope, access, None).reasons.insert(one_line(reason.into()));
    }

    /// Allows access to one object.
    pub(super) fn allow_named(&mut self, scope: &Scope, access: Access<'_>, name: &str, reason: impl Into<String>) {
        let rule = self.rule(scope, access, Some(BTreeSet::new()));
        rule.names.get_or_insert_default().insert(name.to_owned());
        rule.reasons.insert(one_line(reason.into()));
    }

    fn rule(&mut self, scope: &Scope, access: Access<'_>, names: Option<BTreeSet<String>>) -> &mut Rule {
        let rules = self.rules.entry(scope.clone()).or_default();
        let same = |rule: &Rule| {
            rule.group == access.group
                && rule.resource == access.resource
                && rule.verbs == access.verbs
                && rule.names.is_some() == names.is_some()
        };
        let index = rules.iter().position(same).unwrap_or_else(|| {
            let (group, resource) = (access.group.to_owned(), access.resource.to_owned());
            rules.push(Rule { group, resource, verbs: access.verbs, names, reasons: BTreeSet::new() });
            rules.len() - 1
        });
        &mut rules[index]
    }
}

/// A reason becomes a comment, which ends with its line.
fn one_line(reason: String) -> String {
    reason.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_access_to_two_objects_is_one_rule() {
        let mut rbac = RbacRules::default();
        let shop = Scope::Namespace("shop".to_owned());
        let secrets = Access { group: "", resource: "secrets", verbs: &["get"] };
        rbac.allow_named(&shop, secrets, "a", "ScaledObject one");
        rbac.allow_named(&shop, secrets, "b", "ScaledObject two\nkind: Lie");
        rbac.allow_all(&shop, secrets, "everything");
        rbac.allow_named(&Scope::Cluster, secrets, "a", "elsewhere");
        let rules = &rbac.rules[&shop];
        assert_eq!((rules.len(), rbac.rules.len()), (2, 2));
        assert_eq!(rules[0].names, Some(["a", "b"].map(str::to_owned).into()));
        let reasons = ["ScaledObject one", "ScaledObject two kind: Lie"];
        assert_eq!(rules[0].reasons, reasons.map(str::to_owned).into());
    }
}
