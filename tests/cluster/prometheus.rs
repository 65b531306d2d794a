//! The Prometheus that tests use is a real one.

use kedge_test_cluster::Prometheus;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::exposition::Exposition;

#[tokio::test]
async fn a_scraped_value_is_answered_by_a_query() {
    let source = Exposition::start().await.unwrap();
    source.set("orders_waiting", 42.5);
    let prometheus = Prometheus::start("prometheus", &[source.address()]).await.unwrap();
    let value = wait_for("the value is scraped", DEADLINE, async || {
        let answer = prometheus.query("sum(orders_waiting)").await.unwrap();
        let value = answer["data"]["result"][0]["value"][1].as_str().map(str::to_owned);
        value.ok_or(answer)
    });
    assert_eq!(value.await.unwrap(), "42.5");

    source.set("orders_waiting", 0.0);
    wait_for("the new value is scraped", DEADLINE, async || {
        let answer = prometheus.query("sum(orders_waiting)").await.unwrap();
        if answer["data"]["result"][0]["value"][1] == "0" { Ok(()) } else { Err(answer) }
    })
    .await
    .unwrap();
}
