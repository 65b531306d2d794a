//! No outage is a number: clusters and sentinels, of which one server is damaged.

use super::*;
use crate::damaged::{MASKS, Outages};

const ID: &str = "$40\r\n07c37dfeb235213a872192d90877d0cd55635b91\r\n";

/// A node, which says who it is before each answer.
fn node(answers: &[&str]) -> Recording {
    Recording::new(answers.iter().map(|answer| format!("{ID}{answer}")))
}

async fn assert_no_outage_is_a_number(servers: &[(&'static str, Recording)], sample: Sample, value: f64) {
    let digits = value.to_string();
    let network = || Recording::network(servers);
    let value_bytes: &[&[u8]] = &[digits.as_bytes()];
    let outages =
        Outages { network: &network, sample: &sample, value, value_bytes, damaged: 0..usize::MAX, masks: &MASKS };
    outages.assert_none_is_a_number().await;
}

#[tokio::test(start_paused = true)]
async fn no_outage_of_a_node_is_a_number() {
    let cluster = |name| Sample::new(name).with("addresses", "redis-0:6379");
    // The key is at the second node, and is being moved to the third one when its type is asked for.
    let servers = [
        ("redis-0:6379", node(&["-MOVED 3999 redis-1:6379\r\n"])),
        ("redis-1:6379", node(&["-ASK 3999 redis-2:6379\r\n", ":58\r\n"])),
        ("redis-2:6379", node(&["+OK\r\n+list\r\n"])),
    ];
    let list = cluster("redis-cluster").with("listName", "orders");
    assert_no_outage_is_a_number(&servers, list, 58.0).await;

    let signed_in = [
        ("redis-0:6379", node(&["-MOVED 3999 redis-1:6379\r\n"]).sign_in(["+OK\r\n"])),
        ("redis-1:6379", node(&["*4\r\n:85\r\n$3\r\n1-0\r\n$3\r\n9-0\r\n*0\r\n"]).sign_in(["+OK\r\n"])),
    ];
    let group = cluster("redis-cluster-streams").with("stream", "orders").with("consumerGroup", "workers");
    assert_no_outage_is_a_number(&signed_in, group.auth("password", "hunter2"), 85.0).await;
}

#[tokio::test(start_paused = true)]
async fn no_outage_of_a_sentinel_is_a_number() {
    let servers = [
        // It was just started.
        ("sentinel-0:26379", Recording::new(["*-1\r\n"]).sign_in(["+OK\r\n"])),
        ("sentinel-1:26379", Recording::new(["*2\r\n$7\r\nredis-0\r\n$4\r\n6379\r\n"]).sign_in(["+OK\r\n"])),
        ("redis-0:6379", Recording::new(["+list\r\n", ":58\r\n"]).sign_in(["+OK\r\n", "+OK\r\n"])),
    ];
    let list = Sample::new("redis-sentinel")
        .with("addresses", "sentinel-0:26379,sentinel-1:26379")
        .with("sentinelMaster", "main")
        .with("listName", "orders")
        .with("databaseIndex", "2")
        .auth("sentinelPassword", "hunter1")
        .auth("password", "hunter2");
    assert_no_outage_is_a_number(&servers, list, 58.0).await;
}

#[tokio::test(start_paused = true)]
async fn refusals_of_nodes_and_sentinels_are_no_numbers() {
    let cluster = Sample::new("redis-cluster").with("addresses", "redis-0:6379").with("listName", "orders");
    let sentinel = Sample::new("redis-sentinel")
        .with("addresses", "redis-0:6379")
        .with("sentinelMaster", "main")
        .with("listName", "orders");
    for refusal in [
        "-CLUSTERDOWN The cluster is down\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n",
        "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
        "-NOAUTH Authentication required.\r\n",
        "-ERR max number of clients reached\r\n",
        "-MOVED 3999 redis-0:6379\r\n",
        "-MOVED 3999 gone:6379\r\n",
    ] {
        for (sample, server) in [(&cluster, node(&[refusal])), (&sentinel, Recording::new([refusal]))] {
            let network = Recording::network(&[("redis-0:6379", server)]);
            let outcome = crate::damaged::read_once(network, sample).await;
            assert!(outcome.is_err(), "{refusal}: {outcome:?}");
        }
    }
}
