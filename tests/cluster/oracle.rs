//! Readings of real servers, in states that KEDA's own scalers have read too: values and activity must be theirs. What they read is in
//! `tests/golden/oracle`; `tests/golden/oracle.rs` compares what needs no server.

use std::collections::BTreeMap;

use kedge_test_cluster::oracle::Family;
use kedge_tests::oracle::{self, Kind};

/// Starts the servers of a family, and takes every reading that KEDA took.
async fn read_all(family: Family) {
    let sources = family.start(&format!("oracle-{}", family.name())).await.unwrap();
    let registry = oracle::registry(&[]);
    let recorded = oracle::recorded(family);
    let mut found = BTreeMap::new();
    for recorded in recorded.iter().filter(|recorded| recorded.case.reads > 0) {
        // What Kedge refuses to build is compared without servers.
        let Ok(scaler) = oracle::build(&registry, &sources.fill(&recorded.case)) else { continue };
        let difference = oracle::compare_reading(recorded, &*scaler).await;
        found.extend(difference.map(|difference| (recorded.case.name.as_str(), difference)));
    }
    let problems = oracle::verify(family, &recorded, &found, &[Kind::Reading]);
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_is_read_as_by_keda() {
    read_all(Family::Redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_jetstream_is_read_as_by_keda() {
    read_all(Family::NatsJetstream).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqs_queues_are_read_as_by_keda() {
    read_all(Family::AwsSqsQueue).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cloudwatch_is_read_as_by_keda() {
    read_all(Family::AwsCloudwatch).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kafka_is_read_as_by_keda() {
    read_all(Family::Kafka).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rabbitmq_is_read_as_by_keda() {
    read_all(Family::RabbitMq).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_is_read_as_by_keda() {
    read_all(Family::PostgreSql).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mysql_is_read_as_by_keda() {
    read_all(Family::MySql).await;
}
