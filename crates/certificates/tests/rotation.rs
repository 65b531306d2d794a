//! Rotators on an in-memory API, in virtual time: the API server trusts what replicas serve, at every moment.

// A test panics at the first unexpected result, helpers included.
#![allow(clippy::unwrap_used)]

#[path = "rotation/cluster.rs"]
mod cluster;

use std::time::Duration;

use cluster::{Replica, SECRET, TestCluster, WEBHOOKS, is_trusted};
use futures::future::{join, join_all};
use kedge_certificates::ca_bundles::EXTERNAL_METRICS;
use kedge_certificates::{Lifetimes, Plan, Role, plan};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(60 * 60);

async fn replicas(cluster: &TestCluster, count: usize) -> Vec<Replica> {
    let replicas = join_all((0..count).map(|_| cluster.replica())).await;
    // The first injection of the bundles is under way.
    sleep(SECOND).await;
    replicas
}

#[tokio::test(start_paused = true)]
async fn a_fresh_install_has_certificates_at_once_and_writes_nothing_more() {
    let cluster = TestCluster::new(Lifetimes::default()).await;
    let replica = cluster.replica().await;
    let contents = cluster.contents();
    assert!(matches!(plan(&contents, &cluster.settings().spec, cluster.now()), Plan::Keep { .. }));
    let secret = cluster.object("secrets").unwrap();
    let labels = json!({
        "app": "keda-operator", "app.kubernetes.io/name": "keda-operator",
        "app.kubernetes.io/component": "keda-operator", "app.kubernetes.io/part-of": "keda",
    });
    assert_eq!(secret["metadata"]["labels"], labels);
    sleep(SECOND).await;
    cluster.register().await;
    sleep(SECOND).await;
    assert_eq!(cluster.bundles(), [contents.ca_bundle.clone(), contents.ca_bundle.clone(), contents.ca_bundle]);
    let rest = cluster.plane.revision().see();
    assert_eq!(cluster.pass_time(&[replica], HOUR).await, 1);
    assert_eq!(cluster.plane.revision().see(), rest, "nothing is written while nothing is due");
}

#[tokio::test(start_paused = true)]
async fn replicas_that_start_together_agree_on_one_secret() {
    let cluster = TestCluster::new(Lifetimes::default()).await;
    cluster.register().await;
    let before = cluster.plane.revision().see();
    let replicas = replicas(&cluster, 3).await;
    assert_eq!(cluster.pass_time(&replicas, 10 * SECOND).await, 1, "all serve the same leaf");
    assert_eq!(cluster.secret_writes_since(before), 1);
}

