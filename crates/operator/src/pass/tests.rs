//! When objects are looked at.

use serde_json::json;

use super::*;
use crate::test_cluster::TestCluster;

const OBJECTS: usize = 20;

/// Objects that an earlier process laid to sleep, whose window has opened meanwhile. Each is polled once an hour.
fn sleeping() -> TestCluster {
    let cluster = TestCluster::new();
    for index in 0..OBJECTS {
        cluster.apply_known(&format!("web-{index}"), 0, json!({ "pollingInterval": 3600 }));
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
    let running = tokio::spawn(cluster.operator().run(std::future::pending()));
    tokio::time::sleep(FIRST_LOOKS / 5).await;
    let first = awake(&cluster);
    tokio::time::sleep(FIRST_LOOKS).await;
    assert_eq!(awake(&cluster), OBJECTS);
    assert!(first < OBJECTS, "{first} at once");
    running.abort();
}
