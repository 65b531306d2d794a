//! ScaledJobs on an API server in memory, whose queue is what a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kedge_scalers::http::connector::BoxStream;
use kedge_scalers::{Connector, NoCluster, Registry};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

use crate::test_cluster::TestCluster;

const JOBS: &str = "/apis/batch/v1/namespaces/shop/jobs";
const OBJECT: &str = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledjobs/drain";
const INTERVAL: Duration = Duration::from_secs(30);

/// The length that the source answers. Below zero it fails.
#[derive(Clone, Default)]
struct Queue(Arc<AtomicI64>);

impl Queue {
    fn set(&self, length: i64) {
        self.0.store(length, Ordering::Relaxed);
    }

    /// A registry whose Prometheus servers all answer this length.
    fn registry(&self) -> Registry {
        let queue = self.clone();
        let connect = move |_: http::Uri| -> BoxFuture<'static, std::io::Result<BoxStream>> {
            let (client, mut server) = tokio::io::duplex(16 * 1024);
            let length = queue.0.load(Ordering::Relaxed);
            tokio::spawn(async move {
                let result = json!([{ "metric": {}, "value": [0, length.to_string()] }]);
                let body = json!({ "status": "success", "data": { "resultType": "vector", "result": result } });
                let (code, body) = if length < 0 { (500, String::new()) } else { (200, body.to_string()) };
                let head = format!("HTTP/1.1 {code} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
                // The request: the client sends it when it has a connection.
                server.read_u8().await?;
                server.write_all((head + &body).as_bytes()).await
            });
            Box::pin(async move { Ok(Box::new(client) as BoxStream) })
        };
        Registry::new(Default::default(), Connector::new(connect), Arc::new(NoCluster))
    }
}

/// A cluster with a ScaledJob of one message for each Job, and an operator.
struct Drained {
    cluster: TestCluster,
    queue: Queue,
    operator: JoinHandle<()>,
}

impl Drained {
    /// `spec` is merged over that of the ScaledJob.
    async fn begin(length: i64, spec: Value) -> Self {
        let (cluster, queue) = (TestCluster::new(), Queue::default());
        queue.set(length);
        apply(&cluster, spec);
        let operator = run(&cluster, &queue);
        let begun = Self { cluster, queue, operator };
        begun.poll().await;
        begun
    }

    /// Waits for the next poll, and what follows from it.
    async fn poll(&self) {
        tokio::time::sleep(INTERVAL).await;
    }

    async fn restart(&mut self) {
        self.operator.abort();
        self.operator = run(&self.cluster, &self.queue);
        tokio::time::sleep(Duration::from_secs(10)).await;
    }

    fn jobs(&self) -> Vec<Value> {
        self.cluster.objects(JOBS)
    }

