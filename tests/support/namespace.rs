//! A namespace for one test: builders for its objects with short defaults, and waits for conditions.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU32, Ordering};

use kedge_test_cluster::Cluster;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use serde_json::{Value, json};

/// One namespace.
#[derive(Debug)]
pub struct TestNamespace<'a> {
    pub cluster: &'a Cluster,
    pub name: String,
    /// The length of the audit log when the namespace was created.
    audit_start: u64,
}

/// Deletes the ScaledObjects of a test that passed: polled on, they would slow down the tests that share the cluster.
impl Drop for TestNamespace<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let namespace = format!("--namespace={}", self.name);
            // Some clusters do not have the kind.
            let _ = self.cluster.kubectl(["delete", "scaledobjects.keda.sh", "--all", "--wait=false", &namespace]);
        }
    }
}

impl<'a> TestNamespace<'a> {
    /// Creates a new namespace; its name begins with the title.
    pub fn create(cluster: &'a Cluster, title: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{title}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let audit_start = fs::metadata(cluster.audit_log()).map_or(0, |log| log.len());
        cluster.apply(&object).expect("a namespace");
        Self { cluster, name, audit_start }
    }

    /// The audit log since the namespace was created: tests that share a cluster need not read what came before.
    pub fn audit_log(&self) -> String {
        let mut log = File::open(self.cluster.audit_log()).expect("an audit log");
        log.seek(SeekFrom::Start(self.audit_start)).expect("a file");
        let mut text = Vec::new();
        log.read_to_end(&mut text).expect("a readable file");
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Applies objects, in this namespace.
    pub fn apply(&self, objects: impl IntoIterator<Item = Value>) {
        let place = |mut object: Value| {
            object["metadata"]["namespace"] = json!(self.name);
            object
        };
        let items: Vec<Value> = objects.into_iter().map(place).collect();
        if items.is_empty() {
            return;
        }
        self.cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": items })).expect("applied");
    }

    /// Runs kubectl in this namespace.
    pub fn kubectl<const N: usize>(&self, arguments: [&str; N]) -> String {
        let namespace = format!("--namespace={}", self.name);
        self.cluster.kubectl(arguments.into_iter().chain([namespace.as_str()])).expect("kubectl")
    }

    /// An object as JSON; null if it does not exist.
    pub fn get(&self, kind: &str, name: &str) -> Value {
        if let Some(plural) = api_path(kind) {
            return self.get_path(&format!("{plural}/{name}"));
        }
        let text = self.kubectl(["get", kind, name, "--ignore-not-found", "--output=json"]);
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// All objects of a kind, as a list.
    pub fn list(&self, kind: &str) -> Value {
        self.get_path(api_path(kind).unwrap_or_else(|| panic!("the path of {kind} is not known")))
    }

    /// Reads a path with `{}` in place of this namespace.
    fn get_path(&self, path: &str) -> Value {
        let path = path.replace("{}", &self.name);
        self.cluster.read(&path).expect("the API server answers").unwrap_or_default()
    }

    /// The desired replicas of a workload.
    pub fn replicas(&self, kind: &str, name: &str) -> Option<i64> {
        self.get(kind, name)["spec"]["replicas"].as_i64()
    }

    /// A condition of a ScaledObject: status and reason.
    pub fn condition(&self, name: &str, kind: &str) -> (String, String) {
        let found = self.full_condition(name, kind);
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"))
    }

    /// The message of a condition of a ScaledObject.
    pub fn message(&self, name: &str, kind: &str) -> String {
        self.full_condition(name, kind)["message"].as_str().unwrap_or_default().to_owned()
    }

    fn full_condition(&self, name: &str, kind: &str) -> Value {
        let object = self.get("scaledobject", name);
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
    }

    /// The notes of all events on an object with this reason.
    pub fn events(&self, reason: &str) -> Vec<String> {
        let all = self.list("event");
        let has_reason = |event: &&Value| event["reason"] == reason;
        all["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(has_reason)
            .map(|event| event["note"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Waits until `read` returns this.
    pub async fn until<T: PartialEq + std::fmt::Debug>(&self, what: &str, wanted: T, read: impl Fn(&Self) -> T) {
        let seen = wait_for(what, DEADLINE, async || {
            let seen = read(self);
            if seen == wanted { Ok(()) } else { Err(seen) }
        });
        if let Err(error) = seen.await {
            panic!("{}: {error}\n{}", self.name, self.kubectl(["get", "so,hpa,deploy"]));
        }
    }

    /// Waits until events with this reason contain all of these texts, and returns their notes. The operator publishes an event after
    /// the write that it is about.
    pub async fn events_with(&self, reason: &str, texts: &[&str]) -> Vec<String> {
        let has_all = |notes: &[String]| texts.iter().all(|text| notes.iter().any(|note| note.contains(text)));
        self.until(&format!("events {reason} with {texts:?}"), true, |namespace| has_all(&namespace.events(reason)))
            .await;
        self.events(reason)
    }

    /// Waits until a Deployment has this many desired replicas.
    pub async fn until_replicas(&self, name: &str, wanted: i64) {
        self.until(&format!("{name} has {wanted} replicas"), Some(wanted), |namespace| {
            namespace.replicas("deployment", name)
        })
        .await;
    }
}

/// The path of the objects of a kind that is read often, with `{}` in place of the namespace.
fn api_path(kind: &str) -> Option<&'static str> {
    match kind {
        "so" | "scaledobject" => Some("/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects"),
        "hpa" => Some("/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"),
        "deployment" => Some("/apis/apps/v1/namespaces/{}/deployments"),
        "statefulset" => Some("/apis/apps/v1/namespaces/{}/statefulsets"),
        "scaledjob" => Some("/apis/keda.sh/v1alpha1/namespaces/{}/scaledjobs"),
        "job" => Some("/apis/batch/v1/namespaces/{}/jobs"),
        "pod" => Some("/api/v1/namespaces/{}/pods"),
        "event" => Some("/apis/events.k8s.io/v1/namespaces/{}/events"),
        _ => None,
    }
}

/// A Deployment.
pub fn deployment(name: &str, replicas: i64) -> Value {
    workload("Deployment", name, replicas)
}

/// A workload of the apps group.
pub fn workload(kind: &str, name: &str, replicas: i64) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": { "labels": { "app": name } }, "spec": { "containers": [{ "name": "main", "image": "main" }] } },
        },
    });
    if kind == "StatefulSet" {
        object["spec"]["serviceName"] = json!(name);
    }
    object
}

/// A TriggerAuthentication or ClusterTriggerAuthentication.
pub fn authentication(kind: &str, name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "keda.sh/v1alpha1", "kind": kind, "metadata": { "name": name }, "spec": spec })
}

