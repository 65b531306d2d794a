//! Formulas: one metric made of several.

use kedge_tests::exposition::Exposition;
use kedge_tests::story::{Story, deployment, prometheus, scaled_object};
use serde_json::{Value, json};

use super::cluster;

/// A trigger that the formula knows by its name.
fn named(name: &str, url: &str) -> Value {
    let mut trigger = prometheus(url, name, 10);
    trigger["name"] = json!(name);
    // A scrape that is late must not count as nothing.
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
    let story = Story::begin(cluster().await, "formula");
    let source = Exposition::start().await.unwrap();
    source.set("hot", 0.0);
    source.set("cold", 2.0);
    let server = kedge_test_cluster::Prometheus::start("formula-prometheus", &[source.address()]).await.unwrap();
    let triggers = [named("hot", &server.url()), named("cold", &server.url())];
    story.apply([deployment("web", 0), scaled_object("web", triggers, formula("hot + cold", json!({})))]);
    let active = |story: &Story<'_>| story.condition("web", "Active");
    story.until("2 is not above 2", ("False".into(), "ScalerNotActive".into()), active).await;
    let hpa = story.get("hpa", "keda-hpa-web");
    let names: Vec<&Value> =
        hpa["spec"]["metrics"].as_array().unwrap().iter().map(|metric| &metric["external"]["metric"]["name"]).collect();
    assert_eq!(names, ["composite-metric"]);
    let status = story.get("so", "web")["status"].clone();
    assert_eq!(status["compositeScalerName"], "composite-metric");
    assert_eq!(status["externalMetricNames"], json!(["s0-prometheus", "s1-prometheus"]));

    source.set("hot", 11.0);
    story.until_replicas("web", 3).await;
    let told = story.events("KEDAScaleTargetActivated");
    assert!(told.len() == 1 && told[0].ends_with("triggered by composite-metric"), "{told:?}");
    source.set("hot", 0.0);
    story.until_replicas("web", 0).await;
}

#[tokio::test]
async fn a_formula_that_cannot_be_known_holds_and_then_falls_back() {
    let story = Story::begin(cluster().await, "blind");
    let source = Exposition::start().await.unwrap();
    source.set("hot", 0.0);
    let server = kedge_test_cluster::Prometheus::start("blind-prometheus", &[source.address()]).await.unwrap();
    let triggers = || [named("hot", &server.url()), named("cold", "http://127.0.0.1:9")];
    story.apply([
        deployment("held", 2),
        scaled_object("held", triggers(), formula("hot + cold", json!({ "cooldownPeriod": 0 }))),
    ]);
    story.until("it says so", ("False".into(), "TriggerError".into()), |story| story.condition("held", "Ready")).await;
    let silent = |story: &Story<'_>| {
        story.events("KEDAMetricSourceFailed").iter().filter(|told| told.contains("cannot be reached")).count()
    };
    story.until("it is told once", 1, silent).await;
    assert_eq!(story.replicas("deployment", "held"), Some(2));

    let fallback =
        |behavior: &str| json!({ "fallback": { "failureThreshold": 1, "replicas": 4, "behavior": behavior } });
    story.apply([
        deployment("fallen", 0),
        scaled_object("fallen", triggers(), formula("hot + cold", fallback("static"))),
    ]);
    story.until_replicas("fallen", 4).await;
    // The formula itself can say what a trigger that is silent means.
    let spec = formula("hot + (cold ?? 15)", fallback("scalingModifiers"));
    story.apply([deployment("own", 0), scaled_object("own", triggers(), spec)]);
    story.until_replicas("own", 3).await;
}

#[tokio::test]
async fn a_formula_that_divides_by_zero_is_named_and_moves_nothing() {
    let story = Story::begin(cluster().await, "nan");
    let source = Exposition::start().await.unwrap();
    source.set("hot", 0.0);
    let server = kedge_test_cluster::Prometheus::start("nan-prometheus", &[source.address()]).await.unwrap();
    let spec = formula("hot / hot", json!({ "cooldownPeriod": 0 }));
    story.apply([deployment("web", 2), scaled_object("web", [named("hot", &server.url())], spec)]);
    story.until("it says so", ("False".into(), "TriggerError".into()), |story| story.condition("web", "Ready")).await;
    let told = |story: &Story<'_>| story.events("KEDAMetricSourceFailed").join(" ").contains("`hot / hot` gives NaN");
    story.until("it is told", true, told).await;
    assert_eq!(story.replicas("deployment", "web"), Some(2));
    // A wrong formula is named before anything is asked.
    story.apply([scaled_object("web", [named("hot", &server.url())], formula("hot + nobody", json!({})))]);
    story
        .until("it is refused", ("False".into(), "ScaledObjectCheckFailed".into()), |story| {
            story.condition("web", "Ready")
        })
        .await;
    let told = story.events("ScaledObjectCheckFailed").join(" ");
    assert!(told.contains("nobody") && told.contains("hot"), "{told}");
}
