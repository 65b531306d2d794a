mod outages;

use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::*;
use crate::damaged::Damage;
use crate::recorded_server::Recording;
use crate::sample::Sample;
use crate::scaler::{Activity, Known};
use crate::trigger::Role;

fn stream() -> Sample {
    Sample::new("redis-streams").with("address", "redis:6379").with("stream", "orders")
}

async fn read(scaler: &Arc<dyn Scaler>) -> Result<Known, ReadError> {
    scaler.read("", DateTime::UNIX_EPOCH).await
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_is_a_reading_and_the_connection_is_kept_and_shared() {
    let (registry, opened) = Recording::new([":7\r\n"]).registry(Damage::None);
    let (one, other) = (registry.build(&stream().trigger()).unwrap(), registry.build(&stream().trigger()).unwrap());
    for scaler in [&one, &other, &one] {
        let known = read(scaler).await.unwrap();
        assert_eq!((known.values, known.activity), (vec![7.0], Activity::Active));
    }
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    let elsewhere = registry.build(&stream().with("address", "other:6379").trigger()).unwrap();
    read(&elsewhere).await.unwrap();
    assert_eq!(opened.load(Ordering::Relaxed), 2, "another server");
    assert_eq!(one.host().as_deref(), Some("redis:6379"));
}

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number() {
    Recording::new([":42\r\n"]).value_bytes(b"42").assert_no_outage_is_a_number(&stream(), 42.0).await;
    let signed_in =
        Recording::new(["*4\r\n:7\r\n$3\r\n1-0\r\n$3\r\n9-0\r\n*0\r\n"]).sign_in(["+OK\r\n"]).value_bytes(b"7");
    let group = stream().with("consumerGroup", "g").auth("password", "hunter2");
    signed_in.assert_no_outage_is_a_number(&group, 7.0).await;
    let list = Sample::new("redis").with("address", "redis:6379").with("listName", "orders");
    Recording::new(["+list\r\n", ":31\r\n"]).value_bytes(b"31").assert_no_outage_is_a_number(&list, 31.0).await;
}

#[tokio::test(start_paused = true)]
async fn another_answer_than_the_one_asked_for_is_an_error() {
    for answer in [":1\r\n:2\r\n", "HTTP/1.1 400 Bad Request\r\n", "$-1\r\n", "*0\r\n", "+OK\r\n"] {
        let error = Recording::new([answer]).read(&stream(), Damage::None).await.unwrap_err();
        assert!(matches!(error, ReadError::Malformed { .. }), "{error}");
    }
    let loading = Recording::new(["-LOADING Redis is loading the dataset in memory\r\n"]);
    let error = loading.read(&stream(), Damage::None).await.unwrap_err();
    assert_eq!(error.to_string(), "redis:6379 answered: LOADING Redis is loading the dataset in memory");
    assert!(!error.is_denied());
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_named_with_the_field_and_no_secret() {
    let list = || Sample::new("redis").with("address", "redis:6379").with("listName", "orders");
    let group = || stream().with("consumerGroup", "workers");
    let sentinel = || list().named("redis-sentinel").with("sentinelMaster", "main");
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    let repeated = "-ERR Client sent AUTH hunter2, but no password is set\r\n";
    let missing = "-NOAUTH Authentication required.\r\n";
    let permission = "-NOPERM User worker has no permissions to run the 'type' command\r\n";
    let rows = [
        (list().auth("password", "hunter2"), wrong, true, "; check `username` and `password`"),
        (list().auth("password", "hunter2"), repeated, true, "no password is set; check `username` and `password`"),
        (list(), missing, true, "; give `password`"),
        (list(), permission, true, "; allow the user the command and the key"),
        (list().with("databaseIndex", "99"), "-ERR DB index is out of range\r\n", false, "; check `databaseIndex`"),
        (list(), "+stream\r\n", false, "and none of list, hash, set and sorted set; check `listName`"),
        (
            list(),
            "-MOVED 3999 b:6379\r\n",
            false,
            "; the server is a node of a cluster: use the trigger type for clusters",
        ),
        (stream(), "-WRONGTYPE Operation against a key\r\n", false, "; check the name of the key"),
        (group(), "-NOGROUP No such key 'orders'\r\n", false, "; check `stream` and `consumerGroup`, or create them"),
        (sentinel(), "*-1\r\n", false, "the sentinel knows no master \"main\"; check `sentinelMaster`"),
        (
            sentinel().auth("sentinelPassword", "hunter2"),
            wrong,
            true,
            "; check `sentinelUsername` and `sentinelPassword`",
        ),
        (sentinel(), missing, true, "; give `sentinelPassword`"),
        (
            sentinel(),
            "-ERR unknown command 'SENTINEL'\r\n",
            false,
            "; check that `address` names sentinels, often with port 26379",
        ),
        (
            list().named("redis-cluster"),
            "-ERR This instance has cluster support disabled\r\n-ERR x\r\n",
            false,
            "it is no node of a cluster; check `addresses`, or use the type for one server",
        ),
    ];
    for (sample, answer, is_denied, expected) in rows {
        let error = Recording::new([answer]).read(&sample, Damage::None).await.unwrap_err();
        let text = error.to_string();
        assert_eq!(error.is_denied(), is_denied, "{text}");
        assert!(text.ends_with(expected) && !text.contains("hunter2"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_that_was_closed_is_replaced_without_a_failed_reading() {
    let two_answers = Damage::Cut(2 * ":1\r\n".len());
    let (registry, opened) = Recording::new([":1\r\n"]).registry(two_answers);
    let scaler = registry.build(&stream().trigger()).unwrap();
    for _ in 0..6 {
        assert_eq!(read(&scaler).await.unwrap().values, [1.0]);
    }
    assert_eq!(opened.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn readings_of_a_server_that_hangs_end_together() {
    let (registry, _) = Recording::new([":1\r\n"]).registry(Damage::Hang(0));
    let scaler = registry.build(&stream().trigger()).unwrap();
    let started = Instant::now();
    let all = futures::future::join_all((0..50).map(|_| read(&scaler))).await;
    assert!(all.iter().all(Result::is_err));
    assert_eq!(started.elapsed(), Duration::from_secs(3), "none waits for the others first");
}

#[test]
fn parameters_are_checked_together() {
    let (registry, _) = Recording::new([":0\r\n"]).registry(Damage::None);
    let list = || Sample::new("redis").with("address", "redis:6379").with("listName", "orders");
    let sentinel = || Sample::new("redis-sentinel").with("address", "s:26379").with("listName", "orders");
    let rows: Vec<(&str, Sample, &[&str])> = vec![
        ("complete", list(), &[]),
        ("hosts", list().without("address").with("hosts", "a,b").with("ports", "1,2"), &[]),
        ("a host and a port of authentication", list().without("address").auth("host", "a").auth("port", "1"), &[]),
        ("no server", list().without("address"), &["`address` is missing, and so is a `host` with a `port`"]),
        ("a host alone", list().without("address").with("host", "a"), &["`address` is missing"]),
        ("no port", list().with("address", "redis"), &["`address` \"redis\" has no port"]),
        ("a URL", list().with("address", "redis://redis:6379"), &["`address` \"redis://redis:6379\" is a URL"]),
        ("too few ports", list().with("hosts", "a,b").with("ports", "1"), &["`host` has 2 entries, and `port` has 1"]),
        (
            "no such port",
            list().with("host", "a").with("port", "x"),
            &["`host` and `port` together has no usable port"],
        ),
        (
            "both switches",
            list().with("enableTLS", "true").auth("tls", "enable"),
            &["`enableTLS` and `tls` are given both"],
        ),
        ("no switch", list().auth("tls", "on"), &["`tls` is not among the allowed values"]),
        ("no CA", list().with("enableTLS", "true").auth("ca", "hunter2"), &["`ca` holds no usable certificate"]),
        ("without TLS, its parameters do not count", list().auth("ca", "hunter2"), &[]),
        (
            "no list and no number",
            list().without("listName").with("listLength", "5.0"),
            &["`listName` is missing", "`listLength` \"5.0\" is not an integer"],
        ),
        ("nothing each", list().with("listLength", "0"), &["`listLength` is not above 0"]),
        ("nothing each, for a formula", list().with("listLength", "0").role(Role::FormulaInput), &[]),
        ("no master", sentinel(), &["`sentinelMaster` is missing"]),
        ("a master", sentinel().auth("sentinelMaster", "main"), &[]),
        ("no stream", stream().without("stream"), &["`stream` is missing"]),
        ("a lag", stream().with("consumerGroup", "g").with("lagCount", "3"), &[]),
        ("a negative lag", stream().with("consumerGroup", "g").with("lagCount", "-3"), &["`lagCount` is not above 0"]),
    ];
    for (name, sample, expected) in rows {
        let text = registry.build(&sample.trigger()).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(text.is_empty(), expected.is_empty(), "{name}: {text}");
        for part in expected {
            assert!(text.contains(part), "{name}: {text}");
        }
        assert!(!text.contains("hunter2"), "{name}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn names_and_targets_are_those_of_keda() {
    let (registry, _) = Recording::new([":0\r\n"]).registry(Damage::None);
    let list = Sample::new("redis-cluster").with("addresses", "a:1,b:2").with("listName", "shop:orders");
    let group = stream().with("consumerGroup", "g");
    let rows = [
        (list.clone(), "s0-redis-shop-orders", "5"),
        (list.with("listLength", "1000"), "s0-redis-shop-orders", "1k"),
        (stream().with("streamLength", "7").with("lagCount", "9"), "s0-redis-streams-orders", "7"),
        (group.clone().with("pendingEntriesCount", "8"), "s0-redis-streams-orders", "8"),
        (group.with("lagCount", "9"), "s0-redis-streams-orders", "9"),
    ];
    for (sample, name, target) in rows {
        let specs = registry.build(&sample.trigger()).unwrap().describe().await.unwrap();
        let external = specs[0].external.as_ref().unwrap();
        assert_eq!(external.metric.name, name);
        assert_eq!(external.target.average_value.as_ref().unwrap().0, target, "{sample:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a server sends: a number is the only answer that becomes a reading.
    #[test]
    fn only_a_number_is_a_reading(bytes in prop_oneof![any::<Vec<u8>>(), "[+:$*-][0-9a-z]{0,3}\r\n[0-9]{0,3}".prop_map(String::into_bytes)]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let reading = Recording::new([&bytes]).read(&stream(), Damage::None).await;
            let is_number = bytes.starts_with(b":") && bytes.ends_with(b"\r\n");
            prop_assert!(is_number || reading.is_err(), "{:?}: {:?}", bytes, reading);
            Ok(())
        })?;
    }
}
