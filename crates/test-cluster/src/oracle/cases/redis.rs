//! Cases of the Redis triggers. A case `refused: …` is one that the server refuses while KEDA builds it.

use crate::oracle::case::Case;
use crate::oracle::edges::{BOOLEANS, INTEGERS, NAMES, Place, common, give, places, sweep, sweep_in};

const LISTS: [(&str, &str); 3] =
    [("redis", "${redis}"), ("redis-cluster", "${redis-cluster}"), ("redis-sentinel", "${redis-sentinel}")];
const STREAMS: [(&str, &str); 3] = [
    ("redis-streams", "${redis}"),
    ("redis-cluster-streams", "${redis-cluster}"),
    ("redis-sentinel-streams", "${redis-sentinel}"),
];

/// Keys of each server, and how long they are.
pub(in crate::oracle) const LIST_KEYS: [&str; 9] =
    ["list-0", "list-1", "list-5", "list-7", "list-1000", "hash-3", "set-4", "zset-2", "text"];

/// Streams of each server, with groups of theirs.
pub(in crate::oracle) const GROUPS: [(&str, &str); 10] = [
    ("stream-6", "fresh"),
    ("stream-6", "busy"),
    ("stream-6", "done"),
    ("stream-6", "late"),
    ("stream-6", "none"),
    ("stream-0", "fresh"),
    ("stream-holes", "fresh"),
    ("stream-trimmed", "fresh"),
    ("absent", "fresh"),
    ("list-5", "fresh"),
];

fn base(trigger_type: &str, address: &str) -> Case {
    let case = Case::new(trigger_type).with("address", address);
    let key = if trigger_type.ends_with("streams") { "stream" } else { "listName" };
    let case = case.with(key, "orders");
    if trigger_type.contains("sentinel") { case.with("sentinelMaster", "main") } else { case }
}

pub(in crate::oracle) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (trigger_type, address) in LISTS {
        let base = base(trigger_type, address);
        cases.extend(sweep(&base, "listLength", INTEGERS));
        cases.extend(sweep(&base, "listName", NAMES));
        cases.extend(common(&base, "listLength"));
        cases.extend(list_readings(&base));
    }
    for (trigger_type, address) in STREAMS {
        let base = base(trigger_type, address);
        cases.extend(streams(&base));
        cases.extend(stream_readings(&base));
    }
    cases.extend(connections(&base("redis", "${redis}")));
    cases.extend(connections_of_clusters());
    cases.extend(sign_in(&base("redis", "${redis-auth}")));
    cases
}

fn list_readings(base: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for key in LIST_KEYS {
        cases.push(base.clone().with("listName", key).named(format!("reads {key}")).read(1));
    }
    for activation in ["", "0", "6", "7", "8", "-1", "9223372036854775807"] {
        let case = base.clone().with_all(&[("listName", "list-7"), ("activationListLength", activation)]);
        cases.push(case.named(format!("reads list-7 above {activation:?}")).read(1));
    }
    cases.extend(sweep(base, "activationListLength", INTEGERS));
    cases.push(
        base.clone().with_all(&[("listName", "list-9"), ("databaseIndex", "7")]).named("reads database 7").read(1),
    );
    cases
}

fn streams(base: &Case) -> Vec<Case> {
    let group = base.clone().with("consumerGroup", "workers").named("group");
    let mut cases = sweep(base, "stream", NAMES);
    cases.extend(sweep(base, "streamLength", INTEGERS));
    cases.extend(sweep(&group, "pendingEntriesCount", INTEGERS));
    cases.extend(sweep(&group, "lagCount", INTEGERS));
    cases.extend(sweep(base, "activationLagCount", INTEGERS));
    cases.extend(sweep(base, "consumerGroup", NAMES));
    cases.extend(common(base, "streamLength"));
    cases.extend(common(&group.clone().with("lagCount", "3").named("lag"), "lagCount"));
    // Only one of the three targets counts.
    for lag in ["", "0", "3", "-3"] {
        let targets = [("streamLength", "11"), ("pendingEntriesCount", "12"), ("lagCount", lag)];
        cases.push(base.clone().with_all(&targets).named(format!("all targets, lag {lag:?}")));
        cases.push(group.clone().with_all(&targets).named(format!("all targets, lag {lag:?}")));
    }
    cases
}

fn stream_readings(base: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for stream in ["stream-6", "stream-0", "stream-holes", "absent", "list-5"] {
        cases.push(base.clone().with("stream", stream).named(format!("reads {stream}")).read(1));
    }
    for (stream, group) in GROUPS {
        let case = base.clone().with_all(&[("stream", stream), ("consumerGroup", group)]);
        cases.push(case.clone().named(format!("reads pending of {stream} {group}")).read(1));
        cases.push(case.with("lagCount", "2").named(format!("reads lag of {stream} {group}")).read(1));
    }
    for activation in ["5", "6", "-1"] {
        let case = base.clone().with_all(&[("stream", "stream-6"), ("activationLagCount", activation)]);
        cases.push(case.named(format!("reads stream-6 above {activation}")).read(1));
    }
    cases
}

