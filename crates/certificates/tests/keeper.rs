//! Keepers on an API in memory, in virtual time: what replicas show is what the API server trusts, at every moment.

// A test ends at the first thing that is not as it must be, helpers included.
#![allow(clippy::unwrap_used)]

#[path = "keeper/rig.rs"]
mod rig;

use std::time::Duration;

use futures::future::{join, join_all};
use kedge_certificates::bundles::EXTERNAL_METRICS;
use kedge_certificates::{Lifetimes, Part, Plan, plan};
use kube::api::{DeleteParams, Patch, PatchParams};
use rig::{Replica, Rig, SECRET, WEBHOOKS, is_trusted};
use serde_json::json;
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(60 * 60);

async fn replicas(rig: &Rig, count: usize) -> Vec<Replica> {
    let replicas = join_all((0..count).map(|_| rig.replica())).await;
    // The first look at the bundles is on its way.
    sleep(SECOND).await;
    replicas
}

#[tokio::test(start_paused = true)]
async fn a_fresh_install_has_certificates_at_once_and_then_rests() {
    let rig = Rig::new(Lifetimes::default()).await;
    let replica = rig.replica().await;
    let contents = rig.contents();
    assert!(matches!(plan(&contents, &rig.settings().wanted, rig.now()), Plan::Keep { .. }));
    let secret = rig.object("secrets").unwrap();
    let labels = json!({
        "app": "keda-operator", "app.kubernetes.io/name": "keda-operator",
        "app.kubernetes.io/component": "keda-operator", "app.kubernetes.io/part-of": "keda",
    });
    assert_eq!(secret["metadata"]["labels"], labels);
    sleep(SECOND).await;
    rig.register().await;
    sleep(SECOND).await;
    assert_eq!(rig.bundles(), [contents.authorities.clone(), contents.authorities.clone(), contents.authorities]);
    let rest = rig.plane.revision().see();
    assert_eq!(rig.live(&[replica], HOUR).await, 1);
    assert_eq!(rig.plane.revision().see(), rest, "nothing is written while all is well");
}

#[tokio::test(start_paused = true)]
async fn three_that_start_at_once_agree() {
    let rig = Rig::new(Lifetimes::default()).await;
    rig.register().await;
    let before = rig.plane.revision().see();
    let replicas = replicas(&rig, 3).await;
    assert_eq!(rig.live(&replicas, 10 * SECOND).await, 1, "all show the same leaf");
    assert_eq!(rig.secret_writes_since(before), 1);
}

