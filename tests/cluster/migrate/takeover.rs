//! From KEDA to Kedge and back. Objects keep their uids.

use kedge_test_cluster::wait::{DEADLINE, wait_for};
use serde_json::{Value, json};

use super::Stage;

#[tokio::test]
async fn nothing_is_lost_on_the_way_to_kedge_and_back() {
    let stage = Stage::with_keda("migrate-takeover").await;
    let before = stage.uids();
    assert!(before.iter().all(|uid| !uid.is_null()), "{before:?}");
    let refused = stage.install_kedge().unwrap_err();
    assert!(refused.contains("invalid ownership metadata"), "{refused}");

    check_report(&stage);
    migrate_to_kedge(&stage);
    let output = stage.migrate(&["check"]);
    assert!(
        output.code == 1 && !output.text.contains("To be done first"),
        "only CloudEvents are reported: {}",
        output.text
    );
    assert_eq!(stage.uids(), before, "on the way there");
    assert_eq!(stage.served_from(), [json!("kedge"), json!("kedge")]);
    assert!(stage.get(&["deployment", "keda-operator", "--namespace=keda"]).is_null(), "KEDA is gone");
    assert!(stage.get(&["clusterrole", "keda-operator"]).is_null(), "with its roles");
    assert!(!stage.get(&["clusterrole", "kedge-operator"]).is_null(), "and not with ours");

    migrate_to_keda(&stage);
    assert_eq!(stage.uids(), before, "on the way back");
    assert_eq!(stage.served_from(), [json!("keda"), json!("keda")]);
    assert!(stage.get(&["deployment", "kedge-operator", "--namespace=kedge"]).is_null(), "Kedge is gone");
}

/// Checks the report of `kedge migrate check`, and that it changes nothing.
fn check_report(stage: &Stage) {
    let release = || stage.get(&["secret", "sh.helm.release.v1.keda.v1", "--namespace=keda"]);
    let versions =
        || [release()["metadata"]["resourceVersion"].clone(), stage.metrics_api()["metadata"]["generation"].clone()];
    let before = versions();
    let output = stage.migrate(&["check"]);
    assert_eq!(output.code, 1, "{}", output.text);
    for line in [
        "release keda in namespace keda: revision 1, deployed\n",
        "CloudEventSource default/web: Kedge sends no CloudEvents\n",
        "CustomResourceDefinition scaledobjects.keda.sh: metadata.annotations: belongs to release keda in namespace keda",
        "release keda in namespace keda: manifest: `helm uninstall` deletes ",
        "\n1 thing would not work, 7 things are to be done first; 3 objects checked\n",
    ] {
        assert!(output.text.contains(line), "{line:?} is reported: {}", output.text);
    }
    let json: Value = serde_json::from_str(&stage.migrate(&["check", "--output=json"]).text).unwrap();
    assert_eq!(json["summary"], json!({ "objects": 3, "wouldNotWork": 1, "toDo": 7 }));
    assert_eq!(versions(), before);
}

fn migrate_to_kedge(stage: &Stage) {
    let dry = stage.prepare(&["--dry-run"]);
    assert_eq!(dry.matches("would change: ").count(), 15, "{dry}");
    assert!(stage.prepare(&["--dry-run"]) == dry, "a dry run changes nothing");
    let output = stage.prepare(&[]);
    let kept = "release keda in namespace keda, revision 1: `helm uninstall` will keep ";
    assert!(output.contains(kept), "{output}");
    let handed = "CustomResourceDefinition scaledobjects.keda.sh: handed over from release keda in namespace keda to release kedge";
    assert!(output.contains(handed), "{output}");
    assert!(output.contains("helm uninstall keda --namespace keda"), "{output}");
    let stop = "scale deployment keda-admission-webhooks keda-operator keda-operator-metrics-apiserver --replicas=0\n";
    assert!(output.contains(stop), "{output}");
    let again = stage.prepare(&[]);
    assert!(again.starts_with("nothing to change"), "{again}");

    stage.install_kedge().unwrap();
    let output = stage.prepare(&[]);
    let leads =
        "APIService v1beta1.external.metrics.k8s.io: leads to the Service kedge/kedge-operator-metrics-apiserver\n";
    assert!(output.starts_with(leads), "Helm has left it as it was: {output}");
    let output = stage.uninstall("keda");
    for kept in [
        "scaledobjects.keda.sh",
        "cloudeventsources.eventing.keda.sh",
        "v1beta1.external.metrics.k8s.io",
        "keda-admission",
    ] {
        assert!(output.contains(kept), "{kept} is kept: {output}");
    }
    let again = stage.prepare(&[]);
    assert!(again.starts_with("nothing to change"), "{again}");
}

fn migrate_to_keda(stage: &Stage) {
    let to_keda = ["--release=keda", "--namespace=keda"];
    let output = stage.prepare(&to_keda);
    assert!(
        output.contains("release kedge in namespace kedge, revision 1: `helm uninstall` will keep APIService"),
        "{output}"
    );
    stage.install_keda();
    let output = stage.prepare(&to_keda);
    assert!(output.contains("leads to the Service keda/keda-operator-metrics-apiserver"), "{output}");
    stage.uninstall("kedge");
    let again = stage.prepare(&to_keda);
    assert!(again.starts_with("nothing to change"), "{again}");
}

