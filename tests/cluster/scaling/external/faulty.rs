//! External scalers that fail in every way: the condition names the fault, nothing is scaled because of it, other objects continue, and
//! after the fault the object continues without a change by a user.

use kedge_tests::external::external;
use kedge_tests::faulty_scaler::{Behaviour, CallResult, FaultyScaler, spec, value};
use kedge_tests::namespace::{TestNamespace, cron_open, deployment, scaled_object};
use serde_json::{Value, json};

use super::super::cluster;
use super::{generation, scale_writes};

/// A faulty scaler: its behaviour, and a part of the message that reports it.
struct Case {
    name: &'static str,
    behaviour: Behaviour,
    message: &'static str,
    scaler: FaultyScaler,
}

impl Case {
    async fn all<const N: usize>(
        rows: [(&'static str, Behaviour, &'static str); N],
        begin: Option<Behaviour>,
    ) -> Vec<Self> {
        let mut cases = Vec::new();
        for (name, behaviour, message) in rows {
            let scaler = FaultyScaler::start(begin.clone().unwrap_or(behaviour.clone())).await.unwrap();
            cases.push(Self { name, behaviour, message, scaler });
        }
        cases
    }

    fn trigger(&self) -> Value {
        external(&self.scaler.address(), json!({}))
    }

    /// The name of the object without another trigger.
    fn alone(&self) -> String {
        format!("{}-alone", self.name)
    }

    /// The name of the object with another trigger.
    fn beside(&self) -> String {
        format!("{}-beside", self.name)
    }

    fn both(&self) -> [String; 2] {
        [self.alone(), self.beside()]
    }
}

/// Without a cooldown: a reading that counted as inactive would scale to zero at once.
fn without_cooldown() -> Value {
    json!({ "cooldownPeriod": 0 })
}

/// Calls by polls and by the HPA, several of each.
const CALLS_MIN: u64 = 8;