#[tokio::test(start_paused = true)]
async fn leaves_and_cas_rotate_without_a_moment_of_distrust() {
    let cluster = TestCluster::with_short_lifetimes().await;
    let replicas = replicas(&cluster, 3).await;
    let first = cluster.contents();
    let leaves = cluster.pass_time(&replicas, 600 * SECOND).await;
    assert!((12..=30).contains(&leaves), "{leaves} leaves in ten minutes");
    assert_ne!(cluster.contents().ca_key, first.ca_key);
    let leaf = replicas[0].certificate.leaf();
    assert!(!is_trusted(&leaf, &first.ca_bundle, cluster.now()), "the first ca is out of use");
    let ca_bundle = String::from_utf8(cluster.contents().ca_bundle).unwrap().matches("BEGIN").count();
    assert!(ca_bundle <= 2, "{ca_bundle} ca_bundle are trusted");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_secret_is_recreated_without_a_gap() {
    let cluster = TestCluster::new(Lifetimes::default()).await;
    cluster.register().await;
    let replicas = replicas(&cluster, 3).await;
    let before = (cluster.contents(), replicas[0].certificate.leaf());
    cluster.secrets().delete(SECRET, &DeleteParams::default()).await.unwrap();
    assert_eq!(cluster.pass_time(&replicas, 30 * SECOND).await, 1, "the old leaf is shown until the new ca is trusted");
    assert_eq!(cluster.contents().chain, before.0.chain);
    assert_ne!(cluster.contents().ca_key, before.0.ca_key);
    assert_eq!(cluster.pass_time(&replicas, 60 * SECOND).await, 2);
    assert_ne!(replicas[0].certificate.leaf(), before.1);
    cluster.pass_time(&replicas, HOUR + 60 * SECOND).await;
    assert!(
        cluster.bundles().iter().all(|bundle| !is_trusted(&before.1, bundle, cluster.now())),
        "the old ca is dropped"
    );
}

#[tokio::test(start_paused = true)]
async fn a_corrupted_secret_is_repaired() {
    let parts = ["ca.crt", "ca.key", "tls.crt", "tls.key"];
    let garbage = "aGVsbG8=";
    let cluster = TestCluster::new(Lifetimes::default()).await;
    cluster.register().await;
    let replicas = replicas(&cluster, 3).await;
    let all = json!(parts.map(|part| (part, garbage)).into_iter().collect::<std::collections::BTreeMap<_, _>>());
    let rows = parts.iter().map(|part| json!({ *part: garbage })).chain([all, json!(null)]);
    for data in rows {
        cluster.corrupt(data.clone()).await;
        cluster.pass_time(&replicas, 10 * SECOND).await;
        let planned = plan(&cluster.contents(), &cluster.settings().spec, cluster.now());
        assert!(matches!(planned, Plan::Keep { .. } | Plan::ReplaceLeaf { .. }), "{data}: {planned:?}");
        cluster.pass_time(&replicas, 120 * SECOND).await;
        let planned = plan(&cluster.contents(), &cluster.settings().spec, cluster.now());
        assert!(matches!(planned, Plan::Keep { .. }), "{data}: {planned:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn ca_bundles_are_restored_after_changes_and_recreation() {
    let cluster = TestCluster::new(Lifetimes::default()).await;
    cluster.register().await;
    let _replicas = replicas(&cluster, 3).await;
    let expected = vec![cluster.contents().ca_bundle; 3];
    let (services, hooks) = ("apiregistration.k8s.io/v1", "admissionregistration.k8s.io/v1");
    let other = String::from_utf8(cluster.contents().chain).unwrap();
    let patch = Patch::Merge(json!({ "spec": { "caBundle": base64(&other) } }));
    let api = cluster.api(services, "APIService");
    api.patch(EXTERNAL_METRICS, &PatchParams::default(), &patch).await.unwrap();
    sleep(SECOND).await;
    assert_eq!(cluster.bundles(), expected);
    api.delete(EXTERNAL_METRICS, &DeleteParams::default()).await.unwrap();
    let api = cluster.api(hooks, "ValidatingWebhookConfiguration");
    api.delete(WEBHOOKS, &DeleteParams::default()).await.unwrap();
    sleep(10 * SECOND).await;
    cluster.register().await;
    sleep(SECOND).await;
    assert_eq!(cluster.bundles(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_keda_made_is_taken_over_as_it_is() {
    let cluster = TestCluster::new(Lifetimes::default()).await;
    cluster.register().await;
    let data = json!({
        "ca.crt": base64(include_str!("keda/ca.crt")),
        "ca.key": base64(include_str!("keda/ca.key")),
        "tls.crt": base64(include_str!("keda/tls.crt")),
        "tls.key": base64(include_str!("keda/tls.key")),
    });
    cluster.apply("v1", "Secret", json!({ "metadata": { "name": SECRET }, "data": data })).await;
    let before = cluster.plane.revision().see();
    let replicas = replicas(&cluster, 2).await;
    assert_eq!(cluster.pass_time(&replicas, 60 * SECOND).await, 1);
    assert_eq!(cluster.secret_writes_since(before), 0);
    assert_eq!(cluster.bundles()[0], include_bytes!("keda/ca.crt"));
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_starts_during_a_rotation_joins() {
    let cluster = TestCluster::with_short_lifetimes().await;
    let mut all = replicas(&cluster, 1).await;
    for _ in 0..12 {
        cluster.pass_time(&all, 17 * SECOND).await;
        all.push(cluster.replica().await);
        if all.len() > 3 {
            all.remove(0);
        }
    }
    assert_eq!(all.len(), 3);
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test(start_paused = true)]
async fn a_follower_waits_writes_nothing_and_serves_what_is_rotated() {
    let cluster = TestCluster::with_short_lifetimes().await;
    let before = cluster.plane.revision().see();
    let alone = timeout(60 * SECOND, cluster.process(Role::Follows)).await;
    assert!(alone.is_err(), "there is nothing to follow");
    assert_eq!(cluster.plane.revision().see(), before);
    let (watcher, rotator) = join(cluster.process(Role::Follows), cluster.replica()).await;
    sleep(SECOND).await;
    let leaves = cluster.pass_time(&[rotator, watcher], 300 * SECOND).await;
    assert!(leaves >= 6, "{leaves} leaves in five minutes");
}
