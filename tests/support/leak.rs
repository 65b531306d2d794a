//! Leak checks: searches for the passwords and tokens of tests in everything that others can read.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use kedge_test_cluster::{Cluster, RunningOperator};
use serde_json::Value;

use crate::namespace::TestNamespace;

/// Kinds that must not hold a secret; `Secret` itself is not among them.
const KINDS: &str = "scaledobjects,scaledjobs,triggerauthentications,clustertriggerauthentications,hpa,deployments,replicasets,\
    pods,events,events.events.k8s.io,configmaps,services,leases,apiservices,namespaces";

/// A part of every secret of this process, and of nothing else.
pub fn marker() -> &'static str {
    static MARKER: LazyLock<String> = LazyLock::new(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        format!("hush{}x{:x}", std::process::id(), now)
    });
    &MARKER
}

/// Fails with the places if the marker, or one of these texts, can be read anywhere.
pub async fn assert_nowhere(namespace: &TestNamespace<'_>, operator: &RunningOperator, more: &[String]) {
    let found = places(namespace, operator, more).await;
    assert!(found.is_empty(), "a secret can be read in {} places:\n{}", found.len(), found.join("\n"));
}

/// Where the marker, or one of these texts, can be read: the place, and the line.
pub async fn places(namespace: &TestNamespace<'_>, operator: &RunningOperator, more: &[String]) -> Vec<String> {
    let words: Vec<&str> = more.iter().map(String::as_str).chain([marker()]).collect();
    let mut places = logs(namespace.cluster);
    places.push(("the operator's own metrics".to_owned(), operator.metrics().await.expect("metrics")));
    places.extend(objects(namespace.cluster));
    places.extend(metrics(namespace));
    let find = |(place, text): &(String, String)| {
        let lines = text.lines().filter(|line| words.iter().any(|word| line.contains(word)));
        lines.map(|line| format!("{place}: {}", line.trim())).collect::<Vec<_>>()
    };
    places.iter().flat_map(find).collect()
}

/// The logs of every operator and of the control plane, and the audit log.
fn logs(cluster: &Cluster) -> Vec<(String, String)> {
    let mut paths = vec![cluster.audit_log()];
    collect_logs(cluster.folder(), &mut paths);
    let read = |path: PathBuf| {
        let text = std::fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        (path.display().to_string(), text)
    };
    paths.into_iter().map(read).collect()
}

fn collect_logs(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_log = path.parent().is_some_and(|parent| parent.ends_with("logs"));
        match path.is_dir() {
            // The data of etcd holds the Secrets themselves.
            true if !path.ends_with("etcd") => collect_logs(&path, paths),
            false if is_log => paths.push(path),
            _ => {}
        }
    }
}

/// All objects, without what users wrote into the specs of their own.
fn objects(cluster: &Cluster) -> Vec<(String, String)> {
    let all = cluster.kubectl(["get", KINDS, "--all-namespaces", "--output=json"]).expect("objects");
    let mut all: Value = serde_json::from_str(&all).expect("JSON");
    let items = all["items"].as_array_mut().expect("a list");
    let one = |object: &mut Value| {
        let place = format!("{} {}/{}", object["kind"], object["metadata"]["namespace"], object["metadata"]["name"]);
        if object["apiVersion"] == "keda.sh/v1alpha1" {
            object.as_object_mut().expect("an object").remove("spec");
        }
        (place, serde_json::to_string_pretty(object).expect("JSON"))
    };
    items.iter_mut().map(one).collect()
}

/// What the external metrics API answers for the ScaledObjects of a namespace, errors included.
fn metrics(namespace: &TestNamespace<'_>) -> Vec<(String, String)> {
    let all: Value = serde_json::from_str(&namespace.kubectl(["get", "scaledobjects", "--output=json"])).expect("JSON");
    let mut answers = Vec::new();
    for object in all["items"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = text(&object["metadata"]["name"]);
        let names = object["status"]["externalMetricNames"].as_array().cloned().unwrap_or_default();
        for metric in names.iter().map(text).chain(["composite-metric".to_owned()]) {
            let path = format!(
                "/apis/external.metrics.k8s.io/v1beta1/namespaces/{}/{metric}?labelSelector=scaledobject.keda.sh%2Fname%3D{name}",
                namespace.name
            );
            let answer =
                namespace.cluster.kubectl(["get", "--raw", &path]).unwrap_or_else(|error| format!("{error:#}"));
            answers.push((format!("the answer for {metric} of {name}"), answer));
        }
    }
    answers
}
