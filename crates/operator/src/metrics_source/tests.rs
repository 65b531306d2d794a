//! Which replica serves the metrics of an object, and when.

use serde_json::json;

use super::*;
use crate::operator::Operator;
use crate::readings::Ensured;
use crate::test_cluster::TestCluster;

const METRIC: &str = "s0-cron-Etc-UTC-0011x-59233112x";

/// An operator whose caches are synced and that has reconciled nothing, on a cluster with an object that an earlier process managed.
async fn operator() -> Operator {
    let cluster = TestCluster::new();
    cluster.apply_known("web", 1, json!({}));
    let operator = cluster.operator();
    operator.caches_synced().await;
    operator
}

async fn request(operator: &Operator) -> Result<Vec<String>, MetricError> {
    let requested = MetricRequest { namespace: "shop", scaled_object: "web", metric: METRIC };
    let answer = operator.source().read(requested).await?;
    Ok(answer.into_iter().map(|value| value.value).collect())
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_serves_objects_that_it_has_not_reconciled() {
    let operator = operator().await;
    assert_eq!(request(&operator).await, Ok(vec!["4".to_owned()]), "as a standby");
    // The first steps of a new leader.
    let source = operator.source();
    source.readings.clear();
    source.readings.leadership.become_leader();
    assert_eq!(request(&operator).await, Ok(vec!["4".to_owned()]), "as the leader");
}

#[tokio::test(start_paused = true)]
async fn what_a_reconcile_did_not_build_is_not_built_on_demand() {
    let operator = operator().await;
    let source = operator.source();
    source.readings.leadership.become_leader();
    source.readings.leadership.record_reconciled(&ObjectKey::scaled_object("shop", "web"));
    let denied = request(&operator).await;
    assert!(matches!(&denied, Err(MetricError::Unavailable(why)) if why.contains("are not built")), "{denied:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_standby_built_is_built_again_by_the_leader() {
    let operator = operator().await;
    let readings = operator.source().readings;
    request(&operator).await.unwrap();
    let key = ObjectKey::scaled_object("shop", "web");
    let of_standby = readings.get(&key).unwrap();
    let object = readings.cluster.object(&key).unwrap();
    let target = crate::test_cluster::deployment("shop", "web");
    // A request that was on its way when the replica became the leader: its scalers come after all were dropped.
    readings.clear();
    readings.leadership.become_leader();
    readings.put_late(of_standby.clone());
    let ensured = readings.ensure(&object, &target).await;
    let Ensured::Built { scalers, .. } = ensured else { panic!("no push source would be listened to") };
    assert_ne!(scalers.term, of_standby.term);
    assert!(!std::sync::Arc::ptr_eq(&scalers.triggers[0], &of_standby.triggers[0]));
}

#[tokio::test(start_paused = true)]
async fn an_active_reading_of_a_standby_counts_when_it_leads() {
    let operator = operator().await;
    request(&operator).await.unwrap();
    let readings = operator.source().readings;
    readings.clear();
    readings.leadership.become_leader();
    let key = ObjectKey::scaled_object("shop", "web");
    let uid = readings.cluster.object(&key).unwrap().cached.uid.clone().unwrap();
    assert_eq!(readings.seen_active.take(&key, &uid), Some(readings.clock.now()));
}
