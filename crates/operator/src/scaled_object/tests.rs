//! When objects are polled.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kedge_scalers::http::connector::BoxStream;
use kedge_scalers::{Connector, NoCluster, Registry};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::poll_schedule::FIRST_POLLS;
use crate::test_cluster::TestCluster;

const OBJECTS: usize = 20;

/// Objects that an earlier process scaled to zero, whose window has opened meanwhile. Each is polled once an hour.
fn scaled_to_zero() -> TestCluster {
    let cluster = TestCluster::new();
    for index in 0..OBJECTS {
        cluster.apply_known(&format!("web-{index}"), 0, json!({ "pollingInterval": 3600 }));
    }
    cluster
}

fn active(cluster: &TestCluster) -> usize {
    let deployments = cluster.objects("/apis/apps/v1/namespaces/shop/deployments");
    deployments.iter().filter(|deployment| deployment["spec"]["replicas"] != 0).count()
}

#[tokio::test(start_paused = true)]
async fn a_new_process_activates_targets_soon_whatever_their_polling_interval() {
    let cluster = scaled_to_zero();
    let running = tokio::spawn(cluster.operator().run(std::future::pending()));
    tokio::time::sleep(FIRST_POLLS / 5).await;
    let first = active(&cluster);
    tokio::time::sleep(FIRST_POLLS).await;
    assert_eq!(active(&cluster), OBJECTS);
    assert!(first < OBJECTS, "{first} at once");
    running.abort();
}

/// A registry whose sources accept a connection and never respond.
fn silent_sources() -> Registry {
    let connect = |_: http::Uri| -> BoxFuture<'static, std::io::Result<BoxStream>> { Box::pin(std::future::pending()) };
    Registry::new(Default::default(), Connector::new(connect), Arc::new(NoCluster))
}

/// An object that is polled once an hour and whose source never responds.
fn apply_hung(cluster: &TestCluster, name: &str) {
    let metadata = json!({ "serverAddress": "http://silent:9090", "query": "up", "threshold": "1", "timeout": "10h" });
    let triggers = json!([{ "type": "prometheus", "metadata": metadata }]);
    cluster.apply_known(name, 3, json!({ "pollingInterval": 3600, "triggers": triggers }));
}

fn path(name: &str) -> String {
    format!("/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects/{name}")
}

#[tokio::test(start_paused = true)]
async fn sources_that_hang_delay_neither_other_objects_nor_changes_of_their_own() {
    let cluster = TestCluster::new();
    (0..OBJECTS).for_each(|index| apply_hung(&cluster, &format!("hung-{index}")));
    let running = tokio::spawn(cluster.operator_with(silent_sources()).run(std::future::pending()));
    tokio::time::sleep(2 * FIRST_POLLS).await;
    // There is one slot for all of them.
    cluster.apply_known("web", 0, json!({ "pollingInterval": 3600 }));
    let replicas = |name: &str| {
        let deployment = cluster.object(&format!("/apis/apps/v1/namespaces/shop/deployments/{name}")).unwrap();
        deployment["spec"]["replicas"].clone()
    };
    tokio::time::sleep(FIRST_POLLS).await;
    assert_eq!(replicas("web"), 1, "another object is polled");
    let mut paused = cluster.object(&path("hung-1")).unwrap();
    paused["metadata"]["annotations"] = json!({ "autoscaling.keda.sh/paused-replicas": "7" });
    cluster.apply(&path("hung-1"), paused);
    cluster.delete(&path("hung-2"));
    tokio::time::sleep(FIRST_POLLS).await;
    assert_eq!(replicas("hung-1"), 7, "a pause takes effect");
    assert_eq!(cluster.object(&path("hung-2")), None, "a deletion ends");
    running.abort();
}

