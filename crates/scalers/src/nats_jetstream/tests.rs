mod fake;
mod outages;

use std::io;
use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::damaged::Damage;
use crate::http::Settings;
use crate::http::connector::{BoxStream, Connector};
use crate::recorded_server::{Recording, http_answer};
use crate::sample::Sample;
use crate::scaler::BoxFuture;
use crate::trigger::Resolution;
use crate::{NoCluster, ReadError, Registry};

use self::fake::FakeCluster;
use super::*;

fn sample() -> Sample {
    Sample::new("nats-jetstream")
        .with("natsServerMonitoringEndpoint", "nats.q:8222")
        .with("account", "$G")
        .with("stream", "orders")
        .with("consumer", "worker")
}

fn registry(connector: Connector) -> Registry {
    Registry::new(Settings::default(), connector, Arc::new(NoCluster))
}

#[test]
fn every_error_is_named_in_one_go() {
    let rows: [(&str, Sample, &[&str]); 10] = [
        ("complete", sample(), &[]),
        ("an id alone", sample().without("account").with("accountID", "ACID"), &[]),
        ("an account from authentication", sample().without("account").auth("account", "SHOP"), &[]),
        ("no account", sample().without("account"), &["`account` is missing, and so is `accountID`"]),
        (
            "a URL",
            sample().with("natsServerMonitoringEndpoint", "http://nats:8222"),
            &["`natsServerMonitoringEndpoint` \"http://nats:8222\" is a URL; write host:port"],
        ),
        (
            "no endpoint",
            sample().without("natsServerMonitoringEndpoint"),
            &["`natsServerMonitoringEndpoint` is missing"],
        ),
        ("no target", sample().with("lagThreshold", "0"), &["`lagThreshold` is not above 0"]),
        ("half a message", sample().with("lagThreshold", "0.5"), &["`lagThreshold` \"0.5\" is not an integer"]),
        ("a switch that is none", sample().with("useHttps", "yes"), &["`useHttps`"]),
        (
            "all at once",
            Sample::new("nats-jetstream").with("activationLagThreshold", "x"),
            &["`stream`", "`consumer`", "`account`", "`activationLagThreshold`", "`natsServerMonitoringEndpoint`"],
        ),
    ];
    for (name, sample, expected) in rows {
        let text = registry(Connector::tcp())
            .build(&sample.trigger())
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert_eq!(text.is_empty(), expected.is_empty(), "{name}: {text}");
        assert!(expected.iter().all(|part| text.contains(part)), "{name}: {text}");
    }
    let unresolved = sample().without("account").resolution(Resolution::ManifestWithAuthentication);
    assert_eq!(registry(Connector::tcp()).check(&unresolved.trigger()), []);
}

#[tokio::test]
async fn the_metric_is_named_after_the_stream() {
    let scaler = registry(Connector::tcp()).build(&sample().index(2).with("stream", "shop.orders").trigger()).unwrap();
    let external = scaler.describe().await.unwrap().remove(0).external.unwrap();
    assert_eq!(external.metric.name, "s2-nats-jetstream-shop-orders");
    assert_eq!(external.target.average_value.unwrap().0, "10");
    assert_eq!(scaler.host().as_deref(), Some("nats.q:8222"));
}

/// As nats-server 2.9.10 answers, without what is not read.
fn jetstream_page(pending: u64, unacknowledged: u64) -> String {
    format!(
        "{{\n  \"server_id\": \"NDOU\",\n  \"streams\": 1,\n  \"account_details\": [\n    {{\n      \"name\": \"$G\",\n      \"id\": \"$G\",\n      \"stream_detail\": [\n        {{\n          \"name\": \"orders\",\n          \"consumer_detail\": [\n            {{\n              \"name\": \"worker\",\n              \"num_ack_pending\": {unacknowledged},\n              \"num_waiting\": 0,\n              \"num_pending\": {pending}\n            }}\n          ]\n        }}\n      ]\n    }}\n  ]\n}}"
    )
}

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number() {
    let recording = Recording::http([jetstream_page(471, 38)]).value_bytes(b"471").value_bytes(b"38");
    recording.assert_no_outage_is_a_number(&sample(), 509.0).await;
    for status in ["204 No Content", "404 Not Found", "500 Internal Server Error"] {
        let refused = Recording::new([http_answer(status, &jetstream_page(1, 1))]).read(&sample(), Damage::None).await;
        assert!(refused.is_err(), "{status}: {refused:?}");
    }
}

