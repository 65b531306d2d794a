//! A release on a real API server, from installation to removal, in a namespace that enforces the restricted standard.

use kedge_test_cluster::Cluster;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{cron_open, scaled_object};
use kedge_tests::{files, helm};
use serde_json::{Value, json};

use super::helm_on;

/// No pod runs the image here, so the webhooks do not respond.
const QUICK: &str = "--set=webhooks.timeoutSeconds=1";

fn get(cluster: &Cluster, what: &[&str]) -> Value {
    let text = cluster.kubectl([&["get"], what, &["--ignore-not-found", "--output=json"]].concat()).unwrap();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

fn operator(cluster: &Cluster) -> Value {
    get(cluster, &["deployment", "keda-operator", "--namespace=keda"])
}

fn note_of_crd(cluster: &Cluster) -> Value {
    get(cluster, &["crd", "scaledobjects.keda.sh"])["metadata"]["annotations"]["note"].clone()
}

fn prepare(cluster: &Cluster) {
    let labels = json!({ "pod-security.kubernetes.io/enforce": "restricted" });
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "keda", "labels": labels } });
    cluster.apply(&namespace).unwrap();
}

#[tokio::test]
async fn a_release_is_installed_upgraded_rolled_back_and_removed() {
    let cluster = Cluster::builder("chart-release").start().await.unwrap();
    prepare(&cluster);
    let chart = helm::chart().display().to_string();

    let output = helm_on(&cluster, &["install", "keda", &chart, QUICK]);
    assert!(output.contains("STATUS: deployed") && output.contains("is installed in the namespace keda"), "{output}");
    // The API server enforces the pod security standard of the namespace on these pods.
    cluster
        .kubectl([
            "wait",
            "deployment/keda-operator",
            "--namespace=keda",
            "--for=condition=Available",
            "--timeout=180s",
        ])
        .unwrap();
    wait_for("ScaledObjects can be created", DEADLINE, async || {
        let mut object = scaled_object("web", [cron_open(1)], json!({}));
        object["metadata"]["namespace"] = json!("default");
        cluster.apply(&object).map_err(|error| error.to_string())
    })
    .await
    .unwrap();

    let more = [
        "--set=operator.replicaCount=2",
        "--set=podDisruptionBudget.operator.maxUnavailable=1",
        "--set=crds.additionalAnnotations.note=new",
    ];
    helm_on(&cluster, &[&["upgrade", "keda", &chart, QUICK], &more[..]].concat());
    assert_eq!((operator(&cluster)["spec"]["replicas"].clone(), note_of_crd(&cluster)), (json!(2), json!("new")));
    assert!(!get(&cluster, &["pdb", "keda-operator", "--namespace=keda"]).is_null());

    helm_on(&cluster, &["rollback", "keda", "1"]);
    assert_eq!((operator(&cluster)["spec"]["replicas"].clone(), note_of_crd(&cluster)), (json!(1), Value::Null));
    assert!(get(&cluster, &["pdb", "keda-operator", "--namespace=keda"]).is_null());

    let output = helm_on(&cluster, &["uninstall", "keda", "--wait", "--timeout=180s"]);
    assert!(output.contains("uninstalled"), "{output}");
    let gone = [
        &["deployment", "keda-operator", "--namespace=keda"][..],
        &["apiservice", "v1beta1.external.metrics.k8s.io"],
        &["validatingwebhookconfiguration", "keda-admission"],
        &["clusterrole", "keda-operator"],
        &["rolebinding", "keda-operator-auth-reader", "--namespace=kube-system"],
    ];
    for what in gone {
        assert!(get(&cluster, what).is_null(), "{what:?}");
    }
    let kept = get(&cluster, &["scaledobject", "web", "--namespace=default"]);
    assert_eq!(kept["spec"]["scaleTargetRef"]["name"], "web", "objects outlive a release");

    // A values file for KEDA's chart, with CRDs and objects that exist already.
    for (name, version, kind) in [("a", "apps/v1", "ReplicaSet"), ("b", "apps/v1", "ReplicaSet"), ("c", "v1", "Queue")]
    {
        let mut object = scaled_object(name, [cron_open(1)], json!({}));
        object["metadata"]["namespace"] = json!("default");
        object["spec"]["scaleTargetRef"] = json!({ "name": name, "apiVersion": version, "kind": kind });
        cluster.apply(&object).unwrap();
    }
    let values = files::workspace().join("tests/golden/helm/values-of-keda/values.yaml");
    let values = format!("--values={}", values.display());
    let no_monitor = "--set=prometheus.operator.serviceMonitor.enabled=false";
    let output = helm_on(&cluster, &["install", "keda", &chart, QUICK, &values, no_monitor]);
    for line in
        ["These values have no effect here:", "metricsServer.replicaCount: every replica", "resources.metricServer:"]
    {
        assert!(output.contains(line), "{output}");
    }
    assert!(!output.contains("opentelemetry.operator"), "values that are off are not reported: {output}");

    // What KEDA's default rules cover and ours do not is listed for the objects at hand.
    let expected = "rbac.scaledRefKinds:\n  Queue of v1: default/c\n  ReplicaSet of apps/v1: default/a and 1 more\n\n";
    assert!(output.contains(expected), "{output}");
    let kinds = r#"--set-json=rbac.scaledRefKinds=[{"apiGroup":"apps","kind":"replicasets"}]"#;
    let output = helm_on(&cluster, &["upgrade", "keda", &chart, QUICK, &values, no_monitor, kinds]);
    assert!(output.contains("rbac.scaledRefKinds:\n  Queue of v1: default/c\n\n"), "{output}");
}

#[tokio::test]
async fn the_plain_manifests_are_applied_as_they_are() {
    let cluster = Cluster::builder("chart-manifests").start().await.unwrap();
    prepare(&cluster);
    let file = files::workspace().join("config/manifests/kedge.yaml").display().to_string();
    // Applying them a second time changes nothing.
    for _ in 0..2 {
        let output = cluster.kubectl(["apply", "--server-side", "--filename", &file]).unwrap();
        assert!(output.contains("deployment.apps/keda-operator serverside-applied"), "{output}");
    }
    cluster
        .kubectl([
            "wait",
            "deployment/keda-operator",
            "--namespace=keda",
            "--for=condition=Available",
            "--timeout=180s",
        ])
        .unwrap();
    assert_eq!(operator(&cluster)["metadata"]["generation"], 1);
    let labels = &operator(&cluster)["metadata"]["labels"];
    assert_eq!((&labels["app.kubernetes.io/managed-by"], &labels["helm.sh/chart"]), (&json!("kubectl"), &Value::Null));
}