#[tokio::test(start_paused = true)]
async fn leaves_and_authorities_are_renewed_and_nobody_is_ever_distrusted() {
    let rig = Rig::hurried().await;
    let replicas = replicas(&rig, 3).await;
    let first = rig.contents();
    let leaves = rig.live(&replicas, 600 * SECOND).await;
    assert!((12..=30).contains(&leaves), "{leaves} leaves in ten minutes");
    assert_ne!(rig.contents().authority_key, first.authority_key);
    let leaf = replicas[0].certificate.leaf();
    assert!(!is_trusted(&leaf, &first.authorities, rig.now()), "the first authority is out of use");
    let authorities = String::from_utf8(rig.contents().authorities).unwrap().matches("BEGIN").count();
    assert!(authorities <= 2, "{authorities} authorities are trusted");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_secret_is_made_anew_without_a_gap() {
    let rig = Rig::new(Lifetimes::default()).await;
    rig.register().await;
    let replicas = replicas(&rig, 3).await;
    let before = (rig.contents(), replicas[0].certificate.leaf());
    rig.secrets().delete(SECRET, &DeleteParams::default()).await.unwrap();
    assert_eq!(rig.live(&replicas, 30 * SECOND).await, 1, "the old leaf is shown until the new authority is trusted");
    assert_eq!(rig.contents().chain, before.0.chain);
    assert_ne!(rig.contents().authority_key, before.0.authority_key);
    assert_eq!(rig.live(&replicas, 60 * SECOND).await, 2);
    assert_ne!(replicas[0].certificate.leaf(), before.1);
    rig.live(&replicas, HOUR + 60 * SECOND).await;
    assert!(
        rig.bundles().iter().all(|bundle| !is_trusted(&before.1, bundle, rig.now())),
        "the old authority is dropped"
    );
}

#[tokio::test(start_paused = true)]
async fn a_spoilt_secret_heals() {
    let parts = ["ca.crt", "ca.key", "tls.crt", "tls.key"];
    let garbage = "aGVsbG8=";
    let rig = Rig::new(Lifetimes::default()).await;
    rig.register().await;
    let replicas = replicas(&rig, 3).await;
    let all = json!(parts.map(|part| (part, garbage)).into_iter().collect::<std::collections::BTreeMap<_, _>>());
    let rows = parts.iter().map(|part| json!({ *part: garbage })).chain([all, json!(null)]);
    for data in rows {
        rig.spoil(data.clone()).await;
        rig.live(&replicas, 10 * SECOND).await;
        let planned = plan(&rig.contents(), &rig.settings().wanted, rig.now());
        assert!(matches!(planned, Plan::Keep { .. } | Plan::Follow { .. }), "{data}: {planned:?}");
        rig.live(&replicas, 120 * SECOND).await;
        let planned = plan(&rig.contents(), &rig.settings().wanted, rig.now());
        assert!(matches!(planned, Plan::Keep { .. }), "{data}: {planned:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn bundles_are_restored_when_somebody_changes_or_recreates_them() {
    let rig = Rig::new(Lifetimes::default()).await;
    rig.register().await;
    let _replicas = replicas(&rig, 3).await;
    let expected = vec![rig.contents().authorities; 3];
    let (services, hooks) = ("apiregistration.k8s.io/v1", "admissionregistration.k8s.io/v1");
    let other = String::from_utf8(rig.contents().chain).unwrap();
    let patch = Patch::Merge(json!({ "spec": { "caBundle": base64(&other) } }));
    let api = rig.api(services, "APIService");
    api.patch(EXTERNAL_METRICS, &PatchParams::default(), &patch).await.unwrap();
    sleep(SECOND).await;
    assert_eq!(rig.bundles(), expected);
    api.delete(EXTERNAL_METRICS, &DeleteParams::default()).await.unwrap();
    let api = rig.api(hooks, "ValidatingWebhookConfiguration");
    api.delete(WEBHOOKS, &DeleteParams::default()).await.unwrap();
    sleep(10 * SECOND).await;
    rig.register().await;
    sleep(SECOND).await;
    assert_eq!(rig.bundles(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_keda_made_is_taken_over_as_it_is() {
    let rig = Rig::new(Lifetimes::default()).await;
    rig.register().await;
    let data = json!({
        "ca.crt": base64(include_str!("keda/ca.crt")),
        "ca.key": base64(include_str!("keda/ca.key")),
        "tls.crt": base64(include_str!("keda/tls.crt")),
        "tls.key": base64(include_str!("keda/tls.key")),
    });
    rig.apply("v1", "Secret", json!({ "metadata": { "name": SECRET }, "data": data })).await;
    let before = rig.plane.revision().see();
    let replicas = replicas(&rig, 2).await;
    assert_eq!(rig.live(&replicas, 60 * SECOND).await, 1);
    assert_eq!(rig.secret_writes_since(before), 0);
    assert_eq!(rig.bundles()[0], include_bytes!("keda/ca.crt"));
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_starts_in_the_middle_of_it_all_joins() {
    let rig = Rig::hurried().await;
    let mut all = replicas(&rig, 1).await;
    for _ in 0..12 {
        rig.live(&all, 17 * SECOND).await;
        all.push(rig.replica().await);
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
async fn who_follows_waits_writes_nothing_and_shows_what_is_kept() {
    let rig = Rig::hurried().await;
    let before = rig.plane.revision().see();
    let alone = timeout(60 * SECOND, rig.process(Part::Follows)).await;
    assert!(alone.is_err(), "there is nothing to follow");
    assert_eq!(rig.plane.revision().see(), before);
    let (follower, keeper) = join(rig.process(Part::Follows), rig.replica()).await;
    sleep(SECOND).await;
    let leaves = rig.live(&[keeper, follower], 300 * SECOND).await;
    assert!(leaves >= 6, "{leaves} leaves in five minutes");
}
