//! Sources that hang: the objects of one tenant have sources that accept connections and never respond, and no other object notices.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use kedge_test_cluster::example_scaler::ExampleScaler;
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::{silent_server, slowdown};
use kedge_tests::external::external_push;
use kedge_tests::namespace::{TestNamespace, deployment, prometheus, scaled_object};
use kedge_tests::programs;
use serde_json::{Value, json};

use super::external::push::activate;
use super::external::scaled_after;
use super::{quick, start_with_operator};

/// More than the operator reconciles at once.
const HUNG: usize = 100;

const HEALTHY: usize = 10;

const POLLING_INTERVAL: Duration = Duration::from_secs(2);

/// How late a poll may be.
const LATE: Duration = Duration::from_secs(1);

/// A trigger whose source never responds, with a timeout that never ends.
fn hung_trigger(server: SocketAddr) -> Value {
    let mut trigger = prometheus(&format!("http://{server}"), "up", 1);
    trigger["metadata"]["timeout"] = json!("10h");
    trigger
}

#[tokio::test]
async fn a_hundred_sources_that_hang_delay_no_other_object() {
    let (cluster, _operator) = start_with_operator(quick("hung").nodes(2)).await;
    let silent = silent_server::start().await.unwrap();
    let tenant = TestNamespace::create(&cluster, "tenant");
    let hourly = json!({ "pollingInterval": 3600 });
    let objects = |index: usize| {
        let name = format!("hung-{index}");
        [deployment(&name, 1), scaled_object(&name, [hung_trigger(silent)], hourly.clone())]
    };
    tenant.apply((0..HUNG).flat_map(objects));
    tenant
        .until("every object has its HPA", HUNG, |tenant| tenant.list("hpa")["items"].as_array().map_or(0, Vec::len))
        .await;

    let source = HttpSource::start().await.unwrap();
    let healthy = TestNamespace::create(&cluster, "healthy");
    let spec = json!({ "pollingInterval": POLLING_INTERVAL.as_secs() });
    let names: Vec<String> = (0..HEALTHY).map(|index| format!("web-{index}")).collect();
    names.iter().for_each(|name| source.set(name, SourceResponse::Value(0.0)));
    let objects = |name: &String| {
        let triggers = [prometheus(&source.url(), name, 10)];
        [deployment(name, 0), scaled_object(name, triggers, spec.clone())]
    };
    healthy.apply(names.iter().flat_map(objects));
    for name in &names {
        let inactive = ("False".to_owned(), "ScalerNotActive".to_owned());
        healthy.until("it was polled", inactive, |healthy| healthy.condition(name, "Active")).await;
    }
    for name in &names {
        let allowed = POLLING_INTERVAL + slowdown::allowed(LATE);
        let since = SystemTime::now();
        source.set(name, SourceResponse::Value(5.0));
        let took = scaled_after(&healthy, name, since).await;
        assert!(took < allowed, "{name} was scaled after {took:?}; {allowed:?} are allowed");
    }

    tenant.kubectl(["annotate", "so/hung-1", "autoscaling.keda.sh/paused-replicas=3"]);
    tenant.until_replicas("hung-1", 3).await;
    tenant.kubectl(["delete", "so/hung-2", "--timeout=30s"]);
    assert!(tenant.get("so", "hung-2").is_null());
}

#[tokio::test]
async fn a_push_acts_before_a_source_that_hangs_responds() {
    let mut scaler = ExampleScaler::plain(programs::go_scaler()).unwrap();
    scaler.set("0");
    scaler.start().await.unwrap();
    let namespace = TestNamespace::create(super::cluster().await, "push-beside-hung");
    let triggers = [external_push(&scaler.address(), json!({})), hung_trigger(silent_server::start().await.unwrap())];
    namespace.apply([deployment("web", 0), scaled_object("web", triggers, json!({ "pollingInterval": 300 }))]);
    let targets = |namespace: &TestNamespace<'_>| namespace.get("hpa", "keda-hpa-web")["spec"]["metrics"].to_string();
    namespace.until("the HPA exists", true, |namespace| targets(namespace).contains("s0-queue-length")).await;
    // A new target that arrives through the stream shows that it is open.
    scaler.set("0 8");
    namespace.until("the HPA has the new target", true, |namespace| targets(namespace).contains("\"8\"")).await;
    activate(&namespace, &scaler, "5 8", "web").await;
}
