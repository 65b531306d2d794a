//! When objects are looked at.

use chrono::{DateTime, Utc};
use kedge_scalers::{Connector, NoCluster, Registry};
use serde_json::json;

use super::*;
use crate::run::{Operator, Settings};
use crate::test_cluster::TestCluster;

const OBJECTS: usize = 20;

/// Objects that an earlier process laid to sleep, whose window has opened meanwhile. Each is polled once an hour.
fn sleeping() -> TestCluster {
    let cluster = TestCluster::new();
    let cron = json!({ "timezone": "Etc/UTC", "start": "0 0 1 1 *", "end": "59 23 31 12 *", "desiredReplicas": "4" });
    for index in 0..OBJECTS {
        let name = format!("web-{index}");
        let labels = json!({ "app": name });
        let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": "main" }] } });
        let spec = json!({ "replicas": 0, "selector": { "matchLabels": labels }, "template": template });
        cluster.apply(&format!("/apis/apps/v1/namespaces/shop/deployments/{name}"), json!({ "spec": spec }));
        let trigger = json!({ "type": "cron", "metadata": cron });
        let spec = json!({ "scaleTargetRef": { "name": name }, "pollingInterval": 3600, "triggers": [trigger] });
        let status = json!({ "hpaName": format!("keda-hpa-{name}") });
        cluster.apply(
            &format!("/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects/{name}"),
            json!({ "spec": spec, "status": status }),
        );
    }
    cluster
}

fn awake(cluster: &TestCluster) -> usize {
    let deployments = cluster.objects("/apis/apps/v1/namespaces/shop/deployments");
    deployments.iter().filter(|deployment| deployment["spec"]["replicas"] != 0).count()
}

#[tokio::test(start_paused = true)]
async fn a_new_process_wakes_what_should_be_awake_soon_however_seldom_it_is_polled() {
    let cluster = sleeping();
    let settings = Settings {
        namespaces: Vec::new(),
        selector: None,
        concurrency: 1,
        instance: "one".to_owned(),
        version: "1.0.0".to_owned(),
        credentials: Default::default(),
        election: None,
    };
    let noon: DateTime<Utc> = "2026-06-01T12:00:00Z".parse().expect("a time");
    let registry = Registry::new(Default::default(), Connector::tcp(), Arc::new(NoCluster));
    let operator = Operator::start(cluster.client(), Clock::starting_at(noon), registry, settings);
    let running = tokio::spawn(operator.run(std::future::pending()));
    tokio::time::sleep(FIRST_LOOKS / 5).await;
    let first = awake(&cluster);
    tokio::time::sleep(FIRST_LOOKS).await;
    assert_eq!(awake(&cluster), OBJECTS);
    assert!(first < OBJECTS, "{first} at once");
    running.abort();
}
