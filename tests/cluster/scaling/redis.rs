//! The Redis triggers against real servers, and on a cluster.

use kedge_test_cluster::redis::{RedisServer, RedisServers};
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use kedge_wire::resp::Reply;
use serde_json::json;

use super::cluster;
use super::triggers::{build, read, registry, value};

fn push(server: &RedisServer, key: &str, count: usize) {
    for _ in 0..count {
        assert!(matches!(server.ask(&["RPUSH", key, "x"]).unwrap(), Reply::Integer(_)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_key_is_counted_and_what_has_no_length_is_an_error() {
    let mut servers = RedisServers::prepare("redis-lists").await.unwrap();
    let server = servers.start("one", &[]).await.unwrap();
    let registry = registry();
    let address = server.address();
    let list = |key: &str| {
        build(&registry, "redis", &[("address", &address), ("listName", key), ("activationListLength", "2")], &[])
    };
    let orders = list("orders");
    assert_eq!(value(&*orders).await, (0.0, false), "no such key");
    push(&server, "orders", 2);
    assert_eq!(value(&*orders).await, (2.0, false), "at the activation value");
    push(&server, "orders", 500);
    assert_eq!(value(&*orders).await, (502.0, true), "many");
    server.ask(&["DEL", "orders"]).unwrap();
    assert_eq!(value(&*orders).await, (0.0, false), "drained");
    for (command, key, expected) in [
        (&["HSET", "hash", "a", "1", "b", "2", "c", "3"][..], "hash", 3.0),
        (&["SADD", "set", "a", "b"][..], "set", 2.0),
        (&["ZADD", "zset", "1", "a"][..], "zset", 1.0),
    ] {
        server.ask(command).unwrap();
        assert_eq!(value(&*list(key)).await.0, expected, "{key}");
    }
    server.ask(&["SET", "text", "x"]).unwrap();
    let error = read(&*list("text")).await.unwrap_err().to_string();
    assert!(error.contains("\"text\" is a string, and none of list"), "{error}");

    // Gone, and back, without its data.
    servers.kill_and_restart(&server).unwrap();
    let back = async || read(&*orders).await.map(|known| known.values).map_err(|error| error.to_string());
    assert_eq!(wait_for("redis is back", DEADLINE, back).await.unwrap(), [0.0]);
    let gone = build(&registry, "redis", &[("address", "127.0.0.1:1"), ("listName", "x")], &[]);
    let error = read(&*gone).await.unwrap_err();
    assert_eq!(error.reason(), "SourceUnreachable", "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_users_and_passwords_are_used_and_refusals_name_no_secret() {
    let mut servers = RedisServers::prepare("redis-sign-in").await.unwrap();
    let lines = ["requirepass s3cret", "user worker on >w0rker ~jobs &* +@read +@connection"].map(str::to_owned);
    let server = servers.start("one", &lines).await.unwrap();
    for _ in 0..3 {
        let mut asked = server.ask_as(&["AUTH", "s3cret"], &["RPUSH", "jobs", "x"]).unwrap();
        assert!(matches!(&mut asked, Reply::Integer(_)), "{asked:?}");
    }
    let (registry, address) = (registry(), server.address());
    let jobs = |more: &[(&str, &str)], auth: &[(&str, &str)]| {
        let metadata = [&[("address", address.as_str()), ("listName", "jobs")], more].concat();
        build(&registry, "redis", &metadata, auth)
    };
    assert_eq!(value(&*jobs(&[], &[("password", "s3cret")])).await.0, 3.0);
    assert_eq!(value(&*jobs(&[], &[("username", "worker"), ("password", "w0rker")])).await.0, 3.0);
    assert_eq!(value(&*jobs(&[("databaseIndex", "7")], &[("password", "s3cret")])).await.0, 0.0, "another database");
    for (auth, more, expected) in [
        (&[("password", "wr0ng")][..], &[][..], "WRONGPASS"),
        (&[][..], &[][..], "NOAUTH"),
        (&[("username", "worker"), ("password", "w0rker")][..], &[("listName", "other")][..], "NOPERM"),
    ] {
        let error = read(&*jobs(more, auth)).await.unwrap_err();
        let text = error.to_string();
        assert!(error.is_denied() && text.contains(expected), "{text}");
        assert!(!["wr0ng", "w0rker", "s3cret"].iter().any(|secret| text.contains(secret)), "{text}");
    }
    let error = read(&*jobs(&[("databaseIndex", "99")], &[("password", "s3cret")])).await.unwrap_err();
    assert!(error.to_string().ends_with("out of range; check `databaseIndex`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_measured_by_length_pending_entries_and_lag() {
    let mut servers = RedisServers::prepare("redis-streams").await.unwrap();
    let server = servers.start("one", &[]).await.unwrap();
    let (registry, address) = (registry(), server.address());
    let stream = |more: &[(&str, &str)]| {
        let metadata = [&[("address", address.as_str()), ("stream", "orders")], more].concat();
        build(&registry, "redis-streams", &metadata, &[])
    };
    let (length, pending) = (stream(&[]), stream(&[("consumerGroup", "workers")]));
    let lag = stream(&[("consumerGroup", "workers"), ("lagCount", "10")]);
    assert_eq!(value(&*length).await, (0.0, false));
    assert_eq!(value(&*lag).await, (0.0, false), "no stream has no lag");
    let error = read(&*pending).await.unwrap_err().to_string();
    assert!(
        error.contains("NOGROUP") && error.ends_with("check `stream` and `consumerGroup`, or create them"),
        "{error}"
    );
    for number in 0..8 {
        server.ask(&["XADD", "orders", "*", "number", &number.to_string()]).unwrap();
    }
    assert_eq!(value(&*length).await, (8.0, true));
    assert_eq!(value(&*lag).await, (8.0, true), "without the group, all of the stream");
    server.ask(&["XGROUP", "CREATE", "orders", "workers", "0"]).unwrap();
    assert_eq!(value(&*lag).await, (8.0, true));
    server.ask(&["XREADGROUP", "GROUP", "workers", "one", "COUNT", "5", "STREAMS", "orders", ">"]).unwrap();
    assert_eq!((value(&*lag).await.0, value(&*pending).await.0), (3.0, 5.0));
    let specs = lag.describe().await.unwrap();
    let external = specs[0].external.as_ref().unwrap();
    assert_eq!(external.metric.name, "s0-redis-streams-orders");
    assert_eq!(external.target.average_value.as_ref().unwrap().0, "10");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_asked_where_the_key_is() {
    let mut servers = RedisServers::prepare("redis-cluster").await.unwrap();
    let lines = ["cluster-enabled yes", "cluster-require-full-coverage no"].map(str::to_owned);
    let first = servers.start("first", &lines).await.unwrap();
    let second = servers.start("second", &lines).await.unwrap();
    first.ask(&["CLUSTER", "ADDSLOTSRANGE", "0", "8191"]).unwrap();
    second.ask(&["CLUSTER", "ADDSLOTSRANGE", "8192", "16383"]).unwrap();
    let (port, bus) = (second.port().to_string(), second.bus_port().to_string());
    first.ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).unwrap();
    let knows_all = async || {
        let infos = [&first, &second].map(|server| server.ask(&["CLUSTER", "INFO"]).unwrap());
        let is_whole = |info: &Reply| {
            let text = info.as_text().unwrap_or_default();
            text.contains("cluster_state:ok")
                && text.contains("cluster_slots_ok:16384")
                && text.contains("cluster_known_nodes:2")
        };
        if infos.iter().all(is_whole) { Ok(()) } else { Err(format!("{infos:?}")) }
    };
    wait_for("the nodes know each other", DEADLINE, knows_all).await.unwrap();
    let (registry, seeds) = (registry(), format!("127.0.0.1:1,{}", first.address()));
    // Of eight keys, some are on each node; the first seed does not answer.
    for number in 0..8 {
        let key = format!("queue-{number}");
        let owner = match first.ask(&["RPUSH", &key, "x"]).unwrap() {
            Reply::Error(_) => &second,
            _ => &first,
        };
        let scaler = build(&registry, "redis-cluster", &[("addresses", &seeds), ("listName", &key)], &[]);
        owner.ask(&["RPUSH", &key, "x"]).unwrap();
        let Reply::Integer(length) = owner.ask(&["LLEN", &key]).unwrap() else {
            panic!("{key} {:?}", owner.ask(&["LLEN", &key]))
        };
        assert_eq!(value(&*scaler).await, (length as f64, true), "{key}");
    }
    let stream = build(
        &registry,
        "redis-cluster-streams",
        &[("addresses", &seeds), ("stream", "none"), ("consumerGroup", "g"), ("lagCount", "1")],
        &[],
    );
    assert_eq!(value(&*stream).await, (0.0, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_are_asked_for_the_master() {
    let mut servers = RedisServers::prepare("redis-sentinel").await.unwrap();
    let master = servers.start("master", &[]).await.unwrap();
    push(&master, "orders", 4);
    let monitor = format!("sentinel monitor main 127.0.0.1 {} 1", master.port());
    let sentinel = servers.start("sentinel", &[monitor]).await.unwrap();
    let (registry, addresses) = (registry(), format!("127.0.0.1:1,{}", sentinel.address()));
    let list = |name: &str| {
        let metadata = [("addresses", addresses.as_str()), ("sentinelMaster", name), ("listName", "orders")];
        build(&registry, "redis-sentinel", &metadata, &[])
    };
    assert_eq!(value(&*list("main")).await, (4.0, true));
    let error = read(&*list("other")).await.unwrap_err().to_string();
    assert!(error.contains("knows no master \"other\"; check `sentinelMaster`"), "{error}");
    let metadata = [("addresses", addresses.as_str()), ("sentinelMaster", "main"), ("stream", "none")];
    assert_eq!(value(&*build(&registry, "redis-sentinel-streams", &metadata, &[])).await, (0.0, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_scales_a_deployment_from_zero_and_back() {
    let mut servers = RedisServers::prepare("redis-scaling").await.unwrap();
    let server = servers.start("one", &["requirepass s3cret".to_owned()]).await.unwrap();
    let ask = |password: &str, command: &[&str]| server.ask_as(&["AUTH", password], command).unwrap();
    let secret = |password: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "redis" }, "stringData": { "password": password } });
    let namespace = TestNamespace::create(cluster().await, "redis");
    let metadata = json!({ "address": server.address(), "listName": "orders", "listLength": "5" });
    let trigger = json!({ "type": "redis", "metadata": metadata, "authenticationRef": { "name": "redis" } });
    let secret_reference = json!([{ "parameter": "password", "name": "redis", "key": "password" }]);
    namespace.apply([
        secret("s3cret"),
        json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "redis" }, "spec": { "secretTargetRef": secret_reference } }),
        deployment("web", 0),
        scaled_object("web", [trigger], json!({})),
    ]);
    let push = |password: &str, count: usize| (0..count).for_each(|_| drop(ask(password, &["RPUSH", "orders", "x"])));
    push("s3cret", 14);
    namespace.until_replicas("web", 3).await;
    // Connections stay signed in while the password changes: no reading fails.
    ask("s3cret", &["CONFIG", "SET", "requirepass", "r0tated"]);
    namespace.apply([secret("r0tated")]);
    push("r0tated", 6);
    namespace.until_replicas("web", 4).await;
    ask("r0tated", &["DEL", "orders"]);
    namespace.until_replicas("web", 0).await;
    assert_eq!(namespace.events("KEDAScalerFailed"), Vec::<String>::new());
}
