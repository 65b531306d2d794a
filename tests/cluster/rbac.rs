//! The roles that `kedge rbac` prints are sufficient: the operator manages the objects they were printed for with no other permission,
//! and the audit log shows no denied request.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use kedge_test_cluster::{Cluster, Launch, RunningOperator};
use kedge_tests::namespace::{
    TestNamespace, authentication, cron_closed, cron_open, deployment, scaled_object, with_authentication, workload,
};
use kedge_tests::{files, programs};
use serde_json::{Value, json};

use crate::chart::kubeconfig_of;
use crate::chart::used_rbac::{checking_cluster, read_audit_log};

const ACCOUNT: &str = "system:serviceaccount:keda:keda-operator";

/// Objects that make the operator read every kind of reference, and scale.
fn manifests() -> Vec<Value> {
    let from = |name: &str| json!([{ "parameter": "one", "name": name, "key": "key" }]);
    let own = json!({
        "secretTargetRef": from("own"), "configMapTargetRef": from("map"),
        "env": [{ "parameter": "two", "name": "TOKEN" }],
        "boundServiceAccountToken": [{ "parameter": "three", "serviceAccountName": "default" }],
    });
    let mut active = deployment("active", 0);
    let variable = json!([{ "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "variable", "key": "key" } } }]);
    active["spec"]["template"]["spec"]["containers"][0]["env"] = variable;
    let pods = json!({ "type": "kubernetes-workload", "metadata": { "podSelector": "app=counted", "value": "1" } });
    let number = json!({ "resourceKind": "ConfigMap", "resourceName": "numbers", "key": "depth", "targetValue": "5" });
    let number = json!({ "type": "kubernetes-resource", "metadata": number });
    let of_set = json!({ "scaleTargetRef": { "kind": "StatefulSet", "name": "counting" } });
    let of_workload = json!({ "podIdentity": { "provider": "aws", "identityOwner": "workload" } });
    vec![
        authentication("TriggerAuthentication", "own", own),
        authentication("TriggerAuthentication", "cloud", of_workload),
        authentication("ClusterTriggerAuthentication", "shared", json!({ "secretTargetRef": from("shared") })),
        active,
        scaled_object("active", [with_authentication(cron_open(2), "TriggerAuthentication", "own")], json!({})),
        deployment("inactive", 1),
        scaled_object(
            "inactive",
            [with_authentication(cron_closed(2), "ClusterTriggerAuthentication", "shared")],
            json!({}),
        ),
        deployment("of-a-cloud", 1),
        scaled_object("of-a-cloud", [with_authentication(cron_closed(1), "TriggerAuthentication", "cloud")], json!({})),
        deployment("counted", 2),
        workload("StatefulSet", "counting", 0),
        scaled_object("counting", [pods], of_set),
        deployment("numbered", 0),
        scaled_object("numbered", [number], json!({})),
    ]
}

/// A CRD with a scale subresource, an object of it, and its ScaledObject.
fn fleet() -> [Value; 3] {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let replicas = json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
    let version = json!({
        "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
        "subresources": { "status": {}, "scale": replicas },
    });
    let target = json!({ "apiVersion": "example.com/v1", "kind": "Navy", "name": "ships" });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "navies.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "navies", "kind": "Navy" }, "versions": [version],
        },
    });
    let ships = json!({ "apiVersion": "example.com/v1", "kind": "Navy", "metadata": { "name": "ships" }, "spec": { "replicas": 2 } });
    [crd, ships, scaled_object("ships", [cron_closed(3)], json!({ "scaleTargetRef": target }))]
}

