//! JetStream consumers: the trigger against real servers, and on a cluster.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::Uri;
use kedge_scalers::http::connector::BoxStream;
use kedge_scalers::{BoxFuture, Connector, NoCluster, Registry, Settings};
use kedge_test_cluster::nats::{NatsServer, NatsServers};
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::json;

use super::cluster;
use super::triggers::{build, read, registry, settings, value};

fn metadata(endpoint: &str) -> Vec<(&str, &str)> {
    vec![
        ("natsServerMonitoringEndpoint", endpoint),
        ("account", "$G"),
        ("stream", "orders"),
        ("consumer", "worker"),
        ("lagThreshold", "5"),
        ("activationLagThreshold", "2"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_count_until_they_are_acknowledged_and_what_is_missing_is_named() {
    let mut servers = NatsServers::prepare("nats-jetstream").await.unwrap();
    let server = servers.start("solo", "").await.unwrap();
    let mut client = server.connect(json!({})).unwrap();
    let (registry, endpoint) = (registry(), server.monitoring().to_string());
    let orders = build(&registry, "nats-jetstream", &metadata(&endpoint), &[]);
    let problem = async || read(&*orders).await.unwrap_err().to_string();
    assert!(problem().await.contains("no stream \"orders\"; check `stream`"), "{}", problem().await);
    client.create_stream("orders", 1).unwrap();
    assert!(problem().await.contains("no consumer \"worker\"; check `consumer`"), "{}", problem().await);
    client.create_consumer("orders", "worker").unwrap();
    assert_eq!(value(&*orders).await, (0.0, false), "empty");
    client.publish("orders", 2).unwrap();
    assert_eq!(value(&*orders).await, (2.0, false), "at the activation value");
    client.publish("orders", 98).unwrap();
    assert_eq!(value(&*orders).await, (100.0, true), "many");
    client.take("orders", "worker", 40, 30).unwrap();
    assert_eq!(value(&*orders).await, (70.0, true), "60 are pending, and 10 are not acknowledged");

    servers.kill_and_restart(&server).await.unwrap();
    let back = async || read(&*orders).await.map(|known| known.values).map_err(|error| error.to_string());
    let [back] = wait_for("nats is back", DEADLINE, back).await.unwrap()[..] else { panic!("one value") };
    assert!((70.0..=100.0).contains(&back), "with its data, but for the last acknowledgements: {back}");
    let mut client = server.connect(json!({})).unwrap();
    client.ask("STREAM.PURGE.orders", &json!({})).unwrap();
    let drained = async || match value(&*orders).await {
        (0.0, active) => Ok(active),
        other => Err(other),
    };
    assert!(!wait_for("drained", DEADLINE, drained).await.unwrap());
    client.ask("STREAM.DELETE.orders", &json!({})).unwrap();
    assert!(problem().await.contains("no stream"), "a stream that is gone has no number: {}", problem().await);
    drop(servers);
    let gone = read(&*orders).await.unwrap_err();
    assert!(["SourceUnreachable", "SourceMalformed"].contains(&gone.reason()), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_known_by_name_and_others_are_not_read() {
    let mut servers = NatsServers::prepare("nats-accounts").await.unwrap();
    let accounts = "accounts {
        SHOP: { jetstream: enabled, users: [{ user: shop, password: s3cret }] }
        BANK: { jetstream: enabled, users: [{ user: bank, password: s3cret }] }
        PLAIN: { users: [{ user: plain, password: s3cret }] }
    }";
    let server = servers.start("accounts", accounts).await.unwrap();
    for (user, count) in [("shop", 3), ("bank", 8)] {
        let mut client = server.connect(json!({ "user": user, "pass": "s3cret" })).unwrap();
        client.create_stream("orders", 1).unwrap();
        client.create_consumer("orders", "worker").unwrap();
        client.publish("orders", count).unwrap();
    }
    let (registry, endpoint) = (registry(), server.monitoring().to_string());
    let of = |account: &str, auth: &[(&str, &str)]| {
        let metadata = [metadata(&endpoint), vec![("account", account)]].concat();
        build(&registry, "nats-jetstream", &metadata, auth)
    };
    assert_eq!(value(&*of("SHOP", &[])).await, (3.0, true));
    assert_eq!(value(&*of("BANK", &[])).await, (8.0, true));
    assert_eq!(
        value(&*of("BANK", &[("account", "SHOP"), ("accountID", "SHOP")])).await,
        (3.0, true),
        "authentication first"
    );
    for account in ["NONE", "PLAIN"] {
        let error = read(&*of(account, &[])).await.unwrap_err();
        assert_eq!(error.reason(), "SourceWithoutValue", "{account}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_the_certificate_counts() {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let mut servers = NatsServers::prepare("nats-tls").await.unwrap();
    let server = servers.start_with_tls("solo", &certificate, &key).await.unwrap();
    let endpoint = server.monitoring().to_string();
    let https = [metadata(&endpoint), vec![("useHttps", "true")]].concat();
    let trusting = Settings { extra_roots: vec![certified.cert.der().clone()], ..settings() };
    let trusting = Registry::new(trusting, Connector::tcp(), Arc::new(NoCluster));
    for (name, registry, metadata, expected) in [
        ("trusted", &trusting, &https, "SourceWithoutValue"),
        ("not trusted", &registry(), &https, "SourceUntrusted"),
        ("without TLS", &trusting, &metadata(&endpoint), "SourceRefused"),
    ] {
        let error = read(&*build(registry, "nats-jetstream", metadata, &[])).await.unwrap_err();
        assert_eq!(error.reason(), expected, "{name}: {error}");
    }
}

/// Every name is looked up here: `nats.q` is the first server, `NAME.nats` the server of that name. All have one monitoring port there.
fn names(servers: &[NatsServer]) -> Connector {
    let mut names: BTreeMap<String, SocketAddr> =
        servers.iter().map(|server| (format!("{}.nats", server.name), server.monitoring())).collect();
    names.insert("nats.q".to_owned(), servers[0].monitoring());
    // As the names of routes are made.
    names.extend(servers.iter().map(|server| (format!("{}.nats.q", server.name), server.monitoring())));
    Connector::new(move |uri: Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
        let found = names.get(uri.host().unwrap_or_default()).copied();
        Box::pin(async move {
            let address = found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            Connector::tcp().connect(format!("http://{address}/").parse().expect("it is an address")).await
        })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_cluster_the_leader_of_the_consumer_is_asked_whoever_it_is() {
    let mut servers = NatsServers::prepare("nats-cluster").await.unwrap();
    let nodes = servers.start_cluster(&["nats-1", "nats-2", "nats-3"], "").await.unwrap();
    let mut client = nodes[0].connect(json!({})).unwrap();
    let created = async || client.create_stream("orders", 3).map_err(|error| error.to_string());
    wait_for("the cluster has a stream", DEADLINE, created).await.unwrap();
    client.create_consumer("orders", "worker").unwrap();
    client.publish("orders", 60).unwrap();
    client.take("orders", "worker", 25, 20).unwrap();
    let registry = Registry::new(settings(), names(&nodes), Arc::new(NoCluster));
    let orders = build(&registry, "nats-jetstream", &metadata("nats.q:8222"), &[]);
    let settled = async |expected: f64| {
        wait_for("the leader is found", DEADLINE, async || match read(&*orders).await {
            Ok(known) if known.values == [expected] => Ok(()),
            other => Err(other),
        })
        .await
        .unwrap();
    };
    settled(40.0).await;
    // Some followers keep other numbers.
    let mut last = String::new();
    for _ in 0..3 {
        let another = async || {
            let info = client.ask("CONSUMER.INFO.orders.worker", &json!({})).map_err(|error| error.to_string())?;
            match info["cluster"]["leader"].as_str() {
                Some(leader) if leader != last => Ok(leader.to_owned()),
                _ => Err(match client.ask("CONSUMER.LEADER.STEPDOWN.orders.worker", &json!({})) {
                    Ok(_) => info.to_string(),
                    Err(error) => error.to_string(),
                }),
            }
        };
        last = wait_for("another leader", DEADLINE, another).await.unwrap();
        settled(40.0).await;
    }
    client.take("orders", "worker", 10, 10).unwrap();
    settled(30.0).await;
    // The one that led last is away for a moment; another one leads, and the reading follows.
    let led = nodes.iter().find(|node| node.name == last).unwrap();
    servers.kill_and_restart(led).await.unwrap();
    settled(30.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_scales_a_deployment_from_zero_and_back() {
    let mut servers = NatsServers::prepare("nats-scaling").await.unwrap();
    let server = servers.start("solo", "").await.unwrap();
    let mut client = server.connect(json!({})).unwrap();
    client.create_stream("orders", 1).unwrap();
    client.create_consumer("orders", "worker").unwrap();
    let namespace = TestNamespace::create(cluster().await, "nats");
    let endpoint = server.monitoring().to_string();
    let metadata: BTreeMap<&str, &str> = metadata(&endpoint).into_iter().collect();
    let trigger = json!({ "type": "nats-jetstream", "metadata": metadata });
    namespace.apply([deployment("web", 0), scaled_object("web", [trigger], json!({}))]);
    client.publish("orders", 14).unwrap();
    namespace.until_replicas("web", 3).await;
    client.take("orders", "worker", 14, 14).unwrap();
    namespace.until_replicas("web", 0).await;
}
