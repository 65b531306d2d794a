//! Roles and bindings as YAML, each rule with its reasons.

use std::fmt::Write;

use serde_json::Value;

use super::operator::Operator;
use super::rules::{RbacRules, Rule, Scope};

const API: &str = "rbac.authorization.k8s.io";

/// A role and its namespace.
struct Role<'a> {
    kind: &'static str,
    name: &'a str,
    /// Empty for a ClusterRole.
    namespace: &'a str,
}

pub(super) fn yaml(rules: &RbacRules, operator: &Operator) -> String {
    let watched: Vec<&str> = rules.watched.iter().map(String::as_str).collect();
    let mut text =
        format!("# For an operator that manages only these namespaces; watchNamespace: {}\n", watched.join(","));
    for (scope, rules) in &rules.rules {
        let name = operator.account.as_str();
        let role = match scope {
            Scope::Namespace(namespace) => Role { kind: "Role", name, namespace },
            Scope::Cluster => Role { kind: "ClusterRole", name, namespace: "" },
        };
        write_role(&mut text, &role, rules);
        write_binding(&mut text, &role, name, &subject(operator));
    }
    text.push_str(&fixed(operator));
    text
}

fn write_role(text: &mut String, role: &Role<'_>, rules: &[Rule]) {
    write_head(text, role.kind, role.name, role.namespace);
    text.push_str("rules:\n");
    for alike in rules.chunk_by(is_alike) {
        let Some(rule) = alike.first() else { continue };
        let resources: Vec<String> = alike.iter().map(|rule| word(&rule.resource)).collect();
        for reason in &rule.reasons {
            let _ = writeln!(text, "  # {reason}");
        }
        let _ = writeln!(text, "  - apiGroups: [{}]", quoted([&rule.group]));
        let _ = writeln!(text, "    resources: [{}]", resources.join(", "));
        if let Some(names) = &rule.names {
            let _ = writeln!(text, "    resourceNames: [{}]", quoted(names));
        }
        let _ = writeln!(text, "    verbs: [{}]", rule.verbs.join(", "));
    }
}

/// Whether two rules differ in nothing but their resource.
fn is_alike(one: &Rule, other: &Rule) -> bool {
    Rule { resource: one.resource.clone(), ..other.clone() } == *one
}

fn write_binding(text: &mut String, role: &Role<'_>, name: &str, subject: &str) {
    let kind = if role.namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
    write_head(text, kind, name, role.namespace);
    let _ = writeln!(text, "roleRef:\n  apiGroup: {API}\n  kind: {}\n  name: {}", role.kind, role.name);
    let _ = writeln!(text, "subjects:\n{subject}");
}

fn write_head(text: &mut String, kind: &str, name: &str, namespace: &str) {
    let _ = writeln!(text, "---\napiVersion: {API}/v1\nkind: {kind}\nmetadata:\n  name: {name}");
    if !namespace.is_empty() {
        let _ = writeln!(text, "  namespace: {namespace}");
    }
}

fn subject(operator: &Operator) -> String {
    account(&operator.account, &operator.namespace)
}

fn account(name: &str, namespace: &str) -> String {
    format!("  - kind: ServiceAccount\n    name: {name}\n    namespace: {namespace}")
}

/// The text itself, if it is a plain scalar of YAML in any context.
fn word(text: &str) -> String {
    let is_plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-./".contains(letter));
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// JSON, which is YAML that nothing in a name can break.
fn quoted<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    words.into_iter().map(|word| Value::from(word.as_str()).to_string()).collect::<Vec<_>>().join(", ")
}

/// The rules of the metrics API: authentication of its callers, and access of the HPA controller.
fn fixed(operator: &Operator) -> String {
    let mut text = String::new();
    let own = &operator.account;
    let mut bind = |comment: &str, role: Role<'_>, name: String, subject: &str| {
        let mut binding = String::new();
        write_binding(&mut binding, &role, &name, subject);
        text.push_str(&binding.replacen("---\n", &format!("---\n# {comment}\n"), 1));
    };
    let reader = Role { kind: "Role", name: "extension-apiserver-authentication-reader", namespace: "kube-system" };
    bind("How callers of the metrics API authenticate.", reader, format!("{own}-auth-reader"), &subject(operator));
    let delegator = Role { kind: "ClusterRole", name: "system:auth-delegator", namespace: "" };
    bind(
        "Authentication and authorization of callers of the metrics API.",
        delegator,
        format!("{own}-system-auth-delegator"),
        &subject(operator),
    );
    let metrics = format!("{own}-external-metrics-reader");
    let role = Role { kind: "ClusterRole", name: &metrics, namespace: "" };
    let hpas = account("horizontal-pod-autoscaler", "kube-system");
    bind("The HPA controller reads metrics.", role, format!("{own}-hpa-controller-external-metrics"), &hpas);
    write_head(&mut text, "ClusterRole", &metrics, "");
    text.push_str(
        "rules:\n  - apiGroups: [\"external.metrics.k8s.io\"]\n    resources: [externalmetrics]\n    verbs: [get]\n",
    );
    text
}
