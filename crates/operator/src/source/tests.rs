//! Who answers for an object, and when.

use serde_json::json;

use super::*;
use crate::run::Operator;
use crate::test_cluster::TestCluster;

const METRIC: &str = "s0-cron-Etc-UTC-0011x-59233112x";

/// A cluster with an object that some earlier process looked after, and an operator that has listed everything and done nothing.
async fn operator() -> Operator {
    let cluster = TestCluster::new();
    cluster.apply_known("web", 1, json!({}));
    let operator = cluster.operator();
    operator.watches_listed().await;
    operator
}

async fn ask(operator: &Operator) -> Result<Vec<String>, MetricError> {
    let request = MetricRequest { namespace: "shop", scaled_object: "web", metric: METRIC };
    let answer = operator.source().read(request).await?;
    Ok(answer.into_iter().map(|value| value.value).collect())
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_answers_for_objects_that_it_has_not_come_to() {
    let operator = operator().await;
    assert_eq!(ask(&operator).await, Ok(vec!["4".to_owned()]), "as one that stands by");
    // What it does first when it begins to lead.
    let source = operator.source();
    source.passes.board.clear();
    source.role.begin_to_lead();
    assert_eq!(ask(&operator).await, Ok(vec!["4".to_owned()]), "as one that leads");
}

#[tokio::test(start_paused = true)]
async fn what_a_pass_did_not_build_is_not_built_on_demand() {
    let operator = operator().await;
    let source = operator.source();
    source.role.begin_to_lead();
    source.role.come_to(&ObjectKey::new("shop", "web"));
    let refused = ask(&operator).await;
    assert!(matches!(&refused, Err(MetricError::Unavailable(why)) if why.contains("are not built")), "{refused:?}");
}
