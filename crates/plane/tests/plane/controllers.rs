//! Workloads on the plane, in virtual time: pods come, are ready after their start-up, and go.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use kedge_plane::controllers::{Controllers, Settings};
use kedge_plane::{Options, Plane};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::sleep;

const START_UP: Duration = Duration::from_secs(2);

/// A plane whose controllers run beside the test.
fn plane() -> Client {
    let plane = Plane::new(Options::default());
    tokio::spawn(Controllers::new(&plane, Settings { start_up: START_UP, ..Settings::default() }).run());
    plane.client("tester")
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is well-formed")
}

fn spec(replicas: i32, image: &str) -> Value {
    let labels = json!({ "app": "web" });
    json!({
        "replicas": replicas, "selector": { "matchLabels": labels }, "serviceName": "web",
        "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": image }] } },
    })
}

async fn deploy(client: &Client, replicas: i32) -> Api<Deployment> {
    let api = Api::default_namespaced(client.clone());
    let mut spec = spec(replicas, "one");
    spec.as_object_mut().unwrap().remove("serviceName");
    spec["progressDeadlineSeconds"] = json!(600);
    let deployment = from(json!({ "metadata": { "name": "web" }, "spec": spec }));
    api.create(&PostParams::default(), &deployment).await.unwrap();
    api
}

/// Time passes.
async fn wait(seconds: f64) {
    sleep(Duration::from_secs_f64(seconds)).await;
}

/// The pods by name: whether each is ready.
async fn pods(client: &Client) -> Vec<(String, bool)> {
    let api: Api<Pod> = Api::default_namespaced(client.clone());
    let is_ready = |pod: &Pod| {
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    let pods = api.list(&ListParams::default()).await.unwrap();
    pods.iter().map(|pod| (pod.name_any(), is_ready(pod))).collect()
}

async fn scale(api: &Api<Deployment>, replicas: i32) {
    let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    api.patch("web", &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_deployment_are_ready_after_their_start_up() {
    let client = plane();
    let api = deploy(&client, 3).await;
    wait(1.0).await;
    assert_eq!(pods(&client).await.iter().filter(|(_, ready)| !ready).count(), 3, "they start");
    let status = api.get("web").await.unwrap().status.unwrap();
    assert_eq!((status.replicas, status.ready_replicas, status.unavailable_replicas), (Some(3), None, Some(3)));

    wait(1.5).await;
    assert!(pods(&client).await.iter().all(|(_, ready)| *ready), "they run");
    let deployment = api.get("web").await.unwrap();
    let status = deployment.status.unwrap();
    assert_eq!((status.replicas, status.ready_replicas, status.unavailable_replicas), (Some(3), Some(3), None));
    assert_eq!((status.available_replicas, status.updated_replicas), (Some(3), Some(3)));
    assert_eq!(status.observed_generation, deployment.metadata.generation);
    let mut reasons: Vec<_> = status.conditions.unwrap().into_iter().filter_map(|condition| condition.reason).collect();
    reasons.sort();
    assert_eq!(reasons, ["MinimumReplicasAvailable", "NewReplicaSetAvailable"]);
}

#[tokio::test(start_paused = true)]
async fn the_newest_pods_go_first_and_names_are_used_again() {
    let client = plane();
    let api = deploy(&client, 2).await;
    wait(5.0).await;
    let first = pods(&client).await;
    scale(&api, 4).await;
    wait(1.0).await;
    assert_eq!(pods(&client).await.len(), 4);
    scale(&api, 2).await;
    wait(1.0).await;
    assert_eq!(pods(&client).await, first, "the two that were there before");
    scale(&api, 0).await;
    wait(1.0).await;
    assert_eq!(pods(&client).await, []);
    let status = api.get("web").await.unwrap().status.unwrap();
    assert_eq!((status.replicas, status.ready_replicas, status.available_replicas), (None, None, None));
}

#[tokio::test(start_paused = true)]
async fn a_new_template_rolls_out_without_a_gap() {
    let client = plane();
    let api = deploy(&client, 2).await;
    wait(5.0).await;
    let old = pods(&client).await;
    let template =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "main", "image": "two" }] } } } });
    api.patch("web", &PatchParams::default(), &Patch::Strategic(template)).await.unwrap();
    wait(1.0).await;
    let both = pods(&client).await;
    assert!(both.len() == 4 && old.iter().all(|pod| both.contains(pod)), "the old ones serve: {both:?}");
    wait(2.0).await;
    let new = pods(&client).await;
    assert!(new.len() == 2 && new.iter().all(|pod| pod.1 && !old.contains(pod)), "{new:?}");
    let status = api.get("web").await.unwrap().status.unwrap();
    assert_eq!((status.replicas, status.updated_replicas, status.ready_replicas), (Some(2), Some(2), Some(2)));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_a_deleted_deployment() {
    let client = plane();
    let api = deploy(&client, 2).await;
    wait(5.0).await;
    api.delete("web", &DeleteParams::background()).await.unwrap();
    wait(1.0).await;
    let sets: Api<ReplicaSet> = Api::default_namespaced(client.clone());
    assert_eq!(sets.list(&ListParams::default()).await.unwrap().items, []);
    assert_eq!(pods(&client).await, []);
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_stateful_set_come_and_go_one_after_another() {
    let client = plane();
    let api: Api<StatefulSet> = Api::default_namespaced(client.clone());
    let set = from(json!({ "metadata": { "name": "web" }, "spec": spec(3, "one") }));
    api.create(&PostParams::default(), &set).await.unwrap();
    let rows = [("the first alone", 1.0, 1), ("the second when it is ready", 2.0, 2), ("and the third", 2.0, 3)];
    for (name, seconds, expected) in rows {
        wait(seconds).await;
        assert_eq!(pods(&client).await.len(), expected, "{name}");
    }
    wait(2.0).await;
    let status = api.get("web").await.unwrap().status.unwrap();
    assert_eq!((status.replicas, status.ready_replicas, status.updated_replicas), (3, Some(3), Some(3)));
    assert_eq!(status.current_revision, status.update_revision);
    let patch = Patch::Merge(json!({ "spec": { "replicas": 1 } }));
    api.patch("web", &PatchParams::default(), &patch).await.unwrap();
    wait(1.0).await;
    assert_eq!(pods(&client).await, [("web-0".to_owned(), true)]);
}

#[tokio::test(start_paused = true)]
async fn every_run_is_the_same_run() {
    async fn run() -> (Vec<(String, bool)>, Value) {
        let client = plane();
        let api = deploy(&client, 5).await;
        wait(3.0).await;
        scale(&api, 2).await;
        wait(1.0).await;
        let status = api.get("web").await.unwrap().status.unwrap();
        (pods(&client).await, json!([status.replicas, status.observed_generation]))
    }
    assert_eq!(run().await, run().await);
}
