//! Many ScaledObjects on an API server in memory, in virtual time: the heap of an operator, by object, and what a quiet poll costs.
//!
//! `cargo bench --bench fleet` measures 1,000 objects, or as many as `-- --objects N` says; `cargo test --bench fleet` only checks that it
//! works, with a few.

use std::alloc::System;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use chrono::{DateTime, Utc};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response, Uri};
use http_body_util::BodyExt;
use kedge_cluster::Clock;
use kedge_operator::{KubeReads, Operator, Settings};
use kedge_plane::{Options, Plane};
use kedge_scalers::http::connector::BoxStream;
use kedge_scalers::{Connector, Registry};
use kube::client::Body;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tower_service::Service;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How many objects are measured, and how many are enough to see that it works.
const OBJECTS: usize = 1_000;
const FEW_OBJECTS: usize = 20;

const POLLING_INTERVAL: Duration = Duration::from_secs(10);

/// How long the operator gets to create the HPAs, and to be quiet again.
const SETTLES_FOR: Duration = Duration::from_secs(120);

/// How many polls of each object are measured.
const POLLS: u32 = 6;

const HPAS: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let default = if arguments.iter().any(|one| one == "--bench") { OBJECTS } else { FEW_OBJECTS };
    let given = arguments.iter().skip_while(|one| *one != "--objects").nth(1);
    let objects = given.map_or(Ok(default), |given| given.parse()).context("--objects needs a number")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(measure(objects))
}

async fn measure(objects: usize) -> anyhow::Result<()> {
    let cluster = Cluster(Plane::new(Options::default()));
    cluster.prepare(objects).await?;
    let first = cluster.start_operator();
    tokio::time::sleep(SETTLES_FOR).await;
    cluster.report_as_hpa_controller(objects).await?;
    tokio::time::sleep(SETTLES_FOR).await;

    let (region, started) = (Region::new(ALLOCATOR), processor_time());
    tokio::time::sleep(POLLING_INTERVAL * POLLS).await;
    let (quiet, used) = (region.change(), processor_time() - started);
    let polls = objects as f64 * f64::from(POLLS);
    println!("{objects} ScaledObjects with one Prometheus trigger");
    println!("{:8.1} allocations of a quiet poll", quiet.allocations as f64 / polls);
    println!("{:8.0} bytes allocated by it", quiet.bytes_allocated as f64 / polls);
    println!("{:8.1} µs of processor time, with those of the source", used.as_secs_f64() * 1e6 / polls);

    // Another operator writes nothing: what is allocated for it is what it holds.
    first.abort();
    drop(first.await);
    let region = Region::new(ALLOCATOR);
    let second = cluster.start_operator();
    tokio::time::sleep(SETTLES_FOR).await;
    let held = region.change();
    let by_object = |allocated: usize, freed: usize| (allocated as f64 - freed as f64) / objects as f64;
    println!("{:8.0} bytes of heap by object", by_object(held.bytes_allocated, held.bytes_deallocated));
    println!("{:8.0} blocks of heap by object", by_object(held.allocations, held.deallocations));
    ensure!(!second.is_finished(), "the operator ended");
    Ok(())
}

/// The processor time that this process has used.
fn processor_time() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(used).expect("it is not negative")
}

/// The API server in memory.
#[derive(Clone)]
struct Cluster(Plane);

