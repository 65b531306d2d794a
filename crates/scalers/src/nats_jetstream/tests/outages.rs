//! No outage is a number: a cluster of which one server is damaged.

use super::*;
use crate::damaged::Outages;

#[tokio::test(start_paused = true)]
async fn no_outage_of_a_server_of_a_cluster_is_a_number() {
    let network = || {
        let cluster = FakeCluster::start();
        // No changed byte turns one name into another one: that would be another leader, which cannot be noticed.
        let servers = vec![("nats.q", "ann"), ("a.q", "ann"), ("b.q", "bob"), ("c.q", "eve")];
        cluster.change(|fakes| (fakes.servers, fakes.leader, fakes.lag) = (servers, "bob", 471));
        cluster.connector()
    };
    let value_bytes: &[&[u8]] = &[b"\"num_ack_pending\":0,\"num_pending\":471"];
    let outages = Outages {
        network: &network,
        sample: &sample(),
        value: 471.0,
        value_bytes,
        damaged: 0..usize::MAX,
        masks: &[0x01, 0x02, 0x20],
    };
    outages.assert_none_is_a_number().await;
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_others_have_too_is_led_by_one_of_them() {
    let page = |leader: &str, lag: u64, size: u64| {
        let cluster = json!({ "leader": leader, "replicas": [{ "name": "b" }, { "name": "c" }] });
        let consumer = json!({ "name": "worker", "num_pending": lag, "num_ack_pending": 0, "cluster": cluster });
        let streams = json!([{ "name": "orders", "consumer_detail": [consumer] }]);
        let accounts = json!([{ "id": "$G", "name": "$G", "stream_detail": streams }]);
        json!({ "server_id": "N", "meta_cluster": { "cluster_size": size }, "account_details": accounts }).to_string()
    };
    let server = json!({ "server_id": "N", "server_name": "a" }).to_string();
    let led = Recording::http([page("a", 7, 1), server.clone()]).read(&sample(), Damage::None).await;
    assert_eq!(led.unwrap().values, [7.0]);
    let other = Recording::http([page("b", 7, 1), server]).read(&sample(), Damage::None).await;
    assert!(other.unwrap_err().to_string().contains("no server leads"));
}
