//! What happens to triggers when brokers hang, refuse, move, or fail for one of them.

use super::*;

/// Triggers with topics and groups of their own. Each topic has one partition, which this broker leads, with 45 messages.
fn triggers(fake: &FakeCluster, registry: &crate::Registry, leader: i32, count: usize) -> Vec<Arc<dyn Scaler>> {
    let build = |number: usize| {
        let topic = format!("of-{leader}-{number}");
        fake.state().topics.insert(topic.clone(), vec![partition(leader, 45)]);
        fake.state().committed.insert((topic.clone(), 0), 3);
        let sample = orders().with("topic", &topic).with("consumerGroup", &topic).with("lagThreshold", "1000");
        registry.build(&sample.trigger()).unwrap()
    };
    (0..count).map(build).collect()
}

fn outcome(known: Result<Known, ReadError>) -> Result<f64, &'static str> {
    known.map(|known| known.values[0]).map_err(|error| error.reason())
}

#[tokio::test(start_paused = true)]
async fn a_hung_broker_costs_only_the_partitions_it_leads() {
    for (hung, healthy, host) in [(1, 2, "kafka-1:9092"), (2, 1, "kafka-2:9092")] {
        let fake = FakeCluster::new();
        let registry = fake.registry();
        fake.state().coordinator = healthy;
        let well = triggers(&fake, &registry, healthy, 20);
        let ill = triggers(&fake, &registry, hung, 20);
        for known in join_all(well.iter().chain(&ill).map(read)).await {
            assert_eq!(outcome(known), Ok(42.0));
        }
        fake.state().hung_hosts = vec![host];
        for round in 0..4 {
            // The view is too old each time.
            tokio::time::advance(Duration::from_secs(11)).await;
            let (well, ill) = tokio::join!(join_all(well.iter().map(read)), async {
                // As polls are: those who ask keep the connection busy all the time.
                join_all(ill.iter().zip(0_u32..).map(|(scaler, number)| async move {
                    tokio::time::sleep(Duration::from_millis(300) * number).await;
                    read(scaler).await
                }))
                .await
            });
            for known in well {
                assert_eq!(outcome(known), Ok(42.0), "round {round} without {host}");
            }
            for known in ill {
                assert_eq!(outcome(known), Err("SourceTimeout"), "round {round} without {host}");
            }
        }
        fake.state().hung_hosts.clear();
        tokio::time::advance(Duration::from_secs(11)).await;
        for known in join_all(well.iter().chain(&ill).map(read)).await {
            assert_eq!(outcome(known), Ok(42.0), "back");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_for_one_trigger_leaves_the_connections_of_the_others() {
    let fake = FakeCluster::new();
    let registry = fake.registry();
    let scalers = triggers(&fake, &registry, 1, 10);
    join_all(scalers.iter().map(read)).await;
    let connected = fake.state().connected.len();
    // One fails at once at broker 1, while broker 2 still works for all of them.
    fake.state().slow = Some(("OffsetFetch", Duration::from_millis(200)));
    fake.state().errors = vec![("ListOffsets", ErrorCode::TOPIC_AUTHORIZATION_FAILED)];
    let outcomes: Vec<_> = join_all(scalers.iter().map(read)).await.into_iter().map(outcome).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Ok(42.0)).count(), 9, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Err("SourceRefused")).count(), 1, "{outcomes:?}");
    assert_eq!(fake.state().connected.len(), connected);
}

