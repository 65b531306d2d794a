//! Rights, put together: one rule for each resource and its verbs, with everything that it is for.

use std::collections::{BTreeMap, BTreeSet};

/// The verbs of a reader.
pub(super) const READ: &[&str] = &["get", "list", "watch"];

/// Where a right counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    Namespace(String),
    Cluster,
}

/// What may be done, without a name or to some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) verbs: &'static [&'static str],
    /// None is all of them.
    pub(super) names: Option<BTreeSet<String>>,
    pub(super) reasons: BTreeSet<String>,
}

/// All rights, and what is missing because it could not be known.
#[derive(Debug, Default)]
pub(super) struct Rights {
    pub(super) rules: BTreeMap<Scope, Vec<Rule>>,
    pub(super) unknown: BTreeSet<String>,
    /// The namespaces that the operator is to look after.
    pub(super) watched: BTreeSet<String>,
}

/// A resource and what is done with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct What<'a> {
    pub(super) group: &'a str,
    pub(super) resource: &'a str,
    pub(super) verbs: &'static [&'static str],
}

impl Rights {
    /// A right to all objects of a kind.
    pub(super) fn all(&mut self, scope: &Scope, what: What<'_>, reason: impl Into<String>) {
        self.rule(scope, what, None).reasons.insert(one_line(reason.into()));
    }

    /// A right to one object.
    pub(super) fn one(&mut self, scope: &Scope, what: What<'_>, name: &str, reason: impl Into<String>) {
        let rule = self.rule(scope, what, Some(BTreeSet::new()));
        rule.names.get_or_insert_default().insert(name.to_owned());
        rule.reasons.insert(one_line(reason.into()));
    }

    fn rule(&mut self, scope: &Scope, what: What<'_>, names: Option<BTreeSet<String>>) -> &mut Rule {
        let rules = self.rules.entry(scope.clone()).or_default();
        let same = |rule: &Rule| {
            rule.group == what.group
                && rule.resource == what.resource
                && rule.verbs == what.verbs
                && rule.names.is_some() == names.is_some()
        };
        let index = rules.iter().position(same).unwrap_or_else(|| {
            let (group, resource) = (what.group.to_owned(), what.resource.to_owned());
            rules.push(Rule { group, resource, verbs: what.verbs, names, reasons: BTreeSet::new() });
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
    fn the_same_right_for_two_objects_is_one_rule() {
        let mut rights = Rights::default();
        let shop = Scope::Namespace("shop".to_owned());
        let secrets = What { group: "", resource: "secrets", verbs: &["get"] };
        rights.one(&shop, secrets, "a", "ScaledObject one");
        rights.one(&shop, secrets, "b", "ScaledObject two\nkind: Lie");
        rights.all(&shop, secrets, "everything");
        rights.one(&Scope::Cluster, secrets, "a", "elsewhere");
        let rules = &rights.rules[&shop];
        assert_eq!((rules.len(), rights.rules.len()), (2, 2));
        assert_eq!(rules[0].names, Some(["a", "b"].map(str::to_owned).into()));
        let reasons = ["ScaledObject one", "ScaledObject two kind: Lie"];
        assert_eq!(rules[0].reasons, reasons.map(str::to_owned).into());
    }
}