    fn names(&self) -> Vec<String> {
        self.jobs().iter().map(|job| job["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Marks Jobs as ended, in the order of their names.
    fn finish(&self, names: &[&str], kind: &str) {
        for (second, name) in names.iter().enumerate() {
            let path = format!("{JOBS}/{name}");
            let mut job = self.cluster.object(&path).unwrap();
            let time = format!("2026-06-01T13:00:{second:02}Z");
            let earlier = if kind == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
            let condition =
                |kind| json!({ "type": kind, "status": "True", "lastTransitionTime": time, "reason": "Test" });
            job["status"] =
                json!({ "conditions": [condition(earlier), condition(kind)], "startTime": "2026-06-01T12:00:00Z" });
            if kind == "Complete" {
                job["status"]["completionTime"] = json!(time);
            }
            self.cluster.apply(&path, job);
        }
    }

    fn object(&self) -> Value {
        self.cluster.object(OBJECT).unwrap()
    }

    fn condition(&self, kind: &str) -> String {
        let object = self.object();
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.into_iter().find(|one| one["type"] == kind).unwrap_or_default();
        format!("{} {}", found["status"].as_str().unwrap_or("-"), found["reason"].as_str().unwrap_or("-"))
    }

    fn change(&self, change: impl FnOnce(&mut Value)) {
        let mut object = self.object();
        change(&mut object);
        self.cluster.apply(OBJECT, object);
    }

    /// The notes of the events with a reason.
    fn notes(&self, reason: &str) -> Vec<String> {
        let events = self.cluster.objects("/apis/events.k8s.io/v1/namespaces/shop/events");
        let of_reason = events.iter().filter(|event| event["reason"] == reason);
        of_reason.map(|event| event["note"].as_str().unwrap().to_owned()).collect()
    }

    fn requests(&self, method: &str) -> usize {
        self.cluster
            .requests()
            .iter()
            .filter(|request| {
                request.starts_with(method) && !request.contains("/events") && !request.ends_with(" watch")
            })
            .count()
    }
}

fn apply(cluster: &TestCluster, spec: Value) {
    let template = json!({ "spec": { "containers": [{ "name": "main", "image": "main" }], "restartPolicy": "Never" } });
    let metadata = json!({ "serverAddress": "http://queue:9090", "query": "length", "threshold": "1" });
    let mut whole = json!({
        "jobTargetRef": { "template": template },
        "pollingInterval": INTERVAL.as_secs(),
        "triggers": [{ "type": "prometheus", "metadata": metadata }],
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        whole[field] = value.clone();
    }
    cluster.apply(OBJECT, json!({ "spec": whole }));
}

fn run(cluster: &TestCluster, queue: &Queue) -> JoinHandle<()> {
    let operator = cluster.operator_of_jobs(queue.registry());
    tokio::spawn(async move { operator.run(std::future::pending()).await.unwrap() })
}

#[tokio::test(start_paused = true)]
async fn a_queue_is_drained_and_a_quiet_object_causes_no_request() {
    let drained = Drained::begin(3, json!({})).await;
    assert_eq!(drained.names(), ["drain-1-1", "drain-1-2", "drain-1-3"]);
    assert_eq!(drained.notes("KEDAJobsCreated"), ["Created 3 jobs"]);
    assert_eq!((drained.condition("Ready"), drained.condition("Active")).0, "True ScaledJobReady");
    assert_eq!(drained.condition("Active"), "True ScalerActive");
    drained.poll().await;
    assert_eq!(drained.jobs().len(), 3, "there is one for each message");
    drained.queue.set(5);
    drained.poll().await;
    assert_eq!(drained.jobs().len(), 5, "two more");
    drained.finish(&["drain-1-1", "drain-1-2", "drain-1-3", "drain-1-4", "drain-1-5"], "Complete");
    drained.queue.set(0);
    drained.poll().await;
    assert_eq!(drained.condition("Active"), "False ScalerNotActive");
    assert_eq!(drained.notes("ScaledJobInactive").len(), 1);
    let before = drained.requests("");
    for _ in 0..10 {
        drained.poll().await;
    }
    assert_eq!(drained.requests("") - before, 0, "{:?}", drained.cluster.requests());
    drained.queue.set(1);
    drained.poll().await;
    assert!(drained.names().contains(&"drain-1-6".to_owned()), "{:?}", drained.names());
}

#[tokio::test(start_paused = true)]
async fn what_was_created_unnoticed_is_found_and_not_created_again() {
    let mut drained = Drained::begin(3, json!({})).await;
    drained.restart().await;
    assert_eq!(drained.jobs().len(), 3, "the next process counts the Jobs of this one");
    // The watch shows nothing of a Job that was created.
    drained.operator.abort();
    let (cluster, queue) = (TestCluster::new(), drained.queue.clone());
    apply(&cluster, json!({}));
    let uid = cluster.object(OBJECT).unwrap()["metadata"]["uid"].clone();
    let owner = json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "name": "drain", "uid": uid });
    let template = json!({ "spec": { "containers": [{ "name": "main", "image": "main" }], "restartPolicy": "Never" } });
    for (name, owners) in [("drain-1-1", json!([owner])), ("drain-1-2", json!([]))] {
        let generation = json!({ "scaledjob.keda.sh/generation": "1" });
        // Without the label, so that it is not listed.
        let metadata = json!({ "ownerReferences": owners, "annotations": generation });
        cluster.apply(&format!("{JOBS}/{name}"), json!({ "metadata": metadata, "spec": { "template": template } }));
    }
    let operator = run(&cluster, &queue);
    let drained = Drained { cluster, queue, operator };
    drained.poll().await;
    assert_eq!(drained.names(), ["drain-1-1", "drain-1-2", "drain-1-3", "drain-1-4"]);
    assert_eq!(drained.notes("KEDAJobsCreated"), ["Created 2 jobs"], "one was there, and another is not its own");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_while_the_jobs_are_not_known() {
    let (cluster, queue) = (TestCluster::new(), Queue::default());
    queue.set(3);
    apply(&cluster, json!({ "minReplicaCount": 1 }));
    cluster.break_path("/apis/batch/v1/jobs", 403);
    let operator = run(&cluster, &queue);
    let drained = Drained { cluster, queue, operator };
    for _ in 0..5 {
        drained.poll().await;
    }
    assert_eq!(drained.names(), [""; 0]);
    drained.cluster.mend_path("/apis/batch/v1/jobs");
    drained.poll().await;
    drained.poll().await;
    drained.poll().await;
    assert_eq!(drained.names().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_creates_nothing_and_deletes_nothing() {
    let drained = Drained::begin(2, json!({})).await;
    drained.queue.set(-1);
    drained.poll().await;
    assert_eq!(drained.jobs().len(), 2);
    assert_eq!(
        (drained.condition("Ready"), drained.condition("Active")),
        ("False TriggerError".into(), "False ScalerNotActive".into())
    );
    assert_eq!(drained.notes("KEDAScalerFailed").len(), 1, "it is published once");
    drained.poll().await;
    assert_eq!(drained.notes("KEDAScalerFailed").len(), 1);
    drained.queue.set(3);
    drained.poll().await;
    assert_eq!((drained.jobs().len(), drained.condition("Ready")), (3, "True ScaledJobReady".into()));
}

#[tokio::test(start_paused = true)]
async fn a_trigger_that_is_not_built_does_not_silence_the_others() {
    let metadata = json!({ "serverAddress": "http://queue:9090", "query": "length", "threshold": "1" });
    let triggers = json!([{ "type": "abacus", "metadata": {} }, { "type": "prometheus", "metadata": metadata }]);
    let drained = Drained::begin(2, json!({ "triggers": triggers })).await;
    assert_eq!(drained.jobs().len(), 2);
    assert_eq!(drained.condition("Ready"), "False ScaledJobCheckFailed");
    assert_eq!(drained.condition("Active"), "True ScalerActive");
}

#[tokio::test(start_paused = true)]
async fn finished_jobs_beyond_the_limits_go_as_soon_as_they_have_finished() {
    let drained = Drained::begin(4, json!({ "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 0 })).await;
    drained.queue.set(0);
    drained.finish(&["drain-1-1", "drain-1-2"], "Complete");
    drained.finish(&["drain-1-3"], "Failed");
    // Long before the next poll.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(drained.names(), ["drain-1-2", "drain-1-4"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_spec_replaces_running_jobs_unless_the_rollout_is_gradual() {
    for (rollout, expected) in [
        (json!({}), vec!["drain-2-1", "drain-2-2"]),
        (json!({ "strategy": "gradual" }), vec!["drain-1-1", "drain-1-2"]),
    ] {
        let drained = Drained::begin(2, json!({ "rollout": rollout })).await;
        drained.change(|object| object["spec"]["jobTargetRef"]["backoffLimit"] = json!(1));
        drained.poll().await;
        assert_eq!(drained.names(), expected, "{rollout}");
        let is_replaced = rollout == json!({});
        let notes = drained.notes("ScaledJobRolloutCleanupCompleted");
        assert_eq!(notes, vec!["Deleted 2 jobs owned by the previous version of the scaledJob"; is_replaced.into()]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_lets_jobs_run_and_its_end_polls_at_once() {
    let drained = Drained::begin(1, json!({})).await;
    let annotate = |value: Value| {
        drained.change(|object| object["metadata"]["annotations"] = json!({ "autoscaling.keda.sh/paused": value }))
    };
    annotate(json!("true"));
    drained.queue.set(5);
    drained.poll().await;
    drained.poll().await;
    assert_eq!((drained.jobs().len(), drained.condition("Paused")), (1, "True ScaledJobPaused".into()));
    assert_eq!(drained.notes("KEDAScalersStopped").len(), 1);
    annotate(json!("false"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((drained.jobs().len(), drained.condition("Paused")), (5, "False ScaledJobUnpaused".into()));
}

#[tokio::test(start_paused = true)]
async fn jobs_that_are_refused_are_reported_and_tried_again() {
    let drained = Drained::begin(0, json!({})).await;
    drained.cluster.break_path(JOBS, 403);
    drained.queue.set(100);
    drained.poll().await;
    assert_eq!(drained.condition("Ready"), "False KEDAJobCreateFailed");
    assert_eq!(drained.condition("Active"), "True ScalerActive");
    let tries = drained.requests("POST /apis/batch");
    assert!((1..=20).contains(&tries), "{tries} tries: what is refused once is not tried a hundred times");
    assert_eq!(drained.notes("KEDAJobCreateFailed"), ["Failed to create job drain-: status 403"]);
    drained.cluster.mend_path(JOBS);
    drained.poll().await;
    assert_eq!((drained.jobs().len(), drained.condition("Ready")), (100, "True ScaledJobReady".into()));
    // A Job that is tried again keeps its name: it may have been created although no answer came.
    assert!((1..=100).all(|sequence| drained.names().contains(&format!("drain-1-{sequence}"))));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_loses_its_finalizer() {
    let drained = Drained::begin(1, json!({})).await;
    assert_eq!(drained.object()["metadata"]["finalizers"], json!(["finalizer.keda.sh"]));
    assert_eq!(drained.object()["metadata"]["generation"], 1, "the spec is left alone");
    drained.cluster.delete(OBJECT);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(drained.cluster.object(OBJECT), None);
    assert_eq!(drained.notes("ScaledJobDeleted"), ["ScaledJob was deleted"]);
}

#[tokio::test(start_paused = true)]
async fn pending_jobs_are_those_without_a_pod_that_runs() {
    let drained = Drained::begin(2, json!({ "scalingStrategy": { "strategy": "accurate" } })).await;
    assert_eq!(drained.jobs().len(), 2);
    drained.poll().await;
    assert_eq!(drained.jobs().len(), 2, "both will take a message");
    for name in drained.names() {
        let labels = json!({ "batch.kubernetes.io/job-name": name, "scaledjob.keda.sh/name": "drain" });
        let spec = json!({ "containers": [{ "name": "main", "image": "main" }] });
        let pod = json!({ "metadata": { "labels": labels }, "spec": spec, "status": { "phase": "Running" } });
        drained.cluster.apply(&format!("/api/v1/namespaces/shop/pods/{name}"), pod);
    }
    drained.poll().await;
    assert_eq!(drained.jobs().len(), 4, "the queue is without the messages that running Jobs have taken");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_reported_and_can_be_deleted() {
    let cluster = TestCluster::new();
    // As under an older CRD.
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/scaledjobs.keda.sh";
    let mut accepting = cluster.object(crd).unwrap();
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    accepting["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = any;
    cluster.apply(crd, accepting);
    apply(&cluster, json!({ "rollout": { "strategy": "sideways" } }));
    let mut object = cluster.object(OBJECT).unwrap();
    object["metadata"]["finalizers"] = json!(["finalizer.keda.sh"]);
    cluster.apply(OBJECT, object);
    let queue = Queue::default();
    let operator = run(&cluster, &queue);
    let drained = Drained { cluster, queue, operator };
    drained.poll().await;
    assert_eq!(drained.condition("Ready"), "False ScaledJobCheckFailed");
    let notes = drained.notes("ScaledJobCheckFailed");
    assert!(notes.len() == 1 && notes[0].contains("sideways") && notes[0].contains("apply it again"), "{notes:?}");
    drained.cluster.delete(OBJECT);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(drained.cluster.object(OBJECT), None);
}

#[tokio::test(start_paused = true)]
async fn an_authentication_lists_the_scaled_jobs_that_use_it() {
    let metadata =
        json!({ "serverAddress": "http://queue:9090", "query": "length", "threshold": "1", "authModes": "bearer" });
    let trigger = json!({ "type": "prometheus", "metadata": metadata, "authenticationRef": { "name": "token" } });
    let drained = Drained::begin(2, json!({ "triggers": [trigger] })).await;
    assert_eq!(drained.condition("Ready"), "False ScaledJobCheckFailed");
    let authentication = "/apis/keda.sh/v1alpha1/namespaces/shop/triggerauthentications/token";
    let variable = json!({ "parameter": "bearerToken", "name": "TOKEN" });
    drained.cluster.apply(authentication, json!({ "spec": { "env": [variable] } }));
    drained.change(|object| {
        let container = &mut object["spec"]["jobTargetRef"]["template"]["spec"]["containers"][0];
        container["env"] = json!([{ "name": "TOKEN", "value": "t0ken" }]);
    });
    drained.poll().await;
    assert_eq!((drained.jobs().len(), drained.condition("Ready")), (2, "True ScaledJobReady".into()));
    let status = drained.cluster.object(authentication).unwrap()["status"].clone();
    assert_eq!(status, json!({ "scaledjobs": "drain" }));
    assert_eq!(drained.object()["status"]["authenticationsTypes"], "token");
    drained.cluster.delete(OBJECT);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let status = drained.cluster.object(authentication).unwrap()["status"].clone();
    assert!(status.get("scaledjobs").is_none(), "{status}");
}