#[tokio::test(start_paused = true)]
async fn callers_with_little_time_cut_off_no_others() {
    let fake = FakeCluster::new();
    fake.state().slow = Some(("FindCoordinator", Duration::from_millis(500)));
    let shared = fake.shared();
    let bootstrap = vec![crate::host_port::HostPort::parse("bootstrap:9092", "").unwrap()];
    let key = ClusterKey { bootstrap, security: None, credentials: Credentials::None };
    let cluster = shared.kafka.cluster(key, &shared.http, &shared.signers).unwrap();
    let ask = |group: &'static str, limit: u64| {
        let cluster = &cluster;
        async move {
            let until = crate::sessions::deadline(Duration::from_millis(limit));
            cluster.coordinator(&Arc::from(group), until).await.map(drop).map_err(|failure| failure.error().reason())
        }
    };
    let started = Instant::now();
    let hasty = async {
        let outcome = ask("hasty", 100).await;
        (outcome, started.elapsed())
    };
    let (hasty, patient, last) = tokio::join!(hasty, ask("patient", 3000), ask("other", 2000));
    assert_eq!(hasty, (Err("SourceTimeout"), Duration::from_millis(100)));
    assert_eq!((patient, last), (Ok(()), Ok(())));
    assert_eq!(fake.state().connected.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn first_offsets_that_cannot_be_read_are_no_lag() {
    let earliest = |fake: &FakeCluster| {
        fake.state().topics.insert("orders".to_owned(), vec![partition(1, 45)]);
        fake.state().topics.get_mut("orders").unwrap()[0].first = 40;
        fake.state().committed.clear();
        orders().with("offsetResetPolicy", "earliest").with("lagThreshold", "1000")
    };
    let failing = |code| vec![("ListOffsets", ErrorCode::NONE), ("ListOffsets", code)];
    let fake = FakeCluster::new();
    let sample = earliest(&fake);
    fake.state().errors = failing(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(value(&fake, &sample).await, Ok(5.0), "asked again");
    fake.state().errors = failing(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    let error = value(&fake, &sample).await.unwrap_err();
    assert!(error.contains("TOPIC_AUTHORIZATION_FAILED"), "{error}");
    fake.state().errors = failing(ErrorCode::NOT_LEADER_OR_FOLLOWER).repeat(5);
    let error = value(&fake, &sample).await.unwrap_err();
    assert!(error.contains("NOT_LEADER_OR_FOLLOWER"), "{error}");
    fake.state().topics.get_mut("orders").unwrap()[0].first = -1;
    assert_eq!(value(&fake, &sample).await, Ok(45.0), "left out of a good answer");
}

#[tokio::test(start_paused = true)]
async fn what_comes_twice_is_no_answer() {
    let fake = FakeCluster::new();
    fake.state().extra_topic = Some("orders");
    let error = value(&fake, &orders()).await.unwrap_err();
    assert!(error.ends_with("cannot be used: a topic is in it twice"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_group_whose_broker_hangs_is_searched_again_by_the_next_reading() {
    let fake = FakeCluster::new();
    let registry = fake.registry();
    let [scaler] = &triggers(&fake, &registry, 1, 1)[..] else { panic!("one trigger") };
    assert_eq!(outcome(read(scaler).await), Ok(42.0));
    fake.state().hung_hosts = vec!["kafka-2:9092"];
    assert_eq!(outcome(read(scaler).await), Err("SourceTimeout"));
    fake.state().coordinator = 1;
    assert_eq!(outcome(read(scaler).await), Ok(42.0));
}

#[tokio::test(start_paused = true)]
async fn refused_connections_are_tried_once_for_all_triggers() {
    let fake = FakeCluster::new();
    let registry = fake.registry();
    let sample = |number: usize| orders().with("bootstrapServers", "gone:9092").with("topic", &format!("t{number}"));
    let scalers: Vec<_> = (0..100).map(|number| registry.build(&sample(number).trigger()).unwrap()).collect();
    for known in join_all(scalers.iter().map(read)).await {
        assert_eq!(outcome(known), Err("SourceUnreachable"));
    }
    assert!(fake.state().refused <= 10, "{} connections", fake.state().refused);
}

#[tokio::test(start_paused = true)]
async fn servers_that_are_gone_do_not_hide_the_ones_that_are_there() {
    let fake = FakeCluster::new();
    let nodes = (1..=6).map(|id| (id, format!("kafka-{id}:9092")));
    fake.state().nodes = nodes.collect();
    fake.state().coordinator = 6;
    let registry = fake.registry();
    let [scaler] = &triggers(&fake, &registry, 6, 1)[..] else { panic!("one trigger") };
    assert_eq!(outcome(read(scaler).await), Ok(42.0));
    fake.state().refused_hosts = vec!["bootstrap:9092", "kafka-1:9092", "kafka-2:9092", "kafka-3:9092", "kafka-4:9092"];
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!(outcome(read(scaler).await), Ok(42.0));
    }
    assert!(fake.state().refused <= 2, "{} refused: the one that answered last is asked first", fake.state().refused);
    fake.state().refused_hosts.push("kafka-6:9092");
    fake.state().topics.insert("of-6-0".to_owned(), vec![partition(5, 45)]);
    fake.state().coordinator = 5;
    tokio::time::advance(Duration::from_secs(11)).await;
    assert_eq!(outcome(read(scaler).await), Ok(42.0), "the last one that is left is found within the reading");
}

#[tokio::test(start_paused = true)]
async fn offsets_of_partitions_that_a_topic_does_not_have_are_refused() {
    let fake = FakeCluster::new();
    fake.state().committed.insert(("orders".to_owned(), 7), 3);
    let error = value(&fake, &group().with("lagThreshold", "1000")).await.unwrap_err();
    assert!(error.ends_with("topic \"orders\" has no partition 7, of which an offset is committed"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_was_not_asked_for_changes_nothing() {
    let fake = FakeCluster::new();
    fake.state().extra_topic = Some("intruder");
    assert_eq!(value(&fake, &orders().with("lagThreshold", "1000")).await, Ok(84.0));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_refused_is_not_sent_again() {
    let sample = orders().with("lagThreshold", "1000").with("sasl", "oauthbearer").auth("username", "worker");
    let sample = sample.auth("password", "s3cret").auth("oauthTokenEndpointUri", "http://login/token");
    let refused = Some(ErrorCode::SASL_AUTHENTICATION_FAILED);
    let challenge = "{\"status\":\"old t0ken\"}";
    let rows = [
        ("at once", None, refused, None, "SASL_AUTHENTICATION_FAILED: "),
        ("by a challenge, and then closed", Some(challenge), None, Some(3), "{\"status\":\"old ***\"}"),
    ];
    for (name, challenge, code, answers_max, words) in rows {
        let fake = FakeCluster::new();
        fake.state().mechanisms = vec!["OAUTHBEARER"];
        fake.state().challenge = challenge;
        fake.state().errors = code.map(|code| ("SaslAuthenticate", code)).into_iter().collect();
        fake.state().answers_max = answers_max;
        let scaler = fake.registry().build(&sample.trigger()).unwrap();
        let error = read(&scaler).await.unwrap_err().to_string();
        let start = format!("bootstrap:9092 denied access: {words}");
        assert!(error.starts_with(&start) && !error.contains("t0ken"), "{name}: {error}");
        fake.state().answers_max = None;
        assert_eq!(outcome(read(&scaler).await), Ok(84.0), "{name}");
        assert_eq!(fake.state().tokens, 2, "{name}");
    }
}
