//! Formulas: one metric computed from several.

use kedge_tests::exposition::Exposition;
use kedge_tests::namespace::{TestNamespace, deployment, prometheus, scaled_object};
use serde_json::{Value, json};

use super::cluster;

/// A trigger with a name that the formula uses.
fn named(name: &str, url: &str) -> Value {
    let mut trigger = prometheus(url, name, 10);
    trigger["name"] = json!(name);
    // A late scrape must not count as zero.
    trigger["metadata"]["ignoreNullValues"] = json!("false");
    trigger
}

fn formula(text: &str, more: Value) -> Value {
    let mut spec =
        json!({ "advanced": { "scalingModifiers": { "formula": text, "target": "5", "activationTarget": "2" } } });
    json_patch::merge(&mut spec, &more);
    spec
}

#[tokio::test]
async fn a_formula_scales_from_zero_and_back() {
    let namespace = TestNamespace::create(cluster().await, "formula");
    let source = Exposition::start().await.unwrap();
    source.set("hot", 0.0);
    source.set("cold", 2.0);
    let server = kedge_test_cluster::Prometheus::start("formula-prometheus", &[source.address()]).await.unwrap();
    let triggers = [named("hot", &server.url()), named("cold", &server.url())];
    namespace.apply([deployment("web", 0), scaled_object("web", triggers, formula("hot + cold", json!({})))]);
    let active = |namespace: &TestNamespace<'_>| namespace.condition("web", "Active");
    namespace.until("2 is not above 2", ("False".into(), "ScalerNotActive".into()), active).await;
    let hpa = namespace.get("hpa", "keda-hpa-web");
    let names: Vec<&Value> =
        hpa["spec"]["metrics"].as_array().unwrap().iter().map(|metric| &metric["external"]["metric"]["name"]).collect();
    assert_eq!(names, ["composite-metric"]);
    let status = namespace.get("so", "web")["status"].clone();
    assert_eq!(status["compositeScalerName"], "composite-metric");
    assert_eq!(status["externalMetricNames"], json!(["s0-prometheus", "s1-prometheus"]));

    source.set("hot", 11.0);
    namespace.until_replicas("web", 3).await;
    let events = namespace.events_with("KEDAScaleTargetActivated", &["triggered by composite-metric"]).await;
    assert!(events.len() == 1 && events[0].ends_with("triggered by composite-metric"), "{events:?}");
    source.set("hot", 0.0);
    namespace.until_replicas("web", 0).await;
}

#[tokio::test]
async fn a_formula_with_an_unknown_value_holds_and_then_falls_back() {
    let namespace = TestNamespace::create(cluster().await, "unknown");
    let source = Exposition::start().await.unwrap();
    source.set("hot", 0.0);
    let server = kedge_test_cluster::Prometheus::start("unknown-prometheus", &[source.address()]).await.unwrap();
    let triggers = || [named("hot", &server.url()), named("cold", "http://127.0.0.1:9")];
    namespace.apply([
        deployment("held", 2),
        scaled_object("held", triggers(), formula("hot + cold", json!({ "cooldownPeriod": 0 }))),
    ]);
    namespace
        .until("the condition is set", ("False".into(), "TriggerError".into()), |namespace| {
            namespace.condition("held", "Ready")
        })
        .await;
    let unreachable = |namespace: &TestNamespace<'_>| {
        namespace.events("KEDAMetricSourceFailed").iter().filter(|events| events.contains("cannot be reached")).count()
    };
    namespace.until("one event is published", 1, unreachable).await;
    assert_eq!(namespace.replicas("deployment", "held"), Some(2));

    let fallback =
        |behavior: &str| json!({ "fallback": { "failureThreshold": 1, "replicas": 4, "behavior": behavior } });
    namespace.apply([
        deployment("fallen", 0),
        scaled_object("fallen", triggers(), formula("hot + cold", fallback("static"))),
    ]);
    namespace.until_replicas("fallen", 4).await;
    // The formula itself can define the value of a trigger that fails.
    let spec = formula("hot + (cold ?? 15)", fallback("scalingModifiers"));
    namespace.apply([deployment("own", 0), scaled_object("own", triggers(), spec)]);
    namespace.until_replicas("own", 3).await;
}

#[tokio::test]
async fn a_formula_that_divides_by_zero_is_reported_and_scales_nothing() {
    let namespace = TestNamespace::create(cluster().await, "nan");
    let source = Exposition::start().await.unwrap();
    source.set("hot", 0.0);
    let server = kedge_test_cluster::Prometheus::start("nan-prometheus", &[source.address()]).await.unwrap();
    let spec = formula("hot / hot", json!({ "cooldownPeriod": 0 }));
    namespace.apply([deployment("web", 2), scaled_object("web", [named("hot", &server.url())], spec)]);
    namespace
        .until("the condition is set", ("False".into(), "TriggerError".into()), |namespace| {
            namespace.condition("web", "Ready")
        })
        .await;
    let events = |namespace: &TestNamespace<'_>| {
        namespace.events("KEDAMetricSourceFailed").join(" ").contains("`hot / hot` gives NaN")
    };
    namespace.until("an event is published", true, events).await;
    assert_eq!(namespace.replicas("deployment", "web"), Some(2));
    // An invalid formula is reported before any source is queried.
    namespace.apply([scaled_object("web", [named("hot", &server.url())], formula("hot + unknown", json!({})))]);
    namespace
        .until("the formula is rejected", ("False".into(), "ScaledObjectCheckFailed".into()), |namespace| {
            namespace.condition("web", "Ready")
        })
        .await;
    namespace.events_with("ScaledObjectCheckFailed", &["unknown", "hot"]).await;
}
