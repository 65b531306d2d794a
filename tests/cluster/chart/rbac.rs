//! What the roles of the chart allow, for each set of values.

use kedge_tests::golden;
use kedge_tests::helm::Document;
use serde_json::Value;

use super::{cases, render};

/// One permission of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    pub(super) role: String,
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) verb: String,
    /// The resource names that it is limited to; empty means all.
    pub(super) names: Vec<String>,
}

impl Rule {
    fn is_cluster_wide(&self) -> bool {
        self.role.starts_with("ClusterRole ")
    }
}

fn words(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// All rules of the roles among these objects, without the roles for users.
pub(super) fn rules(documents: &[Document]) -> Vec<Rule> {
    let roles = documents.iter().filter(|document| document.is("Role") || document.is("ClusterRole"));
    let mut rules = Vec::new();
    for role in roles.filter(|role| !role.title().contains("keda:")) {
        for rule in role.object["rules"].as_array().into_iter().flatten() {
            for (group, resource) in pairs(&words(&rule["apiGroups"]), &words(&rule["resources"])) {
                for verb in words(&rule["verbs"]) {
                    let (role, names) = (role.title(), words(&rule["resourceNames"]));
                    rules.push(Rule { role, group: group.clone(), resource: resource.clone(), verb, names });
                }
            }
        }
    }
    rules
}

fn pairs(groups: &[String], resources: &[String]) -> Vec<(String, String)> {
    groups.iter().flat_map(|group| resources.iter().map(|resource| (group.clone(), resource.clone()))).collect()
}

/// The rules of a set of values.
pub(super) fn expected_rules(name: &str) -> Vec<Rule> {
    rules(&render(&golden::case("helm", name)))
}

#[test]
fn no_role_has_wildcards_unless_the_values_set_them() {
    for case in cases().iter().filter(|case| case.name != "any-kind") {
        let rules = rules(&render(case));
        assert!(!rules.is_empty() || case.name == "without-rbac", "{}", case.name);
        let wild = |rule: &&Rule| [&rule.group, &rule.resource, &rule.verb].iter().any(|word| word.contains('*'));
        assert_eq!(rules.iter().find(wild), None, "{}", case.name);
    }
    let any = expected_rules("any-kind");
    let wild: Vec<_> = any.iter().filter(|rule| rule.resource.contains('*')).collect();
    assert!(wild.iter().all(|rule| ["get", "list", "watch", "update"].contains(&rule.verb.as_str())), "{wild:?}");
    assert!(wild.iter().all(|rule| rule.verb != "update" || rule.resource == "*/scale"), "{wild:?}");
}

#[test]
fn only_the_secret_of_the_certificates_is_written() {
    for case in cases() {
        for rule in rules(&render(&case)).iter().filter(|rule| rule.resource == "secrets") {
            let reads = ["get", "list", "watch"].contains(&rule.verb.as_str());
            // A rule to create cannot be limited to a name.
            let of_certificates = rule.role.ends_with("-certs") && (rule.verb == "create" || rule.names.len() == 1);
            assert!(reads || of_certificates, "{}: {rule:?}", case.name);
        }
    }
}

#[test]
fn secrets_are_read_only_where_the_values_allow_it() {
    // Left: the set of values. Right: the roles that may read Secrets other than the certificates, and the names of the Secrets.
    let named = "broker database";
    let rows: [(&str, &[(&str, &str)]); 5] = [
        ("default", &[("ClusterRole keda-operator", "")]),
        ("secrets-by-name", &[("ClusterRole keda-operator", named)]),
        ("secrets-restricted", &[("Role keda/keda-operator-cluster-objects", named)]),
        ("namespaced-and-restricted", &[("Role keda/keda-operator-cluster-objects", "")]),
        (
            "namespaced",
            &[
                ("Role keda/keda-operator-cluster-objects", ""),
                ("Role team-a/keda-operator-watched", ""),
                ("Role team-b/keda-operator-watched", ""),
            ],
        ),
    ];
    for (name, expected) in rows {
        let read = |rule: &&Rule| rule.resource == "secrets" && rule.verb == "get" && !rule.role.ends_with("-certs");
        let rules = expected_rules(name);
        let mut found: Vec<_> = rules.iter().filter(read).map(|one| (one.role.clone(), one.names.join(" "))).collect();
        found.sort();
        let expected: Vec<_> = expected.iter().map(|(role, names)| (role.to_string(), names.to_string())).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn with_watched_namespaces_no_role_reaches_the_others() {
    // Cluster-scoped resources.
    let authentications = ["clustertriggerauthentications", "clustertriggerauthentications/status"];
    let unavoidable = [&authentications[..], &["apiservices", "validatingwebhookconfigurations"]].concat();
    for name in ["namespaced", "namespaced-and-restricted", "webhooks-apart-namespaced"] {
        let rules = expected_rules(name);
        let mut of_cluster = rules.iter().filter(|rule| rule.is_cluster_wide());
        assert_eq!(of_cluster.find(|rule| !unavoidable.contains(&rule.resource.as_str())), None, "{name}");
        let mut of_webhooks = rules.iter().filter(|rule| rule.role.ends_with("-webhook"));
        let writes = of_webhooks.find(|rule| !["get", "list", "watch"].contains(&rule.verb.as_str()));
        assert_eq!(writes, None, "{name}");
        assert!(rules.iter().any(|rule| rule.role == "Role team-a/keda-operator-watched"), "{name}");
    }
}

#[test]
fn rules_for_cluster_scoped_objects_are_limited_to_names() {
    for case in cases() {
        for rule in rules(&render(&case)) {
            let registered = ["apiservices", "validatingwebhookconfigurations"].contains(&rule.resource.as_str());
            assert!(!registered || rule.names.len() == 1, "{}: {rule:?}", case.name);
        }
    }
}