#[tokio::test]
async fn without_migrate_helm_deletes_the_crds_and_every_object() {
    let stage = Stage::with_keda("migrate-control").await;
    // The annotation on the live object is not enough: Helm reads the manifest that it stored.
    let crds = ["scaledobjects.keda.sh", "triggerauthentications.keda.sh", "cloudeventsources.eventing.keda.sh"];
    for crd in crds {
        stage.cluster.kubectl(["annotate", "crd", crd, "helm.sh/resource-policy=keep"]).unwrap();
    }
    stage.helm(&["uninstall", "keda", "--namespace=keda"]).unwrap();
    // The API server deletes every object of a CRD before the CRD itself.
    wait_for("the CRDs are gone", DEADLINE, async || {
        let left: Vec<&str> = crds.into_iter().filter(|crd| !stage.get(&["crd", crd]).is_null()).collect();
        if left.is_empty() { Ok(()) } else { Err(left.join(", ")) }
    })
    .await
    .unwrap();
    assert!(stage.metrics_api().is_null());
}

#[tokio::test]
async fn an_upgrade_in_place_keeps_what_only_keda_has() {
    let stage = Stage::with_keda("migrate-in-place").await;
    let before = stage.uids();
    let output = stage.prepare(&["--release=keda", "--namespace=keda"]);
    assert!(!output.contains("handed over"), "{output}");
    let chart = kedge_tests::helm::chart().display().to_string();
    stage.helm(&["upgrade", "keda", &chart, "--namespace=keda", "--set=webhooks.timeoutSeconds=1"]).unwrap();
    assert_eq!(stage.uids(), before, "upgraded");
    let theirs = stage.chart.path().display().to_string();
    stage.helm(&["upgrade", "keda", &theirs, "--namespace=keda"]).unwrap();
    assert_eq!(stage.uids(), before, "and back");
    assert_eq!(stage.served_from(), [json!("keda"), json!("keda")]);
}

#[tokio::test]
async fn crds_that_helm_did_not_install_are_handed_over_too() {
    let stage = Stage::with_keda("migrate-plain").await;
    let before = stage.uids();
    // As if kubectl had created them.
    stage.cluster.kubectl(["delete", "secret", "--namespace=keda", "--selector=owner=helm"]).unwrap();
    for kind in ["crd", "apiservice/v1beta1.external.metrics.k8s.io", "validatingwebhookconfiguration/keda-admission"] {
        let marks = ["meta.helm.sh/release-name-", "meta.helm.sh/release-namespace-"];
        let all: &[&str] = if kind == "crd" { &["--all"] } else { &[] };
        stage.cluster.kubectl([&["annotate", kind], all, &marks].concat()).unwrap();
    }
    let output = stage.prepare(&[]);
    assert!(output.contains("these CRDs were not installed by Helm: "), "{output}");
    stage.install_kedge().unwrap();
    stage.uninstall("kedge");
    assert_eq!(stage.uids(), before, "ours outlive our release");
    assert_eq!(stage.metrics_api(), Value::Null);
}

#[tokio::test]
async fn releases_with_conflicting_names_are_reported() {
    let stage = Stage::with_keda("migrate-names").await;
    stage.prepare(&[]);
    let chart = kedge_tests::helm::chart().display().to_string();
    let fixed =
        ["install", "kedge", &chart, "--namespace=kedge", "--create-namespace", "--set=webhooks.timeoutSeconds=1"];
    let refused = stage.helm(&fixed).unwrap_err();
    assert!(refused.contains("ClusterRole \"keda-operator"), "Helm refuses it: {refused}");
    stage.helm(&[&fixed[..], &["--take-ownership"]].concat()).unwrap();
    let output = stage.migrate(&["prepare"]);
    assert!(output.code == 1 && output.text.contains("both have ClusterRole keda-operator, "), "{}", output.text);
    stage.helm(&["upgrade", "kedge", &chart, "--namespace=kedge", "--set=operator.name=kedge-operator"]).unwrap();
    stage.prepare(&[]);
}

#[tokio::test]
async fn a_release_that_only_drops_keda_leaves_everything_to_kedge() {
    let stage = Stage::with_keda("migrate-umbrella").await;
    let before = stage.uids();
    stage.prepare(&[]);
    stage.install_kedge().unwrap();
    stage.prepare(&[]);
    // As an upgrade of an umbrella chart with KEDA disabled does.
    let empty = tempfile::tempdir().unwrap();
    std::fs::write(empty.path().join("Chart.yaml"), "apiVersion: v2\nname: platform\nversion: 1.0.0\n").unwrap();
    stage.helm(&["upgrade", "keda", &empty.path().display().to_string(), "--namespace=keda"]).unwrap();
    assert!(stage.get(&["deployment", "keda-operator", "--namespace=keda"]).is_null());
    assert_eq!(stage.uids(), before);
    assert_eq!(stage.served_from(), [json!("kedge"), json!("kedge")]);
}

#[tokio::test]
async fn an_upgrade_starts_a_keda_that_was_only_stopped() {
    let stage = Stage::with_keda("migrate-stopped").await;
    let before = stage.uids();
    let replicas = || stage.get(&["deployment", "keda-operator", "--namespace=keda"])["spec"]["replicas"].clone();
    stage.prepare(&[]);
    stage.cluster.kubectl(["scale", "deployment", "keda-operator", "--namespace=keda", "--replicas=0"]).unwrap();
    stage.install_kedge().unwrap();
    stage.prepare(&[]);
    assert_eq!((stage.served_from(), replicas()), ([json!("kedge"), json!("kedge")], json!(0)));

    let to_keda = ["--release=keda", "--namespace=keda"];
    stage.prepare(&to_keda);
    let theirs = stage.chart.path().display().to_string();
    stage.helm(&["upgrade", "keda", &theirs, "--namespace=keda"]).unwrap();
    stage.prepare(&to_keda);
    stage.uninstall("kedge");
    assert_eq!((stage.served_from(), replicas()), ([json!("keda"), json!("keda")], json!(1)));
    assert_eq!(stage.uids(), before);
}
