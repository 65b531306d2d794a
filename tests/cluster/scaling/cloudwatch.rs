//! CloudWatch metrics: the trigger against moto, and on a cluster.

use chrono::Utc;
use kedge_test_cluster::moto::Moto;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::{Value, json};

use super::aws::{self, KEYS};
use super::cluster;
use super::triggers::{build, read, registry, value};

/// Adds a value to the metric `depth` of a queue, so many seconds ago.
async fn put(moto: &Moto, queue: &str, number: f64, seconds_ago: i64) {
    let data = json!({
        "MetricName": "depth", "Value": number, "Dimensions": [{ "Name": "Queue", "Value": queue }],
        "Timestamp": Utc::now().timestamp() - seconds_ago,
    });
    let body = json!({ "Namespace": "shop", "MetricData": [data] });
    moto.ask("monitoring", "GraniteServiceVersion20100801.PutMetricData", &body).await.unwrap();
}

fn metadata<'a>(endpoint: &'a str, queue: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("namespace", "shop"),
        ("metricName", "depth"),
        ("dimensionName", "Queue"),
        ("dimensionValue", queue),
        ("metricStat", "Sum"),
        ("metricStatPeriod", "60"),
        ("metricCollectionTime", "600"),
        ("targetMetricValue", "5"),
        ("minMetricValue", "1"),
        ("awsRegion", "eu-west-1"),
        ("awsEndpoint", endpoint),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_value_counts_and_nothing_is_the_minimum() {
    let mut moto = Moto::start("moto-cloudwatch").await.unwrap();
    let (registry, endpoint) = (registry(), moto.url());
    let metric = |more: &[(&str, &str)]| {
        build(&registry, "aws-cloudwatch", &[metadata(&endpoint, "orders"), more.to_vec()].concat(), &KEYS)
    };
    let depth = metric(&[]);
    assert_eq!(value(&*depth).await, (1.0, true), "no values are the minimum");
    let strict = metric(&[("ignoreNullValues", "false")]);
    let empty = read(&*strict).await.unwrap_err();
    assert_eq!(empty.reason(), "SourceWithoutValue", "{empty}");
    put(&moto, "orders", 3.0, 400).await;
    put(&moto, "invoices", 99.0, 200).await;
    assert_eq!(value(&*depth).await, (3.0, true));
    assert_eq!(value(&*strict).await, (3.0, true));
    put(&moto, "orders", 512.5, 200).await;
    assert_eq!(value(&*depth).await, (512.5, true), "many");
    assert_eq!(value(&*metric(&[("activationTargetMetricValue", "512.5")])).await, (512.5, false));
    assert_eq!(value(&*metric(&[("metricEndTimeOffset", "300")])).await, (3.0, true), "five minutes ago");
    put(&moto, "orders", 0.0, 80).await;
    assert_eq!(value(&*depth).await, (0.0, false), "drained");
    let unknown = metric(&[("dimensionValue", "unknown"), ("minMetricValue", "0")]);
    assert_eq!(value(&*unknown).await, (0.0, false), "a dimension without values");

    let expression = [("expression", "SELECT MAX(depth) FROM shop"), ("metricCollectionTime", "300")];
    // The number depends on the minute: the newest value of all metrics counts, and moto knows only a part of such queries.
    read(&*metric(&expression)).await.unwrap();
    // Gone, and back without its metrics.
    moto.kill_and_restart().unwrap();
    read(&*depth).await.unwrap_err();
    let back = async || read(&*depth).await.map(|known| known.values).map_err(|error| error.to_string());
    assert_eq!(wait_for("moto answers again", DEADLINE, back).await.unwrap(), [1.0], "no values are the minimum");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_metric_scales_a_deployment_from_zero_and_back() {
    let moto = Moto::start("moto-cloudwatch-scaling").await.unwrap();
    let namespace = TestNamespace::create(cluster().await, "cloudwatch");
    let endpoint = moto.url();
    let metadata: serde_json::Map<String, Value> = metadata(&endpoint, "orders")
        .into_iter()
        .chain([("metricStatPeriod", "1"), ("minMetricValue", "0")])
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let trigger = json!({ "type": "aws-cloudwatch", "metadata": metadata, "authenticationRef": { "name": "aws" } });
    namespace.apply(aws::authentication());
    namespace.apply([deployment("web", 0), scaled_object("web", [trigger], json!({}))]);
    put(&moto, "orders", 14.0, 30).await;
    namespace.until_replicas("web", 3).await;
    put(&moto, "orders", 0.0, 1).await;
    namespace.until_replicas("web", 0).await;
}