/// Starts the operator with a token of its account.
async fn start(cluster: &Cluster, namespace: &str) -> RunningOperator {
    let kubeconfig = kubeconfig_of(cluster, cluster.folder(), "keda-operator");
    let flags = vec![format!("--kubeconfig={}", kubeconfig.display()), "--leader-elect".to_owned()];
    let audiences = json!([{ "audience": "broker", "namespace": namespace, "serviceAccountName": "default" }]);
    let audiences = audiences.to_string();
    let environment = [
        ("POD_NAMESPACE", "keda"),
        ("POD_NAME", "keda-operator-0"),
        ("WATCH_NAMESPACE", namespace),
        ("KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES", &audiences),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let launch = Launch { name: "of-the-roles".to_owned(), flags, environment };
    RunningOperator::launch(cluster, &programs::kedge(), launch).await.unwrap()
}

/// The path of the roles that are printed for manifests.
fn roles(namespace: &TestNamespace<'_>, manifests: &[Value]) -> String {
    let file = namespace.cluster.folder().join("manifests.yaml");
    let documents: Vec<String> = manifests.iter().map(ToString::to_string).collect();
    fs::write(&file, documents.join("\n---\n")).unwrap();
    let arguments = ["rbac", "--given-certificates", "--namespace", &namespace.name, "--from"];
    let output = Command::new(programs::kedge()).args(arguments).arg(&file).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "no reference is unknown");
    let printed = namespace.cluster.folder().join("roles.yaml");
    fs::write(&printed, &output.stdout).unwrap();
    printed.display().to_string()
}

fn credential(kind: &str, name: &str) -> Value {
    let data = if kind == "Secret" { "stringData" } else { "data" };
    json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name }, data: { "key": "value" } })
}

#[tokio::test]
async fn the_printed_roles_are_sufficient_and_no_more() {
    let cluster = checking_cluster("rbac").await;
    cluster.install_crds(&files::workspace().join("crds")).unwrap();
    cluster.kubectl(["create", "serviceaccount", "keda-operator", "--namespace=keda"]).unwrap();
    let namespace = TestNamespace::create(&cluster, "smallest");
    let manifests = [manifests(), fleet().to_vec()].concat();
    cluster.kubectl(["apply", "--filename", &roles(&namespace, &manifests)]).unwrap();
    namespace.apply(["own", "variable", "other"].map(|name| credential("Secret", name)));
    let numbers = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "numbers" }, "data": { "depth": "10" } });
    namespace.apply([credential("ConfigMap", "map"), numbers]);
    let mut shared = credential("Secret", "shared");
    shared["metadata"]["namespace"] = json!("keda");
    cluster.apply(&shared).unwrap();

    let operator = start(&cluster, &namespace.name).await;
    let (of_cluster, of_namespace): (Vec<Value>, Vec<Value>) =
        manifests.into_iter().partition(|object| object["kind"].as_str().is_some_and(|kind| kind.starts_with("C")));
    of_cluster.iter().for_each(|object| cluster.apply(object).unwrap());
    namespace.kubectl(["wait", "--for=condition=Established", "crd/navies.example.com"]);
    namespace.apply(of_namespace);
    namespace.until_replicas("active", 2).await;
    namespace.until_replicas("inactive", 0).await;
    namespace.until_replicas("numbered", 2).await;
    namespace.until("pods are counted", Some(2), |namespace| namespace.replicas("statefulset", "counting")).await;
    namespace
        .until("the status lists its user", json!("active"), |namespace| {
            namespace.get("ta", "own")["status"]["scaledobjects"].clone()
        })
        .await;
    namespace.kubectl(["delete", "scaledobject", "active", "counting"]);
    namespace.until("its HPA is gone", true, |namespace| namespace.get("hpa", "keda-hpa-active").is_null()).await;
    operator.terminate().await.unwrap();

    let (done, denied) = read_audit_log(&cluster, 0);
    assert_eq!(denied, BTreeSet::new());
    let used = |resource: &str| done.iter().any(|done| done.resource == resource);
    for resource in ["secrets", "configmaps", "serviceaccounts", "serviceaccounts/token", "pods", "navies/scale"] {
        assert!(used(resource), "{resource} is used");
    }
    let can = |verb: &str, what: &str, namespace: &str| {
        let (account, namespace) = (format!("--as={ACCOUNT}"), format!("--namespace={namespace}"));
        cluster.kubectl(["auth", "can-i", verb, what, &account, &namespace]).is_ok()
    };
    let own = namespace.name.as_str();
    assert!(can("get", "secrets/own", own));
    for (verb, what, namespace) in [
        ("get", "secrets/other", own),
        ("list", "secrets", own),
        ("get", "secrets/own", "default"),
        ("create", "serviceaccounts/token", "keda"),
        ("list", "pods", "default"),
        ("create", "secrets", "keda"),
    ] {
        assert!(!can(verb, what, namespace), "{verb} {what} in {namespace}");
    }
}