/// A registry whose sources respond that there is no work, and count the queries.
fn idle_sources(queries: &Arc<AtomicUsize>) -> Registry {
    let queries = queries.clone();
    let connect = move |_: http::Uri| -> BoxFuture<'static, std::io::Result<BoxStream>> {
        queries.fetch_add(1, Ordering::Relaxed);
        let (client, mut server) = tokio::io::duplex(16 * 1024);
        tokio::spawn(async move {
            let body = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            // The request: the client sends it when it has a connection.
            server.read_u8().await?;
            server.write_all((head + body).as_bytes()).await
        });
        Box::pin(async move { Ok(Box::new(client) as BoxStream) })
    };
    Registry::new(Default::default(), Connector::new(connect), Arc::new(NoCluster))
}

#[tokio::test(start_paused = true)]
async fn a_quiet_object_is_polled_while_writes_of_others_take_all_slots() {
    let cluster = TestCluster::new();
    let metadata = json!({ "serverAddress": "http://idle:9090", "query": "up", "threshold": "1" });
    let triggers = json!([{ "type": "prometheus", "metadata": metadata }]);
    cluster.apply_known("quiet", 0, json!({ "pollingInterval": 10, "triggers": triggers }));
    let queries = Arc::new(AtomicUsize::new(0));
    let running = tokio::spawn(cluster.operator_with(idle_sources(&queries)).run(std::future::pending()));
    tokio::time::sleep(Duration::from_secs(60)).await;
    cluster.slow_down("/status", Duration::from_secs(600));
    cluster.apply_known("new", 1, json!({}));
    let before = queries.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(queries.load(Ordering::Relaxed) - before, 10);
    assert_eq!(ready(&cluster, "new"), Value::Null, "the one slot is held");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn an_operator_stops_at_once_though_sources_hang() {
    let cluster = TestCluster::new();
    (0..OBJECTS).for_each(|index| apply_hung(&cluster, &format!("hung-{index}")));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(cluster.operator_with(silent_sources()).run(async { drop(stopped.await) }));
    tokio::time::sleep(2 * FIRST_POLLS).await;
    let started = tokio::time::Instant::now();
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert!(started.elapsed().as_secs() < 1, "{:?}", started.elapsed());
}

/// The Ready condition of an object.
fn ready(cluster: &TestCluster, name: &str) -> Value {
    let object = cluster.object(&path(name)).unwrap();
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_reported_and_can_be_deleted() {
    let cluster = TestCluster::new();
    // As under an older CRD.
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/scaledobjects.keda.sh";
    let mut accepting = cluster.object(crd).unwrap();
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    accepting["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = any;
    cluster.apply(crd, accepting);
    let fallback = json!({ "failureThreshold": 1, "replicas": 1, "behavior": "sideways" });
    cluster.apply_known("web", 3, json!({ "fallback": fallback }));
    let mut object = cluster.object(&path("web")).unwrap();
    object["metadata"]["finalizers"] = json!(["finalizer.keda.sh"]);
    cluster.apply(&path("web"), object);
    let running = tokio::spawn(cluster.operator().run(std::future::pending()));
    tokio::time::sleep(FIRST_POLLS).await;
    let condition = ready(&cluster, "web");
    assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &json!("ScaledObjectCheckFailed")));
    let message = condition["message"].as_str().unwrap();
    assert!(message.contains("sideways") && message.contains("apply it again"), "{message}");
    let events = cluster.objects("/apis/events.k8s.io/v1/namespaces/shop/events");
    assert!(events.iter().any(|event| event["note"] == *message), "{events:?}");
    let writes = || cluster.requests().iter().filter(|request| request.starts_with("PATCH")).count();
    let before = writes();
    tokio::time::sleep(100 * FIRST_POLLS).await;
    assert_eq!(writes(), before, "it is reported once");
    cluster.delete(&path("web"));
    tokio::time::sleep(FIRST_POLLS).await;
    assert_eq!(cluster.object(&path("web")), None);
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_name_is_too_long_for_a_label_is_reported_and_can_be_deleted() {
    let (cluster, name) = (TestCluster::new(), "a".repeat(64));
    cluster.apply_known("web", 3, json!({}));
    let object = cluster.object(&path("web")).unwrap();
    cluster.delete(&path("web"));
    cluster.apply(&path(&name), json!({ "spec": object["spec"] }));
    let running = tokio::spawn(cluster.operator().run(std::future::pending()));
    tokio::time::sleep(FIRST_POLLS).await;
    let message = ready(&cluster, &name)["message"].clone();
    assert!(message.as_str().is_some_and(|text| text.contains("a shorter name")), "{message}");
    cluster.delete(&path(&name));
    tokio::time::sleep(FIRST_POLLS).await;
    assert_eq!(cluster.object(&path(&name)), None);
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn an_hpa_that_another_client_keeps_changing_is_written_a_bounded_number_of_times() {
    let cluster = TestCluster::new();
    cluster.apply_known("web", 4, json!({}));
    let running = tokio::spawn(cluster.operator().run(std::future::pending()));
    tokio::time::sleep(2 * FIRST_POLLS).await;
    let hpa = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/keda-hpa-web";
    let writes = || cluster.requests().iter().filter(|request| request.starts_with(&format!("PUT {hpa}"))).count();
    let before = writes();
    for _ in 0..600 {
        let mut changed = cluster.object(hpa).unwrap();
        changed["spec"]["maxReplicas"] = json!(7);
        cluster.apply(hpa, changed);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let written = writes() - before;
    assert!((20..=11 * 20).contains(&written), "{written} writes in ten minutes");
    let message = ready(&cluster, "web")["message"].clone();
    assert!(message.as_str().is_some_and(|text| text.contains("find the client that changes it")), "{message}");
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(cluster.object(hpa).unwrap()["spec"]["maxReplicas"], 100, "it is corrected when the client is gone");
    assert_eq!(ready(&cluster, "web")["status"], "True");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn no_target_is_scaled_in_on_readings_that_a_slow_api_server_made_old() {
    let cluster = TestCluster::new();
    let window = json!({ "timezone": "UTC", "start": "0 1 * * *", "end": "0 2 * * *", "desiredReplicas": "1" });
    let closed = json!([{ "type": "cron", "metadata": window }]);
    cluster.apply_known("web", 3, json!({ "triggers": closed, "cooldownPeriod": 1, "pollingInterval": 10 }));
    let scale = "/apis/apps/v1/namespaces/shop/deployments/web/scale";
    let writes = || cluster.requests().iter().filter(|request| request.starts_with(&format!("PUT {scale}"))).count();
    cluster.slow_down("/scale", Duration::from_secs(20));
    let running = tokio::spawn(cluster.operator().run(std::future::pending()));
    tokio::time::sleep(Duration::from_secs(600)).await;
    let reads = cluster.requests().iter().filter(|request| request.starts_with(&format!("GET {scale}"))).count();
    assert!(reads > 3 && writes() == 0, "{reads} reads, {} writes", writes());
    cluster.slow_down("/scale", Duration::ZERO);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!((writes(), active(&cluster)), (1, 0), "it scales in when the API server is quick again");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn polls_keep_their_interval_though_the_status_cannot_be_written() {
    let cluster = TestCluster::new();
    cluster.apply_known("web", 4, json!({ "pollingInterval": 10 }));
    let running = tokio::spawn(cluster.operator().run(std::future::pending()));
    tokio::time::sleep(4 * FIRST_POLLS).await;
    let status = format!("{}/status", path("web"));
    cluster.break_path(&status, 403);
    // Another client removes the conditions, so that there is something to write.
    let mut object = cluster.object(&path("web")).unwrap();
    object["status"]["conditions"] = json!([]);
    cluster.apply(&path("web"), object);
    let writes = || cluster.requests().iter().filter(|request| request.ends_with(&status)).count();
    let before = writes();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let written = writes() - before;
    assert!((55..=70).contains(&written), "{written} attempts in ten minutes");
    running.abort();
}
