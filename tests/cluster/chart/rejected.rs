//! Values that are rejected before anything is installed: by the schema, or with a remedy where KEDA's chart has the value.

use std::io::Write;

use kedge_tests::{files, helm};
use serde_json::Value;

/// Renders the chart with these values, written as YAML. Returns the error, if there is one.
fn render_error(values: &str) -> Option<String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(values.as_bytes()).unwrap();
    helm::template(&["--set=crds.install=false", &format!("--values={}", file.path().display())]).err()
}

#[test]
fn invalid_values_are_rejected_with_their_path() {
    let rows = [
        ("an unknown value", "replicas: 2", "additional properties 'replicas' not allowed"),
        (
            "an unknown value below a known one",
            "operator: { replicas: 2 }",
            "at '/operator': additional properties 'replicas'",
        ),
        ("text instead of a number", "operator: { replicaCount: two }", "at '/operator/replicaCount': got string"),
        ("a number below the minimum", "operator: { replicaCount: -1 }", "at '/operator/replicaCount': minimum"),
        ("an invalid name", "operator: { name: Keda_Operator }", "at '/operator/name'"),
        ("an invalid pull policy", "image: { pullPolicy: Sometimes }", "value must be one of 'Always', 'IfNotPresent'"),
        ("a space among namespaces", "watchNamespace: 'team-a, team-b'", "at '/watchNamespace'"),
        (
            "a kind instead of a resource",
            "rbac: { scaledRefKinds: [{ apiGroup: argoproj.io, kind: Rollout }] }",
            "at '/rbac/scaledRefKinds/0/kind'",
        ),
        (
            "a resource without its group",
            "rbac: { scaledRefKinds: [{ kind: rollouts }] }",
            "missing property 'apiGroup'",
        ),
        (
            "an account without its namespace",
            "permissions: { operator: { restrict: { serviceAccountTokenCreationRoles: [{ name: a }] } } }",
            "missing property 'namespace'",
        ),
        (
            "audiences that would be ignored",
            "serviceAccountTokens: { mode: legacy, audiences: [{ audience: vault }] }",
            "serviceAccountTokens.mode is legacy",
        ),
        (
            "an unknown provider",
            "outboundPolicy: { identities: [{ provider: x, namespaces: [], hosts: [] }] }",
            "'aws', 'azure-workload'",
        ),
        ("an unsupported TLS version", "http: { minTlsVersion: TLS10 }", "value must be one of 'TLS12', 'TLS13'"),
        ("a duration without a unit", "http: { idleConnTimeout: '90' }", "at '/http/idleConnTimeout'"),
        ("a timeout above the maximum", "webhooks: { timeoutSeconds: 60 }", "at '/webhooks/timeoutSeconds': maximum"),
        ("an invalid failure policy", "webhooks: { failurePolicy: Retry }", "value must be one of 'Ignore', 'Fail'"),
        ("an invalid port", "webhooks: { port: https }", "at '/webhooks/port'"),
        (
            "both bounds of a disruption budget",
            "podDisruptionBudget: { operator: { minAvailable: 1, maxUnavailable: 1 } }",
            "maxProperties",
        ),
        (
            "a number as a label",
            "podLabels: { keda: { tier: 1 } }",
            "at '/podLabels/keda/tier': got number, want string",
        ),
        ("an invalid log level", "logging: { operator: { level: loud } }", "at '/logging/operator/level'"),
        (
            "an unknown network policy flavor",
            "networkPolicy: { flavor: calico }",
            "value must be one of 'kubernetes', 'cilium'",
        ),
        ("a relative mount path", "certificates: { mountPath: certs }", "at '/certificates/mountPath'"),
        (
            "an issuer without a name",
            "certificates: { certManager: { enabled: true, issuer: { generate: false } } }",
            "certificates.certManager.issuer.name must be given",
        ),
        (
            "KEDA's own image",
            "image: { keda: { repository: kedacore/keda } }",
            "image.keda.repository: kedacore/keda is KEDA; leave image.keda out",
        ),
        (
            "the host network for webhooks without a Deployment of their own",
            "webhooks: { useHostNetwork: true }",
            "set webhooks.ownDeployment too, or operator.useHostNetwork",
        ),
        (
            "the host network for the metrics server",
            "metricsServer: { useHostNetwork: true }",
            "set operator.useHostNetwork instead",
        ),
        (
            "OpenTelemetry metrics",
            "opentelemetry: { operator: { enabled: true } }",
            "set prometheus.operator.enabled and scrape them",
        ),
        (
            "an old value for the service account",
            "serviceAccount: { name: scaling }",
            "set serviceAccount.operator.name",
        ),
    ];
    for (name, values, expected) in rows {
        let error = render_error(values).unwrap_or_else(|| panic!("{name} is accepted: {values}"));
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn all_invalid_values_are_reported_at_once() {
    let by_schema = render_error("operator: { replicas: 2 }\nwatchNamespace: A\n").unwrap();
    assert!(by_schema.contains("/operator") && by_schema.contains("/watchNamespace"), "{by_schema}");
    let by_remedy = render_error("metricsServer: { useHostNetwork: true }\nserviceAccount: { name: a }\n").unwrap();
    assert!(
        by_remedy.contains("metricsServer.useHostNetwork") && by_remedy.contains("serviceAccount.name"),
        "{by_remedy}"
    );
}

/// The path `a.b` with this value, as YAML.
fn nested(path: &str, value: &str) -> String {
    path.rsplit('.').fold(value.to_owned(), |inside, key| format!("{{ {key}: {inside} }}"))
}

#[test]
fn kedas_values_are_ignored_or_rejected_as_listed() {
    let listed = files::read_yaml(&helm::chart().join("files/keda-values.yaml"));
    let listed: &Vec<Value> = listed.as_array().unwrap();
    assert!(listed.len() > 30, "only {}", listed.len());
    for row in listed {
        let (path, because) = (row["value"].as_str().unwrap(), row["because"].as_str().unwrap());
        let found = render_error(&nested(path, "any"));
        match row["then"].as_str().unwrap() {
            "ignored" => assert_eq!(found, None, "{path}"),
            _ => assert!(found.as_ref().is_some_and(|found| found.contains(because)), "{path}: {found:?}"),
        }
        assert_eq!(render_error(&nested(path, "false")), None, "{path}: false has no effect");
    }
}
