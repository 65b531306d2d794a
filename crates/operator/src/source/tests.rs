//! Who answers for an object, and when.

use chrono::{DateTime, Utc};
use kedge_scalers::{Connector, NoCluster, Registry};
use serde_json::json;

use super::*;
use crate::clock::Clock;
use crate::run::{Operator, Settings};
use crate::test_cluster::TestCluster;

const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/shop/deployments/web";
const OBJECT: &str = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects/web";
const METRIC: &str = "s0-cron-Etc-UTC-0011x-59233112x";

/// A cluster with an object that some earlier process looked after, and an operator that has listed everything and done nothing.
async fn operator() -> Operator {
    let cluster = TestCluster::new();
    let labels = json!({ "app": "web" });
    let pod = json!({ "containers": [{ "name": "main", "image": "main" }] });
    let template = json!({ "metadata": { "labels": labels }, "spec": pod });
    cluster.apply(DEPLOYMENT, json!({ "spec": { "selector": { "matchLabels": labels }, "template": template } }));
    let cron = json!({ "timezone": "Etc/UTC", "start": "0 0 1 1 *", "end": "59 23 31 12 *", "desiredReplicas": "4" });
    let spec = json!({ "scaleTargetRef": { "name": "web" }, "triggers": [{ "type": "cron", "metadata": cron }] });
    cluster.apply(OBJECT, json!({ "spec": spec, "status": { "hpaName": "keda-hpa-web" } }));
    let registry = Registry::new(Default::default(), Connector::tcp(), Arc::new(NoCluster));
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
    let operator = Operator::start(cluster.client(), Clock::starting_at(noon), registry, settings);
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
    source.role.come_to(&Key::new("shop", "web"));
    let refused = ask(&operator).await;
    assert!(matches!(&refused, Err(MetricError::Unavailable(why)) if why.contains("are not built")), "{refused:?}");
}
