//! The cpu utilisation of pods. The HPA controller reads it from a real metrics-server, which reads it from kwok, which takes
//! it from annotations of the pods.

use kedge_test_cluster::{Cluster, RunningOperator};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{quick, start_with_operator};

static RUNNING: OnceCell<(Cluster, RunningOperator)> = OnceCell::const_new();

/// A cluster with a metrics-server, whose HPA controller uses the metrics of new pods.
async fn cluster() -> &'static Cluster {
    let builder = quick("resources")
        .metrics_server()
        .controller_manager_flag("--horizontal-pod-autoscaler-cpu-initialization-period=1s")
        .controller_manager_flag("--horizontal-pod-autoscaler-initial-readiness-delay=1s");
    &RUNNING.get_or_init(|| start_with_operator(builder)).await.0
}

#[tokio::test]
async fn replicas_follow_the_cpu_utilisation() {
    let namespace = TestNamespace::create(cluster().await, "cpu");
    namespace
        .apply([using("web", [("main", "900m")]), scaled_object("web", [cpu(json!({ "value": "50" }))], bounds())]);
    // Three at 90 % are six at 45 %, and the maximum is five.
    namespace.until_replicas("web", 5).await;
    until_ready(&namespace, "web", 5).await;
    until_measured(&namespace, "resource").await;
    namespace
        .until("the status names it", json!(["cpu"]), |namespace| {
            namespace.get("so", "web")["status"]["resourceMetricNames"].clone()
        })
        .await;

    set_usage(&namespace, "main", "100m");
    namespace.until_replicas("web", 1).await;
}

#[tokio::test]
async fn one_container_counts_alone() {
    let namespace = TestNamespace::create(cluster().await, "container");
    // All containers together are at 46 %, which is within the tolerance of 50 %.
    let metadata = json!({ "value": "50", "containerName": "main" });
    namespace
        .apply([using("web", [("main", "900m"), ("proxy", "20m")]), scaled_object("web", [cpu(metadata)], bounds())]);
    namespace.until_replicas("web", 5).await;
    until_ready(&namespace, "web", 5).await;
    until_measured(&namespace, "containerResource").await;
    assert_eq!(
        namespace.get("hpa", "keda-hpa-web")["spec"]["metrics"],
        json!([{ "type": "ContainerResource", "containerResource": {
            "name": "cpu", "container": "main", "target": { "type": "Utilization", "averageUtilization": 50 },
        }}])
    );

    // Now all containers together are at the target.
    set_usage(&namespace, "proxy", "900m");
    set_usage(&namespace, "main", "100m");
    namespace.until_replicas("web", 1).await;
}

/// A Deployment with three replicas, whose containers request one core each and use this much of it.
fn using<const N: usize>(name: &str, usage: [(&str, &str); N]) -> Value {
    let container = |(name, _)| json!({ "name": name, "image": name, "resources": { "requests": { "cpu": "1" } } });
    let annotation = |(container, amount)| (usage_annotation(container), json!(amount));
    let mut object = deployment(name, 3);
    object["spec"]["template"]["metadata"]["annotations"] = usage.into_iter().map(annotation).collect();
    object["spec"]["template"]["spec"]["containers"] = usage.into_iter().map(container).collect();
    object
}

fn cpu(metadata: Value) -> Value {
    json!({ "type": "cpu", "metricType": "Utilization", "metadata": metadata })
}

fn bounds() -> Value {
    json!({ "minReplicaCount": 1, "maxReplicaCount": 5 })
}

fn usage_annotation(container: &str) -> String {
    format!("kwok.x-k8s.io/usage-cpu.{container}")
}

/// Changes what a container of all pods uses.
fn set_usage(namespace: &TestNamespace<'_>, container: &str, amount: &str) {
    let annotation = format!("{}={amount}", usage_annotation(container));
    namespace.kubectl(["annotate", "pods", "--all", "--overwrite", &annotation]);
}

async fn until_ready(namespace: &TestNamespace<'_>, name: &str, count: i64) {
    let ready = |namespace: &TestNamespace<'_>| namespace.get("deployment", name)["status"]["readyReplicas"].as_i64();
    namespace.until(&format!("{count} pods of {name} are ready"), Some(count), ready).await;
}

/// Waits until the HPA has measured what the busy container uses: about 90 %, because scrapes are not on time to the millisecond.
async fn until_measured(namespace: &TestNamespace<'_>, source: &str) {
    let is_near = |namespace: &TestNamespace<'_>| {
        let metric = namespace.get("hpa", "keda-hpa-web")["status"]["currentMetrics"][0][source].clone();
        metric["current"]["averageUtilization"].as_i64().is_some_and(|percent| (80..=100).contains(&percent))
    };
    namespace.until("the HPA measures about 90 %", true, is_near).await;
}
