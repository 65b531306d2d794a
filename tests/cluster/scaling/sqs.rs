//! SQS queues: the trigger against moto, and on a cluster.

use kedge_test_cluster::moto::Moto;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::{Value, json};

use super::aws::{self, KEYS};
use super::cluster;
use super::triggers::{build, read, registry, value};

async fn ask(moto: &Moto, action: &str, body: Value) -> Value {
    moto.ask("sqs", &format!("AmazonSQS.{action}"), &body).await.unwrap()
}

async fn send(moto: &Moto, url: &str, count: usize, more: Value) {
    for _ in 0..count {
        let mut message = json!({ "QueueUrl": url, "MessageBody": "x" });
        json_patch::merge(&mut message, &more);
        ask(moto, "SendMessage", message).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_counted_as_the_trigger_asks_and_refusals_are_named() {
    let mut moto = Moto::start("moto-sqs").await.unwrap();
    let created = ask(&moto, "CreateQueue", json!({ "QueueName": "orders" })).await;
    let url = created["QueueUrl"].as_str().unwrap().to_owned();
    let (registry, endpoint) = (registry(), moto.url());
    let queue = |queue: &str, more: &[(&str, &str)]| {
        let metadata = [&[("queueURL", queue), ("awsRegion", "eu-west-1"), ("awsEndpoint", endpoint.as_str())], more];
        build(&registry, "aws-sqs-queue", &metadata.concat(), &KEYS)
    };
    let all = queue(&url, &[]);
    assert_eq!(value(&*all).await, (0.0, false), "empty");
    send(&moto, &url, 12, json!({})).await;
    assert_eq!(value(&*all).await, (12.0, true));
    assert_eq!(value(&*queue("orders", &[])).await, (12.0, true), "by its name");
    assert_eq!(value(&*queue(&url, &[("activationQueueLength", "12")])).await, (12.0, false));
    ask(&moto, "ReceiveMessage", json!({ "QueueUrl": url, "MaxNumberOfMessages": 5, "VisibilityTimeout": 600 })).await;
    send(&moto, &url, 2, json!({ "DelaySeconds": 600 })).await;
    assert_eq!(value(&*all).await.0, 12.0, "those in flight count");
    assert_eq!(value(&*queue(&url, &[("scaleOnInFlight", "false")])).await.0, 7.0);
    assert_eq!(value(&*queue(&url, &[("scaleOnDelayed", "true")])).await.0, 14.0);
    ask(&moto, "PurgeQueue", json!({ "QueueUrl": url })).await;
    assert_eq!(value(&*queue(&url, &[("scaleOnInFlight", "false")])).await, (0.0, false), "drained");

    let missing = read(&*queue("nowhere", &[])).await.unwrap_err().to_string();
    assert!(missing.contains("QueueDoesNotExist"), "{missing}");
    assert!(missing.ends_with("check `queueURL` and `awsRegion`"), "{missing}");
    // Gone, and back without its queues.
    moto.kill_and_restart().unwrap();
    read(&*all).await.unwrap_err();
    let create = async || {
        let created = moto.ask("sqs", "AmazonSQS.CreateQueue", &json!({ "QueueName": "orders" })).await;
        created.map_err(|error| format!("{error:#}"))
    };
    wait_for("moto answers again", DEADLINE, create).await.unwrap();
    send(&moto, &url, 3, json!({})).await;
    assert_eq!(value(&*all).await, (3.0, true), "back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_scales_a_deployment_from_zero_and_back() {
    let moto = Moto::start("moto-scaling").await.unwrap();
    let created = ask(&moto, "CreateQueue", json!({ "QueueName": "orders" })).await;
    let url = created["QueueUrl"].as_str().unwrap().to_owned();
    let namespace = TestNamespace::create(cluster().await, "sqs");
    let metadata = json!({ "queueURL": url, "awsRegion": "eu-west-1", "awsEndpoint": moto.url(), "queueLength": "5" });
    let trigger = json!({ "type": "aws-sqs-queue", "metadata": metadata, "authenticationRef": { "name": "aws" } });
    namespace.apply(aws::authentication());
    namespace.apply([deployment("web", 0), scaled_object("web", [trigger], json!({}))]);
    send(&moto, &url, 14, json!({})).await;
    namespace.until_replicas("web", 3).await;
    ask(&moto, "PurgeQueue", json!({ "QueueUrl": url })).await;
    namespace.until_replicas("web", 0).await;
}
