//! The same manifests, sent as dry runs to a cluster with our CRDs and to one with KEDA's: the same verdict for the same
//! reason, and the same stored object.

use std::path::{Path, PathBuf};

use kedge_api::{ClusterTriggerAuthentication, ScaledJob, ScaledObject, TriggerAuthentication};
use kedge_tests::files;
use kube::core::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::shared;

/// The response of an API server to a manifest.
#[derive(Debug, PartialEq)]
enum Verdict {
    Stored(Value),
    Refused(Box<Status>),
}

/// Whether unknown fields are dropped or refused: `kubectl` sets the second.
const FIELD_VALIDATIONS: [&str; 2] = ["Warn", "Strict"];

#[tokio::test]
async fn manifests_get_the_same_verdict_and_are_stored_alike() {
    let ours = shared::ours().await.client().await.unwrap();
    let kedas = shared::kedas().await.client().await.unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in manifests() {
        let manifest = files::read_yaml(&path);
        for field_validation in FIELD_VALIDATIONS {
            let ours = send(&ours, &manifest, field_validation).await;
            let kedas = send(&kedas, &manifest, field_validation).await;
            if ours != kedas {
                wrong.push(format!("{} ({field_validation}):\nours  {ours:?}\nKEDA's {kedas:?}", path.display()));
            }
            if field_validation == "Warn" {
                wrong.extend(check(&path, &ours));
            }
        }
        seen += 1;
    }
    assert!(seen >= 80, "only {seen} manifests");
    assert!(wrong.is_empty(), "{} of {seen} manifests:\n{}", wrong.len(), wrong.join("\n"));
    println!("{seen} manifests, the same on both");
}

fn manifests() -> Vec<PathBuf> {
    let folder = files::workspace().join("tests/manifests");
    ["accepted", "refused"].iter().flat_map(|verdict| files::list(&folder.join(verdict), "yaml")).collect()
}

async fn send(client: &kube::Client, manifest: &Value, field_validation: &str) -> Verdict {
    let kind = manifest["kind"].as_str().unwrap();
    let scope = if kind == "ClusterTriggerAuthentication" { "" } else { "/namespaces/default" };
    let resource = format!("/apis/keda.sh/v1alpha1{scope}/{}s", kind.to_lowercase());
    let request = http::Request::post(format!("{resource}?dryRun=All&fieldValidation={field_validation}"))
        .header("content-type", "application/json")
        .body(manifest.to_string().into_bytes())
        .unwrap();
    match client.request::<Value>(request).await {
        Ok(stored) => Verdict::Stored(normalise(stored)),
        Err(kube::Error::Api(status)) => Verdict::Refused(status),
        Err(error) => panic!("no answer from the API server: {error}"),
    }
}

/// Leaves out what differs from request to request.
fn normalise(mut stored: Value) -> Value {
    let metadata = stored["metadata"].as_object_mut().unwrap();
    for changing in ["creationTimestamp", "uid", "managedFields"] {
        metadata.remove(changing);
    }
    stored
}

/// Checks a verdict against the file: the folder says whether it must be refused, and the first line why. Returns the problem.
fn check(path: &Path, verdict: &Verdict) -> Option<String> {
    let text = files::read(path);
    let must_be_refused = path.parent().is_some_and(|folder| folder.ends_with("refused"));
    let reason = text.lines().next().and_then(|line| line.strip_prefix("# refused: "));
    match (verdict, must_be_refused, reason) {
        (Verdict::Refused(status), true, Some(reason)) if status.message.contains(reason) => None,
        (Verdict::Stored(stored), false, None) => {
            survives_our_types(stored).map(|lost| format!("{}: {lost}", path.display()))
        }
        _ => Some(format!("{}: expected {reason:?}, got {verdict:?}", path.display())),
    }
}

/// The difference between a stored object and the same object read into our types and written again.
fn survives_our_types(stored: &Value) -> Option<String> {
    let written = match stored["kind"].as_str().unwrap() {
        // KEDA: a ScaledJob without a spec is accepted; our type requires one.
        "ScaledJob" if stored.get("spec").is_none() => return None,
        "ScaledJob" => rewrite::<ScaledJob>(stored),
        "ScaledObject" => rewrite::<ScaledObject>(stored),
        "TriggerAuthentication" => rewrite::<TriggerAuthentication>(stored),
        _ => rewrite::<ClusterTriggerAuthentication>(stored),
    };
    match written {
        Ok(written) if written == *stored => None,
        Ok(written) => Some(format!("read and written again it is {written}, not {stored}")),
        Err(error) => Some(format!("{error}, reading {stored}")),
    }
}

fn rewrite<T: Serialize + DeserializeOwned>(stored: &Value) -> serde_json::Result<Value> {
    serde_json::to_value(serde_json::from_value::<T>(stored.clone())?)
}

#[tokio::test]
async fn a_bad_object_does_not_change_the_stored_one() {
    let cluster = shared::ours().await;
    let client = cluster.client().await.unwrap();
    let api: kube::Api<ScaledObject> = kube::Api::namespaced(client, "default");
    let good: ScaledObject = serde_json::from_value(json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "kept" },
        "spec": { "scaleTargetRef": { "name": "kept" }, "maxReplicaCount": 7, "triggers": [{ "type": "cron", "metadata": {} }] },
    }))
    .unwrap();
    let stored = api.create(&Default::default(), &good).await.unwrap();
    let mut bad = stored.clone();
    bad.spec.max_replica_count = Some(0);
    let refusal = api.replace("kept", &Default::default(), &bad).await.unwrap_err().to_string();
    assert!(refusal.contains("spec.maxReplicaCount"), "{refusal}");
    assert_eq!(api.get("kept").await.unwrap(), stored);
    api.delete("kept", &Default::default()).await.unwrap();
}
