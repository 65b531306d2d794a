//! What is computed for every object again and again, one by one: time, and allocations.
//!
//! `cargo bench --bench decisions` measures; `cargo test --bench decisions` runs each once.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use divan::{AllocProfiler, Bencher, black_box};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, MetricSpec};
use kedge_api::ScaledObject;
use kedge_core::activity::{Activity, ActivityHistory, Contribution, activity};
use kedge_core::conditions::{FallbackState, HpaState, TriggerHealth};
use kedge_core::cron::{Schedule, Window, parse_zone};
use kedge_core::decide::{Current, Decision, Hold, Observation, decide};
use kedge_core::formula::composite::{Reading, Surroundings};
use kedge_core::formula::settings;
use kedge_core::hpa::compare::{RenderedKeys, needs_write};
use kedge_core::hpa::render::{TargetKind, render};
use kedge_core::policy::Policy;
use kedge_core::quantity::{Quantity, format_float};
use kedge_core::status::{Facts, PauseFacts, PollFacts, ScalersFacts, next_status};
use kedge_core::trigger_class::TriggerClass;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

fn noon() -> DateTime<Utc> {
    "2026-06-01T12:00:00Z".parse().expect("a time")
}

fn object() -> ScaledObject {
    let trigger =
        |name: &str| json!({ "type": "prometheus", "name": name, "metadata": { "query": "up", "threshold": "5" } });
    serde_json::from_value(json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": { "name": "web", "namespace": "shop", "uid": "0a5a1e84", "generation": 1, "creationTimestamp": noon() },
        "spec": {
            "scaleTargetRef": { "name": "web" },
            "minReplicaCount": 1,
            "triggers": [trigger("queue"), trigger("latency")],
            "advanced": { "scalingModifiers": { "formula": "queue * 2 + max([latency, 1])", "target": "5" } },
        },
    }))
    .expect("a ScaledObject")
}

fn metrics() -> Vec<MetricSpec> {
    let metric = |name: &str| {
        let external = json!({
            "metric": { "name": name, "selector": { "matchLabels": { "scaledobject.keda.sh/name": "web" } } },
            "target": { "type": "AverageValue", "averageValue": "5" },
        });
        serde_json::from_value(json!({ "type": "External", "external": external })).expect("a metric")
    };
    vec![metric("s0-prometheus"), metric("s1-prometheus")]
}

fn rendered() -> HorizontalPodAutoscaler {
    let kind = TargetKind { api_version: "apps/v1".to_owned(), kind: "Deployment".to_owned() };
    render(&object(), &kind, metrics(), "1.0").expect("an HPA")
}

fn observation() -> Observation {
    Observation {
        activity: Activity::Active,
        history: ActivityHistory::Active { last_seen_at: Some(noon()) },
        current: Current::Replicas(3),
    }
}

#[divan::bench]
fn policy_of_an_object(bencher: Bencher<'_, '_>) {
    let object = object();
    bencher.bench(|| Policy::from_spec(black_box(&object.spec), object.metadata.annotations.as_ref()));
}

#[divan::bench]
fn decision(bencher: Bencher<'_, '_>) {
    let policy = Policy::from_spec(&object().spec, None);
    bencher.bench(|| decide(black_box(&policy), black_box(&observation()), noon()));
}

#[divan::bench(args = [1, 10])]
fn activity_of_triggers(bencher: Bencher<'_, '_>, triggers: usize) {
    let contributions = vec![Contribution::Inactive; triggers];
    bencher.bench(|| activity(black_box(&contributions)));
}

#[divan::bench]
fn hpa_rendered(bencher: Bencher<'_, '_>) {
    let (object, kind) = (object(), TargetKind { api_version: "apps/v1".to_owned(), kind: "Deployment".to_owned() });
    bencher.with_inputs(metrics).bench_values(|metrics| render(black_box(&object), &kind, metrics, "1.0"));
}

#[divan::bench]
fn hpa_compared(bencher: Bencher<'_, '_>) {
    let (found, rendered) = (rendered(), rendered());
    let keys = RenderedKeys::of(&rendered);
    bencher.bench(|| needs_write(black_box(&found), black_box(&rendered), &keys));
}

#[divan::bench]
fn status_unchanged(bencher: Bencher<'_, '_>) {
    let object = object();
    let policy = Policy::from_spec(&object.spec, None);
    let names = ["s0-prometheus".to_owned(), "s1-prometheus".to_owned()];
    let scalers = ScalersFacts {
        is_any_built: true,
        hpa_name: Some("keda-hpa-web".to_owned()),
        external_metrics: names.to_vec(),
        ..ScalersFacts::default()
    };
    let poll = PollFacts {
        activity: Activity::Active,
        triggers: TriggerHealth::AllAnswered,
        decision: Decision::Hold(Hold::LeftToHpa),
        active: names.into_iter().map(|name| (name, true)).collect(),
        history: observation().history,
    };
    let facts = Facts {
        overrides: &policy.overrides,
        problem: None,
        pause: PauseFacts::NotPaused,
        target: None,
        triggers: Some(&object.spec.triggers),
        scalers: Some(&scalers),
        poll: Some(&poll),
        fallback: FallbackState::Absent,
        hpa: HpaState::Scaling,
    };
    let status = next_status(&Default::default(), &facts, noon());
    bencher.bench(|| next_status(black_box(&status), black_box(&facts), noon()) == status);
}

#[divan::bench]
fn formula(bencher: Bencher<'_, '_>) {
    let composite =
        settings::parse(&object().spec, |_| Some(TriggerClass::Source)).expect("a formula").expect("a formula");
    let readings: BTreeMap<String, Reading> =
        [("queue", 12.5), ("latency", 0.25)].map(|(name, value)| (name.to_owned(), Reading::Value(value))).into();
    bencher.bench(|| composite.evaluate(black_box(&readings), Surroundings::default()));
}

#[divan::bench(args = ["UTC", "Europe/Berlin"])]
fn cron_window(bencher: Bencher<'_, '_>, zone: &str) {
    let schedule = |text: &str| Schedule::parse(text).expect("a schedule");
    let window = Window {
        start: schedule("0 8 * * 1-5"),
        end: schedule("0 18 * * 1-5"),
        zone: parse_zone(zone).expect("a zone"),
    };
    let now = noon() + TimeDelta::minutes(17);
    bencher.bench(|| window.is_open(black_box(now)));
}

#[divan::bench]
fn quantity_parsed() -> Quantity {
    Quantity::parse(black_box("1536Mi")).expect("a quantity")
}

#[divan::bench]
fn value_as_quantity() -> String {
    format_float(black_box(1234.567))
}
