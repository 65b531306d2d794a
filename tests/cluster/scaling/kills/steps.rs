//! The steps: what each changes, and how many replicas every object has after it.
//!
//! Each object is named after what happens to it. All but `summed` run the query of their own name, with a target of ten per replica.

use std::collections::BTreeMap;

use kedge_test_cluster::http_source::SourceResponse;
use kedge_tests::namespace::{deployment, prometheus, scaled_object};
use serde_json::{Value, json};

/// How many replicas `restored` had before it was scaled.
pub(super) const ORIGINAL: i64 = 4;

/// One step.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) objects: Vec<Value>,
    /// ScaledObjects that are deleted.
    pub(super) deleted: Vec<&'static str>,
    /// The responses to queries from now on.
    pub(super) answers: Vec<(&'static str, SourceResponse)>,
    /// The authorization that queries must have from now on.
    pub(super) authorizations: Vec<(&'static str, &'static str)>,
    /// The replicas of every object in the end.
    pub(super) replicas: BTreeMap<&'static str, i64>,
}

const NAMES: [&str; 12] = [
    "activated",
    "idle",
    "paused",
    "held",
    "kept-up",
    "kept-down",
    "forced",
    "fallen",
    "summed",
    "signed",
    "renamed",
    "restored",
];

/// Every query. The values of the two of `summed` add up to the value of the others.
fn queries() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().flat_map(|name| match name {
        "summed" => vec!["summed-one", "summed-two"],
        other => vec![other],
    })
}

/// Every object has this load, except `but`.
fn load(amount: f64, but: &[(&'static str, SourceResponse)]) -> Vec<(&'static str, SourceResponse)> {
    let half = |query: &str| if query.starts_with("summed-") { amount / 2.0 } else { amount };
    let all = queries().filter(|query| but.iter().all(|(other, _)| other != query));
    all.map(|query| (query, SourceResponse::Value(half(query)))).chain(but.iter().cloned()).collect()
}

/// Every object has this many replicas, except `but`.
fn replicas(count: i64, but: &[(&'static str, i64)]) -> BTreeMap<&'static str, i64> {
    NAMES.into_iter().map(|name| (name, count)).chain(but.iter().copied()).collect()
}

fn annotated(mut object: Value, annotations: &[(&str, &str)]) -> Value {
    for (name, value) in annotations {
        object["metadata"]["annotations"][format!("autoscaling.keda.sh/{name}")] = json!(value);
    }
    object
}

/// A ScaledObject as it is at first.
fn plain(url: &str, name: &str) -> Value {
    let mut triggers = vec![prometheus(url, name, 10)];
    let mut spec = match name {
        "idle" => json!({ "idleReplicaCount": 0, "minReplicaCount": 2 }),
        "fallen" => json!({ "fallback": { "failureThreshold": 2, "replicas": 4 } }),
        "summed" => json!({ "advanced": { "scalingModifiers": { "formula": "one + two", "target": "10" } } }),
        "renamed" => json!({ "minReplicaCount": 1 }),
        "restored" => json!({ "advanced": { "restoreToOriginalReplicaCount": true } }),
        _ => json!({}),
    };
    spec["maxReplicaCount"] = json!(5);
    match name {
        "summed" => {
            triggers = ["one", "two"]
                .map(|part| {
                    let mut trigger = prometheus(url, &format!("summed-{part}"), 10);
                    trigger["name"] = json!(part);
                    trigger
                })
                .to_vec();
        }
        "signed" => {
            triggers[0]["metadata"]["authModes"] = json!("bearer");
            triggers[0]["authenticationRef"] = json!({ "name": "token" });
        }
        _ => {}
    }
    scaled_object(name, triggers, spec)
}

fn secret(token: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "token" }, "stringData": { "token": token } })
}

fn initial_objects(url: &str) -> Vec<Value> {
    let authentication = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "token" },
        "spec": { "secretTargetRef": [{ "parameter": "bearerToken", "name": "token", "key": "token" }] },
    });
    let replicas = |name: &str| if name == "restored" { ORIGINAL } else { 1 };
    let both = NAMES.into_iter().flat_map(|name| [deployment(name, replicas(name)), plain(url, name)]);
    [secret("first"), authentication].into_iter().chain(both).collect()
}

/// All steps, in order.
pub(super) fn steps(url: &str) -> Vec<Step> {
    let with = |name: &str, annotations: &[(&str, &str)]| annotated(plain(url, name), annotations);
    let mut renamed = plain(url, "renamed");
    renamed["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["name"] = json!("another");
    let broken = |query: &'static str| (query, SourceResponse::broken());
    let step = |name, objects, answers, replicas| Step {
        name,
        objects,
        answers,
        replicas,
        deleted: Vec::new(),
        authorizations: Vec::new(),
    };
    vec![
        Step {
            authorizations: vec![("signed", "Bearer first")],
            ..step("all are created without load", initial_objects(url), load(0.0, &[]), replicas(0, &[("renamed", 1)]))
        },
        step("load comes", Vec::new(), load(25.0, &[]), replicas(3, &[])),
        step(
            "pauses begin, and a source breaks",
            vec![
                with("paused", &[("paused", "true")]),
                with("held", &[("paused-replicas", "5")]),
                with("kept-up", &[("paused-scale-in", "true")]),
                with("kept-down", &[("paused-scale-out", "true")]),
            ],
            vec![broken("fallen")],
            replicas(3, &[("held", 5), ("fallen", 4)]),
        ),
        step(
            "load goes",
            Vec::new(),
            load(0.0, &[broken("fallen")]),
            replicas(0, &[("paused", 3), ("held", 5), ("kept-up", 3), ("fallen", 4), ("renamed", 1)]),
        ),
        Step {
            authorizations: vec![("signed", "Bearer second")],
            ..step(
                "annotations change, and the source works again",
                vec![
                    with("held", &[("paused-replicas", "2")]),
                    with("forced", &[("force-activation", "true")]),
                    secret("second"),
                    renamed.clone(),
                ],
                vec![("fallen", SourceResponse::Value(0.0)), ("signed", SourceResponse::Value(25.0))],
                replicas(
                    0,
                    &[("paused", 3), ("held", 2), ("kept-up", 3), ("forced", 1), ("signed", 3), ("renamed", 1)],
                ),
            )
        },
        step(
            "much load comes",
            Vec::new(),
            load(45.0, &[]),
            replicas(5, &[("paused", 3), ("held", 2), ("kept-down", 0)]),
        ),
        Step {
            deleted: vec!["restored"],
            ..step(
                "pauses end, a part of a sum breaks, and one object goes",
                ["paused", "held", "kept-up", "kept-down", "forced"].map(|name| with(name, &[])).to_vec(),
                vec![broken("summed-two")],
                replicas(5, &[("restored", ORIGINAL)]),
            )
        },
        Step {
            deleted: vec!["renamed"],
            ..step(
                "all is over",
                Vec::new(),
                load(0.0, &[("renamed", SourceResponse::Value(45.0))]),
                replicas(0, &[("restored", ORIGINAL), ("renamed", 5)]),
            )
        },
    ]
}