/// A trigger that takes its credentials from such an object.
pub fn with_authentication(mut trigger: Value, kind: &str, name: &str) -> Value {
    trigger["authenticationRef"] = json!({ "kind": kind, "name": name });
    trigger
}

/// A ScaledObject for the Deployment of the same name, polled every second, with a short cooldown and an HPA that scales
/// in at once. `spec` is merged over that.
pub fn scaled_object(name: &str, triggers: impl IntoIterator<Item = Value>, spec: Value) -> Value {
    let triggers: Vec<Value> = triggers.into_iter().collect();
    let mut object = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": name },
        "spec": {
            "scaleTargetRef": { "name": name }, "pollingInterval": 1, "cooldownPeriod": 2, "triggers": triggers,
            "advanced": { "horizontalPodAutoscalerConfig": { "behavior": { "scaleDown": { "stabilizationWindowSeconds": 0 } } } },
        },
    });
    json_patch::merge(&mut object["spec"], &spec);
    object
}

/// A cron trigger whose window is always open: its start never comes, so it has always been.
pub fn cron_open(replicas: i64) -> Value {
    cron("0 0 30 2 *", "0 0 1 1 *", replicas)
}

/// A cron trigger whose window is never open.
pub fn cron_closed(replicas: i64) -> Value {
    cron("0 0 1 1 *", "0 0 30 2 *", replicas)
}

fn cron(start: &str, end: &str, replicas: i64) -> Value {
    let metadata = json!({ "timezone": "UTC", "start": start, "end": end, "desiredReplicas": replicas.to_string() });
    json!({ "type": "cron", "metadata": metadata })
}

/// A prometheus trigger.
pub fn prometheus(url: &str, query: &str, threshold: i64) -> Value {
    json!({ "type": "prometheus", "metadata": { "serverAddress": url, "query": query, "threshold": threshold.to_string() } })
}
