//! What one trigger, or one hostile broker, can cost.

use kedge_api::authentication::PodIdentityProvider;
use kedge_core::outbound_policy::{IdentityGrant, IdentityProvider, OutboundPolicy};

use super::*;
use crate::host_port::HostPort;
use crate::http::Settings;
use crate::identity::CloudIdentity;

#[tokio::test(start_paused = true)]
async fn a_reading_has_no_more_partitions_than_can_be_read() {
    let fake = FakeCluster::new();
    fake.state().topics.insert("wide".to_owned(), vec![partition(1, 1); 100_001]);
    let wide = orders().with("topic", "wide").with("allowIdleConsumers", "true");
    let error = value(&fake, &wide).await.unwrap_err();
    assert!(error.contains("there are 100001 partitions, and 100000 at most are read"), "{error}");
    let first = wide.with("partitionLimitation", "0-9999");
    assert_eq!(value(&fake, &first).await, Ok(10_000.0));
}

#[tokio::test(start_paused = true)]
async fn answers_before_the_sign_in_are_short() {
    let fake = FakeCluster::new();
    fake.state().mechanisms = vec!["PLAIN"; 20_000];
    let sample = orders().with("sasl", "plaintext").auth("username", "worker").auth("password", "hunter2");
    let error = value(&fake, &sample).await.unwrap_err();
    assert!(error.ends_with("it is larger than a response of its kind can be"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn connections_are_only_to_brokers_that_the_cluster_has() {
    let fake = FakeCluster::new();
    let registry = fake.registry();
    let scaler = registry.build(&orders().with("lagThreshold", "1000").trigger()).unwrap();
    for number in 0..40 {
        assert_eq!(read(&scaler).await.unwrap().values, [84.0]);
        fake.state().nodes.insert(2, format!("kafka-2-{number}:9092"));
        fake.state().errors =
            vec![("OffsetFetch", ErrorCode::NOT_COORDINATOR), ("ListOffsets", ErrorCode::NOT_LEADER_OR_FOLLOWER)];
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(fake.state().open <= 4, "{} connections are open", fake.state().open);

    fake.state().nodes = (1..=501).map(|id| (id, format!("kafka-{id}:9092"))).collect();
    let error = value(&fake, &orders()).await.unwrap_err();
    assert!(error.ends_with("the cluster has more than 500 brokers"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn connections_end_with_the_last_trigger() {
    let fake = FakeCluster::new();
    let registry = fake.registry();
    let scalers = [(); 2].map(|()| registry.build(&orders().trigger()).unwrap());
    join_all(scalers.iter().map(read)).await;
    let [first, second] = scalers;
    drop(first);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(fake.state().open, 2);
    drop(second);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(fake.state().open, 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_a_broker_does_not_know_fails_only_for_those_who_need_it() {
    let fake = FakeCluster::new();
    fake.state().unknown = vec!["DescribeGroups"];
    fake.state().coordinator = 1;
    let registry = fake.registry();
    let all = registry.build(&apache().trigger()).unwrap();
    let named = registry.build(&apache().with("topic", "orders").with("lagThreshold", "1000").trigger()).unwrap();
    for _ in 0..2 {
        let (all, named) = tokio::join!(read(&all), read(&named));
        let error = all.unwrap_err().to_string();
        assert_eq!(
            error,
            "kafka-1:9092 answered: it does not know DescribeGroups 0; Kedge needs a broker of Kafka 0.11 or newer"
        );
        assert_eq!(named.unwrap().values, [84.0]);
    }
    assert_eq!(fake.count("DescribeGroups"), 0);
    fake.state().unknown = vec!["SaslAuthenticate"];
    fake.state().mechanisms = vec!["PLAIN"];
    let user = orders().with("sasl", "plaintext").auth("username", "worker").auth("password", "hunter2");
    let error = value(&fake, &user).await.unwrap_err();
    assert!(
        error.ends_with("it does not know SaslAuthenticate 0; Kedge needs a broker of Kafka 1.0 or newer"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn topics_of_the_whole_cluster_are_not_asked_for_again_for_others() {
    let fake = FakeCluster::new();
    for number in 0..50 {
        fake.state().topics.insert(format!("other-{number}"), vec![partition(1, 1)]);
    }
    let registry = fake.registry();
    let all = registry.build(&apache().trigger()).unwrap();
    let named = registry.build(&orders().trigger()).unwrap();
    read(&all).await.unwrap();
    read(&named).await.unwrap();
    tokio::time::advance(Duration::from_secs(11)).await;
    fake.state().asked_topics.clear();
    read(&named).await.unwrap();
    assert_eq!(fake.state().asked_topics, ["orders"]);
}

#[tokio::test(start_paused = true)]
async fn signatures_go_only_to_brokers_that_the_policy_names() {
    let fake = FakeCluster::new();
    fake.state().mechanisms = vec!["OAUTHBEARER"];
    let hosts = vec!["bootstrap".parse().unwrap()];
    let grant = IdentityGrant { provider: IdentityProvider::Aws, namespaces: vec!["shop".to_owned()], hosts };
    let policy = OutboundPolicy { identities: Some(vec![grant]), ..OutboundPolicy::default() };
    let shared = fake.shared_with(Settings { outbound_policy: Arc::new(policy), ..Settings::default() });
    let keys = orders().auth("awsAccessKeyID", "AKID").auth("awsSecretAccessKey", "hunter2");
    let rows = [
        ("keys of the tenant", keys, "kafka-1:9092", "shop", ""),
        (
            "the operator's",
            orders().pod_identity(PodIdentityProvider::Aws),
            "kafka-1:9092",
            "shop",
            "with the host kafka-1",
        ),
        (
            "of another namespace",
            orders().pod_identity(PodIdentityProvider::Aws),
            "bootstrap:9092",
            "other",
            "by namespace other",
        ),
    ];
    for (name, sample, server, namespace, expected) in rows {
        let sample = sample.with("awsRegion", "eu-west-1");
        let trigger = sample.trigger();
        let mut read = crate::metadata::Reader::new(&trigger);
        let identity = aws::parse(&mut read, &trigger, &crate::CloudEnvironment::default(), "kafka-cluster").unwrap();
        let (region, namespace) = (identity.region().to_owned(), Some(namespace.to_owned()));
        let identity = CloudIdentity::Aws(identity);
        let credentials = Credentials::Msk { identity, namespace, region, form: MskForm::Token };
        let key = ClusterKey { bootstrap: vec![HostPort::parse(server, "").unwrap()], security: None, credentials };
        let cluster = shared.kafka.cluster(key, &shared.http, &shared.signers).unwrap();
        let topics = cluster.topics(Wanted::All, crate::sessions::deadline(Duration::from_secs(3))).await;
        let error = topics.map(drop).map_err(|failure| failure.error().to_string()).err().unwrap_or_default();
        assert_eq!(error.is_empty(), expected.is_empty(), "{name}: {error}");
        assert!(error.contains(expected), "{name}: {error}");
    }
}