/// How the server is named, and TLS.
fn connections(base: &Case) -> Vec<Case> {
    let mut cases = sweep(base, "databaseIndex", &["", "0", "7", "+7", "1.5", "x", "07", "9223372036854775808"]);
    cases.extend(sweep(
        base,
        "enableTLS",
        &["", "false", "False", "0", "f", "yes", "no", "tRuE", "2", "enable", "disable"],
    ));
    cases.extend(sweep(base, "unsafeSsl", BOOLEANS));
    cases.extend(sweep_in(
        base,
        "tls",
        Place::Authentication,
        &["", "disable", "Disable", "false", "enabled", "true", "no"],
    ));
    let both = base.clone().with("enableTLS", "false").named("enableTLS");
    cases.extend(sweep_in(&both, "tls", Place::Authentication, &["", "disable", "enable", "x"]));
    cases.extend(places(base, "address", "${redis}", "${redis},127.0.0.1:1"));
    for address in ["", " ", ",", ",${redis}", "${redis},", " ${redis} , other:1 ", "${redis},other", "${redis};other"]
    {
        cases.push(give(base, "address", Place::Metadata, address));
    }
    let bare = base.clone().without("address");
    let host_and_port = |hosts: &str, ports: &str| {
        let case = bare.clone().with_all(&[("host", hosts), ("port", ports)]);
        case.named(format!("host={hosts:?} port={ports:?}"))
    };
    let (host, port) = ("${redis.host}", "${redis.port}");
    for (hosts, ports) in [
        (host, port),
        ("${redis.host},other", "${redis.port},1"),
        ("${redis.host} , other", " ${redis.port} , 1"),
        ("${redis.host},other", port),
        (host, "${redis.port},1"),
        (host, ""),
        ("", port),
        ("", ""),
        ("${redis.host},", "${redis.port},"),
    ] {
        cases.push(host_and_port(hosts, ports));
    }
    cases.push(bare.clone().with_all(&[("hosts", host), ("ports", port)]).named("hosts and ports"));
    cases.push(bare.clone().with("addresses", "${redis}").named("addresses"));
    cases.push(base.clone().with_all(&[("host", "other"), ("port", "1")]).named("address, host and port"));
    cases.push(base.clone().with_all(&[("host", "a,b"), ("port", "1")]).named("address, hosts and port"));
    cases.push(base.clone().with("host", "other").named("address and host"));
    cases.push(bare.clone().auth("host", host).with("port", port).named("host of authentication"));
    cases.push(
        bare.clone()
            .with_all(&[("hostFromEnv", "H"), ("portFromEnv", "P")])
            .env("H", host)
            .env("P", port)
            .named("host and port of variables"),
    );
    cases
}

fn connections_of_clusters() -> Vec<Case> {
    let cluster = base("redis-cluster", "${redis-cluster}");
    let sentinel = base("redis-sentinel", "${redis-sentinel}");
    let mut cases = vec![
        give(&cluster, "address", Place::Metadata, "127.0.0.1:1,${redis-cluster}"),
        give(&cluster, "databaseIndex", Place::Metadata, "7"),
        give(&cluster, "databaseIndex", Place::Metadata, "x"),
        give(&cluster, "databaseIndex", Place::Metadata, "99"),
        give(&cluster, "databaseIndex", Place::Metadata, "-1"),
        give(&sentinel, "address", Place::Metadata, "127.0.0.1:1,${redis-sentinel}"),
        give(&sentinel, "databaseIndex", Place::Metadata, "7"),
        give(&sentinel, "databaseIndex", Place::Metadata, "x"),
        give(&sentinel, "sentinelUsername", Place::Metadata, "other"),
    ];
    cases.extend(places(&sentinel, "sentinelMaster", "main", "main"));
    let refused = sentinel.clone().named("refused:");
    cases.push(give(&refused, "sentinelMaster", Place::Metadata, "other").read(1));
    cases.push(give(&cluster.clone().named("refused:"), "address", Place::Metadata, "${redis}").read(1));
    cases
}

/// Passwords and databases: what a server refuses, KEDA refuses while it builds. A server without TLS does not answer to it: that would be
/// read for as long as a reading may take.
fn sign_in(base: &Case) -> Vec<Case> {
    let base = base.clone().with("listName", "jobs").read(1);
    let (owner, worker) = ([("password", "s3cret")], [("username", "worker"), ("password", "w0rker")]);
    let refused = base.clone().named("refused:");
    vec![
        base.clone().auth_all(&owner).named("signs in"),
        base.clone().with("password", "s3cret").named("signs in by metadata"),
        base.clone().with("passwordFromEnv", "P").env("P", "s3cret").named("signs in by a variable"),
        base.clone()
            .auth("password", "wr0ng")
            .with("passwordFromEnv", "P")
            .env("P", "s3cret")
            .named("signs in by a variable first"),
        base.clone().auth_all(&worker).named("signs in as worker"),
        base.clone().auth_all(&worker).with("listName", "other").named("signs in without a right"),
        refused.clone().named("no password"),
        refused.clone().auth("password", "wr0ng").named("wrong password"),
        refused.clone().auth_all(&[("username", "other"), ("password", "s3cret")]).named("wrong user"),
        refused.clone().auth("username", "worker").named("a user without a password"),
        give(&refused.clone().auth_all(&owner), "databaseIndex", Place::Metadata, "99"),
        give(&refused.clone().auth_all(&owner), "enableTLS", Place::Metadata, "true").read(0),
        give(&refused.clone().auth_all(&owner), "tls", Place::Authentication, "enable").read(0),
        give(&refused.auth_all(&owner), "address", Place::Metadata, "127.0.0.1:1"),
        give(&base.clone().auth_all(&owner), "databaseIndex", Place::Metadata, "-1"),
        base.clone().auth_all(&owner).auth("ca", "x").named("a CA without TLS"),
        base.clone().auth_all(&owner).auth("cert", "x").named("a certificate without TLS"),
        base.auth_all(&owner).with("enableTLS", "true").auth("ca", "x").named("a CA that is none"),
    ]
}