impl Cluster {
    /// Creates our kinds, and so many objects with their targets.
    async fn prepare(&self, objects: usize) -> anyhow::Result<()> {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } });
        self.send(Method::POST, "/api/v1/namespaces", &namespace).await?;
        for crd in kedge_api::crd::all() {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            self.send(Method::POST, path, &serde_json::to_value(crd)?).await?;
        }
        for number in 0..objects {
            let name = format!("worker-{number}");
            self.send(Method::POST, "/apis/apps/v1/namespaces/shop/deployments", &deployment(&name)).await?;
            let path = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects";
            self.send(Method::POST, path, &scaled_object(&name)).await?;
        }
        Ok(())
    }

    /// Writes the status that the HPA controller gives an HPA.
    async fn report_as_hpa_controller(&self, objects: usize) -> anyhow::Result<()> {
        for number in 0..objects {
            let path = format!("{HPAS}/keda-hpa-worker-{number}");
            let mut hpa = self.send(Method::GET, &path, &Value::Null).await?;
            hpa["status"] = hpa_status(number);
            self.send(Method::PUT, &format!("{path}/status"), &hpa).await?;
        }
        Ok(())
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let response = self.0.handle("user", request.body(Body::from(body.to_string().into_bytes()))?).await;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(status.is_success(), "{path}: {}", String::from_utf8_lossy(&body));
        Ok(serde_json::from_slice(&body)?)
    }

    fn start_operator(&self) -> JoinHandle<()> {
        let client = kube::Client::new(self.clone(), "default");
        let reads = Arc::new(KubeReads::new(client.clone(), Default::default()));
        let registry = Registry::new(Default::default(), Connector::new(connect), reads);
        let settings = Settings {
            namespaces: Vec::new(),
            selector: None,
            concurrency: 5,
            instance: "one".to_owned(),
            version: "1.0.0".to_owned(),
            credentials: Default::default(),
            election: None,
            history: None,
            runs_scaled_jobs: false,
        };
        let noon: DateTime<Utc> = "2026-06-01T12:00:00Z".parse().expect("a time");
        let operator = Operator::start(client, Clock::starting_at(noon), registry, settings);
        tokio::spawn(async { operator.run(std::future::pending()).await.expect("the operator does not break") })
    }
}

impl Service<Request<Body>> for Cluster {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let plane = self.0.clone();
        async move { Ok(plane.handle("operator", request).await) }.boxed()
    }
}

/// A connection to a Prometheus server.
fn connect(_: Uri) -> BoxFuture<'static, io::Result<BoxStream>> {
    let (client, server) = tokio::io::duplex(16 * 1024);
    tokio::spawn(respond(server));
    Box::pin(async { Ok(Box::new(client) as BoxStream) })
}

/// Responds to every query with half of the threshold.
async fn respond(mut connection: DuplexStream) -> io::Result<()> {
    let body =
        r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1780315200.123,"5"]}]}}"#;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let response = head + body;
    let mut request = [0; 4096];
    let mut length = 0;
    loop {
        let read = connection.read(&mut request[length..]).await?;
        if read == 0 {
            return Ok(());
        }
        length += read;
        if request[..length].ends_with(b"\r\n\r\n") {
            connection.write_all(response.as_bytes()).await?;
            length = 0;
        }
    }
}

fn deployment(name: &str) -> Value {
    let labels = json!({ "app": name });
    let template =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": "main" }] } });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": { "replicas": 1, "selector": { "matchLabels": labels }, "template": template },
    })
}

fn scaled_object(name: &str) -> Value {
    let metadata = json!({ "serverAddress": "http://prometheus:9090", "query": format!("queue_length{{queue=\"{name}\"}}"), "threshold": "10" });
    json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": name },
        "spec": {
            "scaleTargetRef": { "name": name }, "pollingInterval": POLLING_INTERVAL.as_secs(), "maxReplicaCount": 10,
            "triggers": [{ "type": "prometheus", "metadata": metadata }],
        },
    })
}

fn hpa_status(number: usize) -> Value {
    let selector = json!({ "matchLabels": { "scaledobject.keda.sh/name": format!("worker-{number}") } });
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": "2026-06-01T12:00:00Z",
        })
    };
    json!({
        "currentReplicas": 1, "desiredReplicas": 1, "lastScaleTime": "2026-06-01T12:00:00Z",
        "currentMetrics": [{
            "type": "External",
            "external": { "metric": { "name": "s0-prometheus", "selector": selector }, "current": { "averageValue": "5" } },
        }],
        "conditions": [
            condition("AbleToScale", "ReadyForNewScale", "recommended size matches current size"),
            condition("ScalingActive", "ValidMetricFound", "the HPA was able to successfully calculate a replica count from external metric s0-prometheus"),
            condition("ScalingLimited", "DesiredWithinRange", "the desired count is within the acceptable range"),
        ],
    })
}