async fn until_ready(namespace: &TestNamespace<'_>, name: &str) {
    let good = ("True".to_owned(), "ScaledObjectReady".to_owned());
    namespace.until(&format!("{name} is ready"), good, |namespace| namespace.condition(name, "Ready")).await;
    assert_eq!(generation(namespace, name), 1, "{name} was not changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scaler_without_valid_metric_specs_is_reported_and_scales_nothing() {
    let good = || Behaviour::good(25.0);
    let rows = [
        ("hangs", good().call_result(CallResult::Hangs), "gave no answer within 3s"),
        ("resets", good().call_result(CallResult::Resets), "cannot be reached: "),
        (
            "refuses",
            good().call_result(CallResult::Refuses),
            "answered GetMetricSpec with INTERNAL: the jobs were not found nor looked for",
        ),
        ("nothing", good().specs([]), "cannot be used: in the metric specs, it names no metric"),
        ("slash", good().specs([spec("all/jobs", 10)]), "\"all/jobs\" holds a / or %, which no metric of an HPA may"),
        ("twice", good().specs([spec("jobs", 10), spec("jobs", 5)]), "\"jobs\" is named more than once"),
        (
            "zero",
            good().specs([spec("jobs", 0)]),
            "\"jobs\": targetSize is 0 and targetSizeFloat 0, and one of them must be above 0",
        ),
    ];
    let namespace = TestNamespace::create(cluster().await, "no-specs");
    let cases = Case::all(rows, None).await;
    let neighbour = FaultyScaler::start(good()).await.unwrap();
    namespace.apply(cases.iter().flat_map(|case| {
        [
            deployment(&case.alone(), 2),
            scaled_object(&case.alone(), [case.trigger()], without_cooldown()),
            deployment(&case.beside(), 0),
            scaled_object(&case.beside(), [case.trigger(), cron_open(3)], without_cooldown()),
        ]
    }));
    let trigger = external(&neighbour.address(), json!({}));
    namespace.apply([deployment("neighbour", 0), scaled_object("neighbour", [trigger], without_cooldown())]);
    namespace.until_replicas("neighbour", 3).await;
    for case in &cases {
        for name in case.both() {
            let reported = |namespace: &TestNamespace<'_>| {
                let message = namespace.message(&name, "Ready");
                message.contains("trigger 0 (external): ") && message.contains(case.message)
            };
            let failed = ("False".to_owned(), "ScaledObjectCheckFailed".to_owned());
            namespace.until(&format!("{name} fails"), failed, |namespace| namespace.condition(&name, "Ready")).await;
            namespace.until(&format!("{name} is reported: {}", case.message), true, reported).await;
        }
        // The other trigger continues.
        namespace.until_replicas(&case.beside(), 3).await;
    }
    for case in &cases {
        case.scaler.until_called(CALLS_MIN).await.unwrap();
        namespace.events_with("ScaledObjectCheckFailed", &[case.message]).await;
        assert_eq!(scale_writes(&namespace, &case.alone()).len(), 0, "{}: nothing is scaled", case.name);
        assert_eq!(namespace.replicas("deployment", &case.beside()), Some(3), "{}: nothing is scaled", case.name);
    }

    cases.iter().for_each(|case| case.scaler.set_behaviour(Behaviour::good(45.0)));
    for name in cases.iter().flat_map(Case::both) {
        namespace.until_replicas(&name, 5).await;
        until_ready(&namespace, &name).await;
    }
    assert_eq!(namespace.replicas("deployment", "neighbour"), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scaler_that_begins_to_fail_scales_nothing() {
    let good = || Behaviour::good(25.0);
    let rows = [
        ("hangs", good().call_result(CallResult::Hangs), "gave no answer within 3s"),
        ("resets", good().call_result(CallResult::Resets), "cannot be reached: "),
        ("refuses", good().call_result(CallResult::Refuses), "with INTERNAL: the jobs were not found nor looked for"),
        ("nan", good().values([value("jobs", f64::NAN)]), "cannot be used: metricValueFloat is NaN, which is no value"),
        (
            "infinite",
            good().values([value("jobs", f64::INFINITY)]),
            "cannot be used: metricValueFloat is inf, which is no value",
        ),
        ("nothing", good().values([]), "has no value: GetMetrics gave no values for \"jobs\""),
    ];
    let namespace = TestNamespace::create(cluster().await, "failing");
    let cases = Case::all(rows, Some(good())).await;
    let steady = FaultyScaler::start(Behaviour::good(15.0)).await.unwrap();
    let other = || external(&steady.address(), json!({}));
    namespace.apply(cases.iter().flat_map(|case| {
        [
            deployment(&case.alone(), 0),
            scaled_object(&case.alone(), [case.trigger()], without_cooldown()),
            deployment(&case.beside(), 0),
            scaled_object(&case.beside(), [case.trigger(), other()], without_cooldown()),
        ]
    }));
    namespace.apply([deployment("neighbour", 0), scaled_object("neighbour", [other()], without_cooldown())]);
    namespace.until_replicas("neighbour", 2).await;
    for name in cases.iter().flat_map(Case::both) {
        namespace.until_replicas(&name, 3).await;
    }

    let before: Vec<usize> = cases.iter().map(|case| scale_writes(&namespace, &case.alone()).len()).collect();
    cases.iter().for_each(|case| case.scaler.set_behaviour(case.behaviour.clone()));
    for case in &cases {
        let rows = [(case.alone(), "False", "TriggerError"), (case.beside(), "Unknown", "PartialTriggerError")];
        for (name, status, reason) in rows {
            let failed = (status.to_owned(), reason.to_owned());
            namespace.until(&format!("{name} fails"), failed, |namespace| namespace.condition(&name, "Ready")).await;
        }
    }
    // The other trigger and the other object continue.
    steady.set_behaviour(Behaviour::good(45.0));
    namespace.until_replicas("neighbour", 5).await;
    for case in &cases {
        namespace.until_replicas(&case.beside(), 5).await;
    }
    for (case, before) in cases.iter().zip(before) {
        case.scaler.until_called(CALLS_MIN).await.unwrap();
        let is_reported = |note: &String| {
            note.starts_with("s0-jobs: ") && note.contains(&case.scaler.address()) && note.contains(case.message)
        };
        let what = format!("{} is reported in an event", case.name);
        let published = |namespace: &TestNamespace<'_>| namespace.events("KEDAScalerFailed").iter().any(is_reported);
        namespace.until(&what, true, published).await;
        assert_eq!(scale_writes(&namespace, &case.alone()).len(), before, "{}: nothing is scaled", case.name);
        assert_eq!(namespace.replicas("deployment", &case.alone()), Some(3), "{}: nothing is scaled", case.name);
    }

    cases.iter().for_each(|case| case.scaler.set_behaviour(Behaviour::good(5.0)));
    for case in &cases {
        namespace.until_replicas(&case.alone(), 1).await;
        for name in case.both() {
            until_ready(&namespace, &name).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_of_a_scaler_count_as_documented() {
    let namespace = TestNamespace::create(cluster().await, "responses");
    let misnamed = FaultyScaler::start(Behaviour::good(25.0).values([value("orders", 25.0)])).await.unwrap();
    let idle = FaultyScaler::start(Behaviour::good(25.0).idle()).await.unwrap();
    let trigger = |scaler: &FaultyScaler| external(&scaler.address(), json!({}));
    namespace.apply([deployment("misnamed", 0), scaled_object("misnamed", [trigger(&misnamed)], without_cooldown())]);
    namespace.apply([deployment("idle", 0), scaled_object("idle", [trigger(&idle)], without_cooldown())]);
    // Metric names in the response are ignored.
    namespace.until_replicas("misnamed", 3).await;
    // A value alone does not activate: `IsActive` does.
    let inactive = ("False".to_owned(), "ScalerNotActive".to_owned());
    namespace.until("it was polled", inactive, |namespace| namespace.condition("idle", "Active")).await;
    idle.until_called(CALLS_MIN).await.unwrap();
    assert_eq!(scale_writes(&namespace, "idle").len(), 0);
    idle.set_behaviour(Behaviour::good(25.0));
    namespace.until_replicas("idle", 3).await;
    for name in ["misnamed", "idle"] {
        until_ready(&namespace, name).await;
    }
}
