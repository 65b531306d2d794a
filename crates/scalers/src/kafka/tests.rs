mod damaged;
mod limits;
mod outages;
mod recorded;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::join_all;
use kedge_wire::kafka::ErrorCode;

use super::fake::{FakeCluster, partition};
use super::*;
use crate::kafka_cluster::{ClusterKey, Credentials, MskForm, Wanted};
use crate::sample::Sample;
use crate::scaler::Activity;

fn group() -> Sample {
    Sample::new("kafka").with("bootstrapServers", "bootstrap:9092").with("consumerGroup", "workers")
}

fn orders() -> Sample {
    group().with("topic", "orders")
}

fn apache() -> Sample {
    Sample::new("apache-kafka").with("bootstrapServers", "bootstrap:9092").with("consumerGroup", "workers")
}

async fn read(scaler: &Arc<dyn Scaler>) -> Result<Known, ReadError> {
    scaler.read("", DateTime::UNIX_EPOCH).await
}

async fn value(fake: &FakeCluster, sample: &Sample) -> Result<f64, String> {
    let scaler = fake.registry().build(&sample.trigger()).unwrap_or_else(|error| panic!("{error}"));
    read(&scaler).await.map(|known| known.values[0]).map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn triggers_of_a_cluster_share_one_connection_to_each_broker() {
    let fake = FakeCluster::new();
    let registry = fake.registry();
    for number in 0..300 {
        fake.state().topics.insert(format!("topic-{number}"), vec![partition(1, number), partition(2, 1)]);
    }
    let scalers: Vec<_> = (0..300)
        .map(|number| {
            let topic = format!("topic-{number}");
            let sample =
                orders().with("topic", &topic).with("consumerGroup", &topic).with("offsetResetPolicy", "earliest");
            registry.build(&sample.with("lagThreshold", "1000").trigger()).unwrap()
        })
        .collect();
    let known = join_all(scalers.iter().map(read)).await;
    for (number, known) in known.iter().enumerate() {
        assert_eq!(known.as_ref().unwrap().values, [number as f64 + 1.0]);
    }
    let connected = fake.state().connected.clone();
    assert_eq!(connected, ["bootstrap:9092", "kafka-1:9092", "kafka-2:9092"]);
    assert!(fake.count("Metadata") <= 3, "topics are asked for together");
    assert_eq!((fake.count("OffsetFetch"), fake.count("FindCoordinator")), (300, 300));
    fake.forget();
    join_all(scalers.iter().map(read)).await;
    assert_eq!((fake.count("Metadata"), fake.count("FindCoordinator")), (0, 0), "who is asked is known");
    assert_eq!(fake.state().connected.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn equal_questions_at_the_same_time_are_asked_once_and_answers_are_never_kept() {
    let fake = FakeCluster::new();
    let registry = fake.registry();
    let scalers: Vec<_> = (0..20).map(|_| registry.build(&orders().trigger()).unwrap()).collect();
    join_all(scalers.iter().map(read)).await;
    fake.forget();
    join_all(scalers.iter().map(read)).await;
    assert!(fake.count("OffsetFetch") <= 2 && fake.count("ListOffsets") <= 4, "{:?}", fake.state().asked);
    fake.state().committed.insert(("orders".to_owned(), 0), 44);
    fake.state().committed.insert(("orders".to_owned(), 1), 44);
    for known in join_all(scalers.iter().map(read)).await {
        assert_eq!(known.unwrap().values, [2.0]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_moved_is_found_within_the_reading() {
    let wide = orders().with("lagThreshold", "1000");
    let rows: [(&str, &[(&'static str, ErrorCode)]); 6] = [
        ("a fresh cluster", &[("FindCoordinator", ErrorCode::COORDINATOR_NOT_AVAILABLE); 4]),
        ("the group is elsewhere", &[("OffsetFetch", ErrorCode::NOT_COORDINATOR)]),
        ("the group is being loaded", &[("OffsetFetch", ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)]),
        ("a partition is elsewhere", &[("ListOffsets", ErrorCode::NOT_LEADER_OR_FOLLOWER)]),
        ("a partition has no leader yet", &[("Metadata", ErrorCode::LEADER_NOT_AVAILABLE)]),
        (
            "several at once",
            &[("OffsetFetch", ErrorCode::NOT_COORDINATOR), ("ListOffsets", ErrorCode::FENCED_LEADER_EPOCH)],
        ),
    ];
    for (name, errors) in rows {
        let fake = FakeCluster::new();
        fake.state().errors = errors.to_vec();
        assert_eq!(value(&fake, &wide).await, Ok(84.0), "{name}");
        assert!(fake.state().errors.is_empty(), "{name}");
    }
    let fake = FakeCluster::new();
    fake.state().errors = vec![("OffsetFetch", ErrorCode::NOT_COORDINATOR); 5];
    let error = value(&fake, &wide).await.unwrap_err();
    assert_eq!(error, "bootstrap:9092 answered: NOT_COORDINATOR for group \"workers\"");
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_replaced_costs_no_reading() {
    let fake = FakeCluster::new();
    let registry = fake.registry();
    let scaler = registry.build(&orders().with("lagThreshold", "1000").trigger()).unwrap();
    assert_eq!(read(&scaler).await.unwrap().values, [84.0]);
    {
        let mut state = fake.state();
        state.nodes = [(1, "kafka-1:9092".to_owned()), (3, "kafka-3:9092".to_owned())].into();
        state.topics.insert("orders".to_owned(), vec![partition(1, 45), partition(3, 45)]);
        state.coordinator = 3;
        state.errors =
            vec![("OffsetFetch", ErrorCode::NOT_COORDINATOR), ("ListOffsets", ErrorCode::NOT_LEADER_OR_FOLLOWER)];
    }
    assert_eq!(read(&scaler).await.unwrap().values, [84.0]);
    assert!(fake.state().connected.contains(&"kafka-3:9092".to_owned()));
    fake.state().answers_max = Some(4);
    for _ in 0..20 {
        assert_eq!(read(&scaler).await.unwrap().values, [84.0], "connections that end are replaced");
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_several_bootstrap_servers_is_enough() {
    let fake = FakeCluster::new();
    let servers =
        orders().with("bootstrapServers", "gone-1:9092,gone-2:9092,bootstrap:9092").with("lagThreshold", "99");
    assert_eq!(value(&fake, &servers).await, Ok(84.0));
    let error = value(&fake, &orders().with("bootstrapServers", "gone:9092")).await.unwrap_err();
    assert!(error.starts_with("gone:9092 cannot be reached: "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn readings_of_a_broker_that_hangs_end_together() {
    for hangs in ["ApiVersions", "Metadata", "FindCoordinator", "OffsetFetch", "ListOffsets"] {
        let fake = FakeCluster::new();
        fake.state().hangs = Some(hangs);
        let registry = fake.registry();
        let scalers: Vec<_> = (0..50)
            .map(|number| registry.build(&orders().with("consumerGroup", &format!("g{number}")).trigger()).unwrap())
            .collect();
        let started = Instant::now();
        for outcome in join_all(scalers.iter().map(read)).await {
            assert_eq!(outcome.unwrap_err().reason(), "SourceTimeout", "{hangs}");
        }
        assert_eq!(started.elapsed(), Duration::from_secs(3), "{hangs}: none waits for the others first");
        fake.state().hangs = None;
        fake.state().committed.clear();
        assert_eq!(read(&scalers[0]).await.unwrap().values, [2.0], "{hangs}: back");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_or_forbidden_is_named() {
    let fake = FakeCluster::new();
    let rows = [
        (
            orders().with("topic", "payments"),
            "bootstrap:9092 has no value: UNKNOWN_TOPIC_OR_PARTITION: there is no topic \"payments\"; check `topic`",
        ),
        (
            orders().with("partitionLimitation", "7-9"),
            "bootstrap:9092 has no value: topic \"orders\" has none of the partitions; check `partitionLimitation`",
        ),
        (
            apache().with("topic", "orders,payments"),
            "bootstrap:9092 has no value: UNKNOWN_TOPIC_OR_PARTITION: there is no topic \"payments\"; check `topic`",
        ),
    ];
    for (sample, expected) in rows {
        fake.forget();
        assert_eq!(value(&fake, &sample).await.unwrap_err(), expected);
        assert_eq!(fake.count("Metadata"), 1, "who was asked knows best");
    }
    let codes = [
        (
            "Metadata",
            ErrorCode::TOPIC_AUTHORIZATION_FAILED,
            "TOPIC_AUTHORIZATION_FAILED: allow the user to describe topic \"orders\"",
        ),
        (
            "OffsetFetch",
            ErrorCode::GROUP_AUTHORIZATION_FAILED,
            "GROUP_AUTHORIZATION_FAILED: allow the user to describe group \"workers\"",
        ),
        (
            "FindCoordinator",
            ErrorCode::GROUP_AUTHORIZATION_FAILED,
            "GROUP_AUTHORIZATION_FAILED: allow the user to describe group \"workers\"",
        ),
    ];
    for (api, code, expected) in codes {
        fake.state().errors = vec![(api, code)];
        let scaler = fake.registry().build(&orders().trigger()).unwrap();
        let error = read(&scaler).await.unwrap_err();
        assert!(error.is_denied() && error.to_string().ends_with(expected), "{error}");
    }
    fake.state().errors = vec![("ApiVersions", ErrorCode::UNKNOWN_SERVER_ERROR)];
    let error = value(&fake, &orders()).await.unwrap_err();
    assert!(error.ends_with("it does not know Metadata 4; Kedge needs a broker of Kafka 0.11 or newer"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn without_a_topic_the_committed_offsets_name_the_topics() {
    let fake = FakeCluster::new();
    {
        let mut state = fake.state();
        state.topics.insert("payments".to_owned(), vec![partition(1, 5), partition(1, 9)]);
        state.topics.insert("other".to_owned(), vec![partition(1, 100)]);
        state.committed.insert(("payments".to_owned(), 0), 5);
    }
    let all = group().with("lagThreshold", "1000");
    assert_eq!(value(&fake, &all).await, Ok(84.0 + 1.0), "a partition without an offset counts one");
    let earliest = all.clone().with("offsetResetPolicy", "earliest");
    assert_eq!(value(&fake, &earliest).await, Ok(84.0 + 9.0));
    let limited = all.clone().with("partitionLimitation", "0");
    assert_eq!(value(&fake, &limited).await, Ok(85.0), "partitions are not limited without a topic");
    fake.state().committed.clear();
    let error = value(&fake, &all).await.unwrap_err();
    assert!(
        error.ends_with("group \"workers\" has committed no offsets, so that its topics are not known; give `topic`"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn apache_kafka_takes_several_topics_or_all_while_there_are_members() {
    let fake = FakeCluster::new();
    fake.state().topics.insert("payments".to_owned(), vec![partition(1, 5)]);
    let two = apache().with("topic", "orders, payments").with("lagThreshold", "1000");
    assert_eq!(value(&fake, &two).await, Ok(85.0));
    assert_eq!(value(&fake, &two.clone().with("partitionLimitation", "0")).await, Ok(43.0));
    assert_eq!(value(&fake, &two.clone().with("topic", "orders,orders, ,payments,")).await, Ok(85.0), "each once");
    let second = two.clone().with("partitionLimitation", "1");
    assert_eq!(value(&fake, &second).await, Ok(42.0), "a topic without the partition does not count");
    let error = value(&fake, &two.with("partitionLimitation", "2")).await.unwrap_err();
    assert!(error.ends_with("has none of the partitions; check `partitionLimitation`"), "{error}");
    let portless = apache().with("bootstrapServers", "bootstrap").with("lagThreshold", "1000");
    assert_eq!(value(&fake, &portless.with("topic", "orders")).await, Ok(84.0));
    assert_eq!(fake.state().connected.iter().filter(|host| *host == "bootstrap:9092").count(), 6);
    let all = apache().with("lagThreshold", "1000");
    assert_eq!(value(&fake, &all).await, Ok(85.0));
    fake.state().members = 0;
    let error = value(&fake, &all).await.unwrap_err();
    assert!(error.contains("group \"workers\" has no members (state Dead)"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn first_offsets_are_read_only_where_nothing_is_committed() {
    let fake = FakeCluster::new();
    let earliest = orders().with("offsetResetPolicy", "earliest").with("lagThreshold", "1000");
    assert_eq!(value(&fake, &earliest).await, Ok(84.0));
    assert_eq!(fake.count("ListOffsets"), 2);
    fake.state().committed.remove(&("orders".to_owned(), 1));
    fake.state().topics.get_mut("orders").unwrap()[1].first = 40;
    fake.forget();
    assert_eq!(value(&fake, &earliest).await, Ok(42.0 + 5.0));
    assert_eq!(fake.count("ListOffsets"), 3);
    fake.forget();
    assert_eq!(value(&fake, &earliest.clone().with("scaleToZeroOnInvalidOffset", "true")).await, Ok(42.0));
    assert_eq!(fake.count("ListOffsets"), 2);
}

#[tokio::test(start_paused = true)]
async fn partitions_that_brokers_leave_out_do_not_count_but_one_must_be_there() {
    let fake = FakeCluster::new();
    let wide = orders().with("lagThreshold", "1000");
    fake.state().topics.get_mut("orders").unwrap()[0].is_listed = false;
    assert_eq!(value(&fake, &wide).await, Ok(42.0));
    fake.state().topics.get_mut("orders").unwrap()[1].is_listed = false;
    let error = value(&fake, &wide).await.unwrap_err();
    assert!(error.ends_with("the last offsets of topic \"orders\" are missing"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn new_partitions_are_seen_within_ten_seconds() {
    let fake = FakeCluster::new();
    let scaler = fake.registry().build(&orders().with("lagThreshold", "1000").trigger()).unwrap();
    assert_eq!(read(&scaler).await.unwrap().values, [84.0]);
    fake.state().topics.get_mut("orders").unwrap().push(partition(1, 7));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(read(&scaler).await.unwrap().values, [85.0]);
}

#[tokio::test(start_paused = true)]
async fn lag_that_persists_keeps_the_target_active_and_does_not_count() {
    let fake = FakeCluster::new();
    let sample = orders().with("excludePersistentLag", "true").with("lagThreshold", "1000");
    let scaler = fake.registry().build(&sample.trigger()).unwrap();
    let rows = [("first", 0, 84.0), ("an HPA asks a moment later", 1, 84.0), ("the next poll", 30, 0.0)];
    for (name, seconds, expected) in rows {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        let known = read(&scaler).await.unwrap();
        assert_eq!((known.values, known.activity), (vec![expected], Activity::Active), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn activity_is_strictly_above_the_threshold_and_not_limited() {
    let fake = FakeCluster::new();
    for (activation, expected) in [("83", Activity::Active), ("84", Activity::Inactive)] {
        let sample = orders().with("activationLagThreshold", activation);
        let known = read(&fake.registry().build(&sample.trigger()).unwrap()).await.unwrap();
        assert_eq!((known.values, known.activity), (vec![20.0], expected), "{activation}");
    }
}

#[tokio::test(start_paused = true)]
async fn signing_in_sends_what_each_mechanism_wants() {
    let user = |sample: Sample| sample.auth("username", "worker").auth("password", "hunter2");
    let fake = FakeCluster::new();
    fake.state().mechanisms = vec!["PLAIN", "OAUTHBEARER", "AWS_MSK_IAM"];
    let wide = orders().with("lagThreshold", "1000");
    let sent = |fake: &FakeCluster| String::from_utf8(fake.state().authenticated.remove(0)).unwrap();

    assert_eq!(value(&fake, &user(wide.clone().with("sasl", "plaintext"))).await, Ok(84.0));
    assert_eq!(sent(&fake), "\0worker\0hunter2");

    let oauth = user(wide.clone().with("sasl", "oauthbearer")).auth("oauthTokenEndpointUri", "http://login/token");
    fake.state().authenticated.clear();
    assert_eq!(value(&fake, &oauth.auth("oauthExtensions", "b=2,a=1")).await, Ok(84.0));
    assert_eq!(sent(&fake), "n,,\u{1}auth=Bearer t0ken\u{1}a=1\u{1}b=2\u{1}\u{1}");

    fake.state().errors = vec![("SaslAuthenticate", ErrorCode::SASL_AUTHENTICATION_FAILED)];
    let scaler = fake.registry().build(&user(wide.clone().with("sasl", "plaintext")).trigger()).unwrap();
    let error = read(&scaler).await.unwrap_err();
    assert!(error.is_denied());
    assert_eq!(
        error.to_string(),
        "bootstrap:9092 denied access: SASL_AUTHENTICATION_FAILED: Authentication failed: *** is wrong, t0ken too; \
         check `username` and `password`"
    );

    let error = value(&fake, &user(wide.with("sasl", "scram_sha512"))).await.unwrap_err();
    assert!(
        error.ends_with("the broker has PLAIN, OAUTHBEARER, AWS_MSK_IAM, and not SCRAM-SHA-512; set `sasl` to match"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_identity_of_aws_signs_for_the_cluster_or_for_each_broker() {
    let fake = FakeCluster::new();
    fake.state().mechanisms = vec!["OAUTHBEARER", "AWS_MSK_IAM"];
    let settings = |sample: Sample| {
        let sample = sample.with("lagThreshold", "1000").with("awsRegion", "eu-west-1");
        sample.auth("awsAccessKeyID", "AKID").auth("awsSecretAccessKey", "hunter2").auth("awsSessionToken", "t")
    };
    // The connections of a fake have no TLS: the sign-in is checked without them.
    let credentials = |sample: &Sample, form| {
        let trigger = sample.trigger();
        let mut read = crate::metadata::Reader::new(&trigger);
        let environment = crate::CloudEnvironment::default();
        let identity = aws::parse(&mut read, &trigger, &environment, "kafka-cluster").unwrap();
        let (region, identity) = (identity.region().to_owned(), crate::identity::CloudIdentity::Aws(identity));
        Credentials::Msk { identity, namespace: None, region, form }
    };
    let shared = fake.shared();
    let sent = async |form| {
        let key = ClusterKey {
            bootstrap: vec![crate::host_port::HostPort::parse("bootstrap:9092", "").unwrap()],
            security: None,
            credentials: credentials(&settings(orders()), form),
        };
        let cluster = shared.kafka.cluster(key, &shared.http, &shared.signers).unwrap();
        // A clock that was ahead once leaves nothing behind.
        cluster.set_now(DateTime::from_timestamp(4_000_000_000, 0).unwrap());
        cluster.set_now(DateTime::UNIX_EPOCH);
        let topics = cluster.topics(Wanted::All, Instant::now() + Duration::from_secs(3)).await;
        assert!(topics.is_ok(), "{topics:?}");
        String::from_utf8(fake.state().authenticated.remove(0)).unwrap()
    };
    let message = sent(MskForm::Token).await;
    let token = message.strip_prefix("n,,\u{1}auth=Bearer ").unwrap().trim_end_matches('\u{1}');
    let url = String::from_utf8(URL_SAFE_NO_PAD.decode(token).unwrap()).unwrap();
    let start = "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&X-Amz-Algorithm=AWS4-HMAC-SHA256&\
                 X-Amz-Credential=AKID%2F19700101%2Feu-west-1%2Fkafka-cluster%2Faws4_request&X-Amz-Date=19700101T000000Z&\
                 X-Amz-Expires=900&X-Amz-Security-Token=t&X-Amz-SignedHeaders=host&X-Amz-Signature=";
    assert!(url.starts_with(start) && url.contains("&User-Agent=kedge%2F"), "{url}");

    let members: serde_json::Value = serde_json::from_str(&sent(MskForm::Json).await).unwrap();
    for (name, expected) in [
        ("version", "2020_10_22"),
        ("host", "bootstrap"),
        ("action", "kafka-cluster:Connect"),
        ("x-amz-algorithm", "AWS4-HMAC-SHA256"),
        ("x-amz-credential", "AKID/19700101/eu-west-1/kafka-cluster/aws4_request"),
        ("x-amz-date", "19700101T000000Z"),
        ("x-amz-expires", "900"),
        ("x-amz-security-token", "t"),
        ("x-amz-signedheaders", "host"),
    ] {
        assert_eq!(members[name], expected, "{members}");
    }
    assert_eq!(members["x-amz-signature"].as_str().map(str::len), Some(64));
    assert_eq!(members.as_object().unwrap().len(), 11, "{members}");
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_wants_a_user_is_recognized() {
    let fake = FakeCluster::new();
    fake.state().answers_max = Some(1);
    let error = value(&fake, &orders()).await.unwrap_err();
    assert!(error.ends_with("if it wants a user, set `sasl`"), "{error}");
}
