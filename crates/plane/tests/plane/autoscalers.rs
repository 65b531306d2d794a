//! Autoscalers on the plane, in virtual time: when they are reconciled, what they read, and what they write.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use http::{Request, Response};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kedge_plane::controllers::{Controllers, Settings};
use kedge_plane::{Backend, Options, Plane};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

static EPOCH: LazyLock<DateTime<Utc>> = LazyLock::new(|| "2026-01-01T00:00:00Z".parse().unwrap());

/// A cluster in memory with controllers and a source of metrics.
struct Cluster {
    plane: Plane,
    client: Client,
    load: Arc<AtomicI64>,
    questions: Arc<AtomicU32>,
}

impl Cluster {
    /// Wall time follows tokio's, and pods are ready at once.
    fn start() -> Self {
        let began_at = Instant::now();
        let wall = move || *EPOCH + TimeDelta::from_std(began_at.elapsed()).unwrap();
        let plane = Plane::new(Options { wall: Arc::new(wall), ..Options::default() });
        tokio::spawn(Controllers::new(&plane, Settings::default()).run());
        let client = plane.client("tester");
        Self { plane, client, load: Arc::default(), questions: Arc::default() }
    }

    /// The API of a group is answered by this server.
    async fn serve(&self, group: &str, answer: impl Fn() -> Value + Clone + Send + Sync + 'static) {
        let host = group.replace('.', "-");
        let service: APIService = from(json!({
            "metadata": { "name": format!("v1beta1.{group}") },
            "spec": {
                "group": group, "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
                "service": { "namespace": "default", "name": host },
            },
        }));
        Api::all(self.client.clone()).create(&PostParams::default(), &service).await.unwrap();
        let answering = move |_: Request<Body>| {
            let body = answer().to_string();
            async move { Ok(Response::new(Body::from(body.into_bytes()))) }
        };
        self.plane.register_backend(&format!("{host}.default.svc"), Backend::new(answering));
    }

    async fn serve_load(&self) {
        let (load, questions) = (self.load.clone(), self.questions.clone());
        let answer = move || {
            questions.fetch_add(1, Ordering::Relaxed);
            let value = load.load(Ordering::Relaxed).to_string();
            json!({ "items": [{ "metricName": "load", "timestamp": "2026-01-01T00:00:00Z", "value": value }] })
        };
        self.serve("external.metrics.k8s.io", answer).await;
    }

    async fn deploy(&self, name: &str, replicas: i32) {
        let labels = json!({ "app": "web" });
        let deployment: Deployment = from(json!({
            "metadata": { "name": name },
            "spec": {
                "replicas": replicas, "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "main", "image": "i", "resources": { "requests": { "cpu": "1" } } }] },
                },
            },
        }));
        Api::default_namespaced(self.client.clone()).create(&PostParams::default(), &deployment).await.unwrap();
    }

    async fn autoscale(&self, name: &str, metrics: Value) {
        let autoscaler = from(json!({
            "metadata": { "name": name },
            "spec": {
                "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": name },
                "minReplicas": 1, "maxReplicas": 10, "metrics": metrics,
            },
        }));
        self.autoscalers().create(&PostParams::default(), &autoscaler).await.unwrap();
    }

    fn autoscalers(&self) -> Api<HorizontalPodAutoscaler> {
        Api::default_namespaced(self.client.clone())
    }

    async fn replicas(&self, name: &str) -> i32 {
        let deployments: Api<Deployment> = Api::default_namespaced(self.client.clone());
        deployments.get(name).await.unwrap().spec.unwrap().replicas.unwrap()
    }

    /// Status, reason and message of a condition.
    async fn condition(&self, name: &str, kind: &str) -> (String, String, String) {
        let status = self.autoscalers().get(name).await.unwrap().status.unwrap_or_default();
        let found = status.conditions.into_iter().flatten().find(|condition| condition.type_ == kind);
        let found = found.unwrap_or_default();
        (found.status, found.reason.unwrap_or_default(), found.message.unwrap_or_default())
    }
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is well-formed")
}

fn load_per_replica(target: i32) -> Value {
    let target = json!({ "type": "AverageValue", "averageValue": target.to_string() });
    json!([{ "type": "External", "external": { "metric": { "name": "load" }, "target": target } }])
}