#[tokio::test]
async fn what_is_missing_is_named_and_nothing_else_is_repeated() {
    let page = jetstream_page(1, 1);
    let rows = [
        (
            "no stream",
            page.replace("\"orders\"", "\"other\""),
            "nats.q:8222 has no value: the account has no stream \"orders\"; check `stream`",
        ),
        (
            "no consumer",
            page.replace("\"worker\"", "\"other\""),
            "the stream \"orders\" has no consumer \"worker\"; check `consumer`",
        ),
        ("no account", page.replace("$G", "SHOP"), "the account is not known there"),
        ("no JetStream", r#"{"server_id": "N", "disabled": true}"#.to_owned(), "JetStream is not enabled there"),
        (
            "another server",
            r#"{"secret": "hunter2"}"#.to_owned(),
            "is not what a NATS server answers; check `natsServerMonitoringEndpoint`",
        ),
        ("a page", "<html>hunter2</html>".to_owned(), "is not what a NATS server answers"),
    ];
    for (name, body, expected) in rows {
        let error = Recording::http([body]).read(&sample(), Damage::None).await.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{name}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_cluster_only_the_leader_counts() {
    let cluster = FakeCluster::start();
    let scaler = registry(cluster.connector()).build(&sample().trigger()).unwrap();
    let read = async || scaler.read("", DateTime::UNIX_EPOCH).await.map(|known| known.values[0]);
    assert_eq!(read().await, Ok(7.0));
    assert!(cluster.asked().contains(&"b.q/jsz".to_owned()));
    assert_eq!(read().await, Ok(7.0));
    assert_eq!(cluster.asked(), ["b.q/jsz"], "the leader is asked again, and no other server");

    cluster.change(|fakes| (fakes.leader, fakes.lag) = ("c", 8));
    assert_eq!(read().await, Ok(8.0), "another leader is found in the same reading");
    cluster.asked();
    cluster.change(|fakes| fakes.run = 2);
    assert_eq!(read().await, Ok(8.0), "after a restart, all are asked");
    assert!(cluster.asked().len() > 1);

    cluster.change(|fakes| fakes.leader = "a");
    assert_eq!(read().await, Ok(8.0), "the server that is asked first may be the leader");
    assert_eq!(cluster.asked(), ["c.q/jsz", "nats.q/jsz", "nats.q/varz"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_leader_or_stream_gives_no_number() {
    let cluster = FakeCluster::start();
    let scaler = registry(cluster.connector()).build(&sample().trigger()).unwrap();
    let read = async || scaler.read("", DateTime::UNIX_EPOCH).await.map(|known| known.values[0]);
    assert_eq!(read().await, Ok(7.0));
    cluster.change(|fakes| fakes.leader = "");
    assert!(read().await.unwrap_err().to_string().contains("no server leads the consumer \"worker\""));
    cluster.change(|fakes| (fakes.leader, fakes.has_stream) = ("b", false));
    let gone = read().await.unwrap_err();
    assert!(matches!(gone, ReadError::NoValue { .. }) && gone.to_string().contains("no stream"), "{gone}");
    cluster.change(|fakes| fakes.has_stream = true);
    assert_eq!(read().await, Ok(7.0), "back");

    // One that is down ends the search only if it may be the leader.
    cluster.change(|fakes| fakes.servers.retain(|(host, _)| *host != "c.q"));
    cluster.change(|fakes| fakes.run = 3);
    assert_eq!(read().await, Ok(7.0));
    cluster.change(|fakes| fakes.leader = "c");
    let unreachable = read().await.unwrap_err();
    assert_eq!(unreachable.reason(), "SourceUnreachable", "{unreachable}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_ends_with_the_limit_and_is_asked_no_more() {
    let hang = Connector::new(|_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
        Box::pin(std::future::pending())
    });
    let scaler = registry(hang).build(&sample().trigger()).unwrap();
    let started = tokio::time::Instant::now();
    let error = scaler.read("", DateTime::UNIX_EPOCH).await.unwrap_err();
    assert_eq!((error.reason(), started.elapsed()), ("SourceTimeout", Settings::default().http_timeout));
}

#[tokio::test(start_paused = true)]
async fn two_servers_behind_one_address_are_not_taken_for_one() {
    let page = jetstream_page(5, 0).replacen("\"streams\": 1", "\"meta_cluster\": {\"cluster_size\": 3}", 1);
    let page = page.replace("\"num_waiting\": 0", "\"cluster\": {\"leader\": \"a\"}");
    let server = |id: &str| json!({ "server_id": id, "server_name": "a" }).to_string();
    let same = Recording::http([page.clone(), server("NDOU")]).read(&sample(), Damage::None).await;
    assert_eq!(same.unwrap().values, [5.0]);
    let two = Recording::http([page, server("NXXX")]).read(&sample(), Damage::None).await;
    assert!(two.unwrap_err().to_string().contains("no server leads"));
}
