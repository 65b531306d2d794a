//! Scalers that push. Polls are five minutes apart, so anything that happens sooner was pushed.

use std::time::{Duration, SystemTime};

use kedge_test_cluster::example_scaler::ExampleScaler;
use kedge_test_cluster::slowdown;
use kedge_tests::external::{external, external_push};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use kedge_tests::programs;
use serde_json::{Value, json};

use super::super::cluster;
use super::{generation, scaled_after};

/// A second, and the interval at which the scaler reads its file. Polls are five minutes apart.
const ACTIVATED_WITHIN: Duration = Duration::from_millis(1000 + 200);

/// Objects that are activated when the queue is longer than 0, 10 and 20.
const NAMES: [&str; 3] = ["above-0", "above-10", "above-20"];

fn slow() -> Value {
    json!({ "pollingInterval": 300, "fallback": { "failureThreshold": 3, "replicas": 6 } })
}

/// The CA of a scaler, in a TriggerAuthentication `scaler`.
fn ca_objects(pem: &str) -> [Value; 2] {
    let reference = json!({ "secretTargetRef": [{ "parameter": "caCert", "name": "scaler-ca", "key": "ca.crt" }] });
    [
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "scaler-ca" }, "stringData": { "ca.crt": pem } }),
        json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "scaler" }, "spec": reference }),
    ]
}

fn object(name: &str, scaler: &ExampleScaler) -> Value {
    let activation = name.trim_start_matches("above-");
    let mut trigger = external_push(&scaler.address(), json!({ "activationLength": activation }));
    trigger["authenticationRef"] = json!({ "name": "scaler" });
    scaled_object(name, [trigger], slow())
}

/// Writes the queue, and checks that the target is scaled from zero at once.
pub(in super::super) async fn activate(namespace: &TestNamespace<'_>, scaler: &ExampleScaler, queue: &str, name: &str) {
    let written_at = SystemTime::now();
    scaler.set(queue);
    let took = scaled_after(namespace, name, written_at).await;
    let allowed = slowdown::allowed(ACTIVATED_WITHIN);
    println!("{name} is scaled {took:?} after the queue was written; {allowed:?} are allowed");
    assert!(took < allowed, "{name} is scaled {took:?} after the queue was written; {allowed:?} are allowed");
}

/// The target of one replica, as the HPA has it.
fn target(namespace: &TestNamespace<'_>, name: &str) -> Value {
    let hpa = namespace.get("hpa", &format!("keda-hpa-{name}"));
    let metric = &hpa["spec"]["metrics"][0]["external"];
    assert!(hpa.is_null() || metric["metric"]["name"] == "s0-queue-length", "{hpa}");
    metric["target"]["averageValue"].clone()
}

#[tokio::test]
async fn a_push_activates_at_once_also_after_the_scaler_was_restarted() {
    let mut scaler = ExampleScaler::with_tls(programs::go_scaler()).unwrap();
    scaler.start().await.unwrap();
    let namespace = TestNamespace::create(cluster().await, "push");
    namespace.apply(ca_objects(scaler.ca_pem().unwrap()));
    namespace.apply(NAMES.into_iter().flat_map(|name| [deployment(name, 0), object(name, &scaler)]));
    for name in NAMES {
        let inactive = ("False".to_owned(), "ScalerNotActive".to_owned());
        namespace.until("it was polled", inactive, |namespace| namespace.condition(name, "Active")).await;
        assert_eq!(target(&namespace, name), "10");
    }
    // A new target that arrives through the streams shows that they are open.
    scaler.set("0 8");
    for name in NAMES {
        namespace.until("the HPA has the new target", json!("8"), |namespace| target(namespace, name)).await;
    }
    for (queue, name) in [("5 8", NAMES[0]), ("15 8", NAMES[1])] {
        activate(&namespace, &scaler, queue, name).await;
    }
    namespace.until_replicas(NAMES[0], 2).await;

    scaler.kill();
    scaler.set("15 7");
    scaler.start().await.unwrap();
    for name in NAMES {
        namespace.until("the streams are open again", json!("7"), |namespace| target(namespace, name)).await;
    }
    activate(&namespace, &scaler, "25 7", NAMES[2]).await;
    for name in NAMES {
        namespace.until_replicas(name, 4).await;
    }

    scaler.kill();
    for name in NAMES {
        namespace.until_replicas(name, 6).await;
        namespace
            .until("the condition is set", "True".to_owned(), |namespace| namespace.condition(name, "Fallback").0)
            .await;
        assert_eq!(target(&namespace, name), "7", "the metric stays");
    }
    scaler.start().await.unwrap();
    for name in NAMES {
        namespace.until_replicas(name, 4).await;
        namespace
            .until("the condition is set", "False".to_owned(), |namespace| namespace.condition(name, "Fallback").0)
            .await;
        assert_eq!(generation(&namespace, name), 1, "the object was not changed");
    }
}

#[tokio::test]
async fn a_scaler_that_starts_later_is_reached_long_before_the_next_poll() {
    let mut scaler = ExampleScaler::with_tls(programs::go_scaler()).unwrap();
    let namespace = TestNamespace::create(cluster().await, "later");
    let other_ca = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    namespace.apply(ca_objects(&other_ca.cert.pem()));
    let mut polled = object("polled", &scaler);
    polled["spec"]["triggers"][0]["type"] = json!("external");
    polled["spec"]["triggers"][0]["metadata"]["activationLength"] = json!("0");
    namespace.apply([deployment("above-0", 0), object("above-0", &scaler), deployment("polled", 0), polled]);
    let until_message = async |part: &'static str| {
        for name in ["above-0", "polled"] {
            namespace.until(part, true, |namespace| namespace.message(name, "Ready").contains(part)).await;
        }
    };
    until_message("cannot be reached").await;
    scaler.set("5");
    scaler.start().await.unwrap();
    until_message("no trusted connection to 127.0.0.1:").await;
    for name in ["above-0", "polled"] {
        assert!(
            namespace.message(name, "Ready").contains("trigger 0 (external"),
            "{}",
            namespace.message(name, "Ready")
        );
        assert_eq!(namespace.replicas("deployment", name), Some(0));
    }
    namespace.apply(ca_objects(scaler.ca_pem().unwrap()));
    for name in ["above-0", "polled"] {
        namespace.until_replicas(name, 1).await;
        namespace
            .until("the object is ready", "True".to_owned(), |namespace| namespace.condition(name, "Ready").0)
            .await;
        assert_eq!(generation(&namespace, name), 1, "the object was not changed");
    }
}

#[tokio::test]
async fn a_scaler_that_starts_later_is_polled_at_once() {
    let mut scaler = ExampleScaler::plain(programs::go_scaler()).unwrap();
    let namespace = TestNamespace::create(cluster().await, "polled-at-once");
    let triggers = [external(&scaler.address(), json!({}))];
    namespace.apply([deployment("web", 0), scaled_object("web", triggers, json!({ "pollingInterval": 300 }))]);
    namespace
        .until("the scaler does not run", true, |namespace| {
            namespace.message("web", "Ready").contains("cannot be reached")
        })
        .await;
    scaler.set("15");
    scaler.start().await.unwrap();
    namespace.until_replicas("web", 2).await;
    namespace.until("the object is ready", "True".to_owned(), |namespace| namespace.condition("web", "Ready").0).await;
}