async fn wait(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn passes_are_a_period_apart_and_nothing_makes_them_come_early() {
    let cluster = Cluster::start();
    cluster.serve_load().await;
    cluster.load.store(35, Ordering::Relaxed);
    cluster.deploy("web", 1).await;
    wait(1).await;
    cluster.autoscale("web", load_per_replica(10)).await;
    wait(14).await;
    assert_eq!(cluster.replicas("web").await, 1, "a new one waits for a period");
    wait(2).await;
    assert_eq!(cluster.replicas("web").await, 4);

    let patch = Patch::Merge(json!({ "spec": { "metrics": load_per_replica(5) } }));
    cluster.autoscalers().patch("web", &PatchParams::default(), &patch).await.unwrap();
    wait(13).await;
    assert_eq!(cluster.replicas("web").await, 4, "so does a changed one");
    wait(2).await;
    assert_eq!(cluster.replicas("web").await, 7);
    wait(15 * 10).await;
    assert_eq!(cluster.questions.load(Ordering::Relaxed), 12, "one question a pass");
}

#[tokio::test(start_paused = true)]
async fn status_and_events_report_what_was_done() {
    let cluster = Cluster::start();
    cluster.serve_load().await;
    cluster.load.store(35, Ordering::Relaxed);
    cluster.deploy("web", 1).await;
    cluster.autoscale("web", load_per_replica(10)).await;
    wait(16).await;
    let status = cluster.autoscalers().get("web").await.unwrap().status.unwrap();
    assert_eq!((status.current_replicas, status.desired_replicas), (Some(1), 4));
    assert_eq!(cluster.condition("web", "AbleToScale").await.1, "SucceededRescale");
    let events: Api<Event> = Api::default_namespaced(cluster.client.clone());
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let recorded: Vec<_> =
        events.iter().map(|event| (event.reason.as_deref().unwrap(), event.message.as_deref().unwrap())).collect();
    assert_eq!(recorded, [("SuccessfulRescale", "New size: 4; reason: external metric load(nil) above target")]);
    assert_eq!(events[0].source.as_ref().unwrap().component.as_deref(), Some("horizontal-pod-autoscaler"));
    wait(15 * 20).await;
    let later = cluster.autoscalers().get("web").await.unwrap();
    wait(15 * 20).await;
    let version = cluster.autoscalers().get("web").await.unwrap().metadata.resource_version;
    assert_eq!(version, later.metadata.resource_version, "a status that says the same is not written");
}

#[tokio::test(start_paused = true)]
async fn missing_metrics_are_reported_in_the_controllers_words() {
    let cluster = Cluster::start();
    cluster.deploy("web", 2).await;
    cluster.autoscale("web", load_per_replica(10)).await;
    cluster.autoscale("nowhere", load_per_replica(10)).await;
    wait(16).await;
    let (status, reason, message) = cluster.condition("web", "ScalingActive").await;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "FailedGetExternalMetric"));
    let because = "unable to fetch metrics from external metrics API: \
                   the server could not find the requested resource (get load.external.metrics.k8s.io)";
    assert!(message.ends_with(because), "{message}");
    let (status, reason, message) = cluster.condition("nowhere", "AbleToScale").await;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "FailedGetScale"));
    assert!(message.ends_with("deployments.apps \"nowhere\" not found"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn two_autoscalers_of_the_same_pods_stop_each_other() {
    let cluster = Cluster::start();
    cluster.serve_load().await;
    cluster.load.store(50, Ordering::Relaxed);
    for name in ["web", "web-too"] {
        cluster.deploy(name, 1).await;
        cluster.autoscale(name, load_per_replica(10)).await;
    }
    wait(31).await;
    let (_, reason, message) = cluster.condition("web", "ScalingActive").await;
    assert_eq!(reason, "AmbiguousSelector");
    let because = "pods by selector app=web are controlled by multiple HPAs: [default/web default/web-too]";
    assert_eq!(message, because);
}

#[tokio::test(start_paused = true)]
async fn usage_of_pods_is_read_from_the_resource_metrics_api() {
    let cluster = Cluster::start();
    cluster.deploy("web", 2).await;
    wait(1).await;
    let plane = cluster.plane.clone();
    let usage = move || {
        let pods = plane.objects(&kedge_plane::Gvr::new("", "v1", "pods"), Some("default"));
        let item = |pod: Arc<Value>| {
            json!({
                "metadata": { "name": pod["metadata"]["name"] }, "timestamp": plane.now().to_rfc3339(), "window": "10s",
                "containers": [{ "name": "main", "usage": { "cpu": "1600m" } }],
            })
        };
        json!({ "items": pods.into_iter().map(item).collect::<Vec<_>>() })
    };
    cluster.serve("metrics.k8s.io", usage).await;
    let target = json!({ "type": "Utilization", "averageUtilization": 80 });
    cluster.autoscale("web", json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }])).await;
    wait(5 * 60).await;
    let (status, _, message) = cluster.condition("web", "ScalingActive").await;
    assert_eq!(status, "True", "{message}");
    assert_eq!(cluster.replicas("web").await, 10, "160 % of what is requested, where 80 % is wanted");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_autoscaler_is_forgotten_at_its_next_pass() {
    let cluster = Cluster::start();
    cluster.serve_load().await;
    cluster.load.store(50, Ordering::Relaxed);
    cluster.deploy("web", 1).await;
    // name, seconds without an autoscaler, replicas at the end
    let rows = [("what is remembered of five lifts it back", 10, 5), ("a period later nothing is remembered", 40, 2)];
    for (name, seconds, expected) in rows {
        cluster.load.store(50, Ordering::Relaxed);
        cluster.autoscale("web", load_per_replica(10)).await;
        wait(32).await;
        assert_eq!(cluster.replicas("web").await, 5);
        cluster.autoscalers().delete("web", &DeleteParams::default()).await.unwrap();
        wait(seconds).await;
        cluster.load.store(10, Ordering::Relaxed);
        let scale = Patch::Merge(json!({ "spec": { "replicas": 2 } }));
        let deployments: Api<Deployment> = Api::default_namespaced(cluster.client.clone());
        deployments.patch("web", &PatchParams::default(), &scale).await.unwrap();
        wait(1).await;
        cluster.autoscale("web", load_per_replica(10)).await;
        wait(20).await;
        assert_eq!(cluster.replicas("web").await, expected, "{name}");
        cluster.autoscalers().delete("web", &DeleteParams::default()).await.unwrap();
        wait(60).await;
    }
}
