//! When objects are polled.

use serde_json::json;

use super::state::FIRST_POLLS;
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
