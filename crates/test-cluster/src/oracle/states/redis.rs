//! Redis servers: alone, with users, as a cluster of one, and behind a sentinel.

use anyhow::ensure;
use kedge_wire::resp::Reply;

use crate::oracle::sources::{Placeholder, Sources};
use crate::redis::{RedisServer, RedisServers};
use crate::wait::{DEADLINE, wait_for};

pub(in crate::oracle) const PLACEHOLDERS: &[Placeholder] = &[
    ("redis", "127.0.0.1:6379"),
    ("redis.host", "127.0.0.1"),
    ("redis.port", "6379"),
    ("redis-auth", "127.0.0.1:6380"),
    ("redis-cluster", "127.0.0.1:6381"),
    ("redis-sentinel", "127.0.0.1:26379"),
];

pub(in crate::oracle) async fn start(name: &str) -> anyhow::Result<Sources> {
    let mut servers = RedisServers::prepare(name).await?;
    let single = servers.start("single", &[]).await?;
    fill(&single)?;
    let users = ["requirepass s3cret", "user worker on >w0rker ~jobs &* +@read +@connection +@scripting +type +info"];
    let auth = servers.start("auth", &users.map(str::to_owned)).await?;
    for _ in 0..3 {
        let pushed = auth.ask_as(&["AUTH", "s3cret"], &["RPUSH", "jobs", "x"])?;
        ensure!(matches!(pushed, Reply::Integer(_)), "{pushed:?}");
    }
    let cluster = servers.start("cluster", &["cluster-enabled yes".to_owned()]).await?;
    ask(&cluster, &["CLUSTER", "ADDSLOTSRANGE", "0", "16383"])?;
    let is_whole = async || match cluster.ask(&["CLUSTER", "INFO"]) {
        Ok(info) if info.as_text().is_some_and(|text| text.contains("cluster_state:ok")) => Ok(()),
        other => Err(format!("{other:?}")),
    };
    wait_for("the cluster is whole", DEADLINE, is_whole).await?;
    fill(&cluster)?;
    let monitor = format!("sentinel monitor main 127.0.0.1 {} 1", single.port());
    let sentinel = servers.start("sentinel", &[monitor]).await?;
    let sources = Sources::default()
        .with_server(["redis", "redis.host", "redis.port"], &single.address())
        .with("redis-auth", auth.address())
        .with("redis-cluster", cluster.address())
        .with("redis-sentinel", sentinel.address());
    Ok(sources.keeping((servers, single, auth, cluster, sentinel)))
}

fn ask(server: &RedisServer, command: &[&str]) -> anyhow::Result<Reply> {
    let reply = server.ask(command)?;
    ensure!(!matches!(reply, Reply::Error(_)), "{command:?}: {reply:?}");
    Ok(reply)
}

/// The keys that cases read.
fn fill(server: &RedisServer) -> anyhow::Result<()> {
    let repeated = |count: usize| vec!["x"; count];
    for (key, count) in [("list-1", 1), ("list-5", 5), ("list-7", 7), ("list-1000", 1000)] {
        ask(server, &[&["RPUSH", key][..], &repeated(count)].concat())?;
    }
    for command in [
        &["HSET", "hash-3", "a", "1", "b", "2", "c", "3"][..],
        &["SADD", "set-4", "a", "b", "c", "d"],
        &["ZADD", "zset-2", "1", "a", "2", "b"],
        &["SET", "text", "x"],
    ] {
        ask(server, command)?;
    }
    fill_streams(server)?;
    // A cluster has one database.
    let ninth = [&["RPUSH", "list-9"][..], &repeated(9)].concat();
    if !matches!(server.ask_as(&["SELECT", "7"], &ninth)?, Reply::Integer(9)) {
        ask(server, &ninth)?;
    }
    Ok(())
}

fn fill_streams(server: &RedisServer) -> anyhow::Result<()> {
    for stream in ["stream-6", "stream-holes", "stream-trimmed"] {
        for number in 1..=6 {
            ask(server, &["XADD", stream, &format!("{number}-0"), "number", "x"])?;
        }
        ask(server, &["XGROUP", "CREATE", stream, "fresh", "0"])?;
    }
    ask(server, &["XGROUP", "CREATE", "stream-0", "fresh", "0", "MKSTREAM"])?;
    // The lag of a group is unknown where entries that it has not read are deleted.
    ask(server, &["XDEL", "stream-holes", "3-0"])?;
    ask(server, &["XTRIM", "stream-trimmed", "MAXLEN", "2"])?;
    for (group, begins, read, acknowledged) in [("busy", "0", 4, 1), ("done", "0", 6, 6), ("late", "$", 0, 0)] {
        ask(server, &["XGROUP", "CREATE", "stream-6", group, begins])?;
        if read > 0 {
            let count = read.to_string();
            ask(server, &["XREADGROUP", "GROUP", group, "one", "COUNT", &count, "STREAMS", "stream-6", ">"])?;
        }
        for number in 1..=acknowledged {
            ask(server, &["XACK", "stream-6", group, &format!("{number}-0")])?;
        }
    }
    Ok(())
}
