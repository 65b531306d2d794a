//! External scalers that do what no scaler should: it is said what is wrong, nothing moves because of it, nobody else is
//! concerned, and when it is over the object goes on without being touched.

use kedge_tests::external::external;
use kedge_tests::story::{Story, cron_open, deployment, scaled_object};
use kedge_tests::unruly::{Manners, Unruly, Way, spec, value};
use serde_json::{Value, json};

use super::super::cluster;
use super::{generation, scale_writes};

/// One that misbehaves: what it does, and what must be said of it.
struct Case {
    name: &'static str,
    manners: Manners,
    says: &'static str,
    scaler: Unruly,
}

impl Case {
    async fn all<const N: usize>(
        rows: [(&'static str, Manners, &'static str); N],
        begin: Option<Manners>,
    ) -> Vec<Self> {
        let mut cases = Vec::new();
        for (name, manners, says) in rows {
            let scaler = Unruly::start(begin.clone().unwrap_or(manners.clone())).await.unwrap();
            cases.push(Self { name, manners, says, scaler });
        }
        cases
    }

    fn trigger(&self) -> Value {
        external(&self.scaler.address(), json!({}))
    }

    /// The object that has nothing else.
    fn alone(&self) -> String {
        format!("{}-alone", self.name)
    }

    /// The object that has another trigger.
    fn beside(&self) -> String {
        format!("{}-beside", self.name)
    }

    fn both(&self) -> [String; 2] {
        [self.alone(), self.beside()]
    }
}

/// With no patience: whatever counted as no work would lay it to sleep at once.
fn impatient() -> Value {
    json!({ "cooldownPeriod": 0 })
}

/// Often enough that polls and the HPA have both seen it.
const LONG: u64 = 8;

async fn until_ready(story: &Story<'_>, name: &str) {
    let good = ("True".to_owned(), "ScaledObjectReady".to_owned());
    story.until(&format!("{name} is well"), good, |story| story.condition(name, "Ready")).await;
    assert_eq!(generation(story, name), 1, "nobody touched {name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scaler_that_does_not_say_its_metrics_is_named_and_moves_nothing() {
    let good = || Manners::good(25.0);
    let rows = [
        ("hangs", good().way(Way::Hangs), "gave no answer within 3s"),
        ("resets", good().way(Way::Resets), "cannot be reached: "),
        (
            "refuses",
            good().way(Way::Refuses),
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
    let story = Story::begin(cluster().await, "speechless");
    let cases = Case::all(rows, None).await;
    let neighbour = Unruly::start(good()).await.unwrap();
    story.apply(cases.iter().flat_map(|case| {
        [
            deployment(&case.alone(), 2),
            scaled_object(&case.alone(), [case.trigger()], impatient()),
            deployment(&case.beside(), 0),
            scaled_object(&case.beside(), [case.trigger(), cron_open(3)], impatient()),
        ]
    }));
    let trigger = external(&neighbour.address(), json!({}));
    story.apply([deployment("neighbour", 0), scaled_object("neighbour", [trigger], impatient())]);
    story.until_replicas("neighbour", 3).await;
    for case in &cases {
        for name in case.both() {
            let named = |story: &Story<'_>| {
                let said = story.message(&name, "Ready");
                said.contains("trigger 0 (external): ") && said.contains(case.says)
            };
            let failed = ("False".to_owned(), "ScaledObjectCheckFailed".to_owned());
            story.until(&format!("{name} fails"), failed, |story| story.condition(&name, "Ready")).await;
            story.until(&format!("{name} is named: {}", case.says), true, named).await;
        }
        // The other trigger goes on.
        story.until_replicas(&case.beside(), 3).await;
    }
    let told = story.events("ScaledObjectCheckFailed");
    for case in &cases {
        case.scaler.asked_again(LONG).await.unwrap();
        assert!(told.iter().any(|note| note.contains(case.says)), "{}: {told:?}", case.name);
        assert_eq!(scale_writes(&story, &case.alone()).len(), 0, "{}: nothing moves", case.name);
        assert_eq!(story.replicas("deployment", &case.beside()), Some(3), "{}: nothing moves", case.name);
    }

    cases.iter().for_each(|case| case.scaler.behave(Manners::good(45.0)));
    for name in cases.iter().flat_map(Case::both) {
        story.until_replicas(&name, 5).await;
        until_ready(&story, &name).await;
    }
    assert_eq!(story.replicas("deployment", "neighbour"), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scaler_that_goes_wrong_leaves_everything_as_it_is() {
    let good = || Manners::good(25.0);
    let rows = [
        ("hangs", good().way(Way::Hangs), "gave no answer within 3s"),
        ("resets", good().way(Way::Resets), "cannot be reached: "),
        ("refuses", good().way(Way::Refuses), "with INTERNAL: the jobs were not found nor looked for"),
        ("nan", good().values([value("jobs", f64::NAN)]), "cannot be used: metricValueFloat is NaN, which is no value"),
        (
            "infinite",
            good().values([value("jobs", f64::INFINITY)]),
            "cannot be used: metricValueFloat is inf, which is no value",
        ),
        ("nothing", good().values([]), "has no value: GetMetrics gave no values for \"jobs\""),
    ];
    let story = Story::begin(cluster().await, "wayward");
    let cases = Case::all(rows, Some(good())).await;
    let steady = Unruly::start(Manners::good(15.0)).await.unwrap();
    let other = || external(&steady.address(), json!({}));
    story.apply(cases.iter().flat_map(|case| {
        [
            deployment(&case.alone(), 0),
            scaled_object(&case.alone(), [case.trigger()], impatient()),
            deployment(&case.beside(), 0),
            scaled_object(&case.beside(), [case.trigger(), other()], impatient()),
        ]
    }));
    story.apply([deployment("neighbour", 0), scaled_object("neighbour", [other()], impatient())]);
    story.until_replicas("neighbour", 2).await;
    for name in cases.iter().flat_map(Case::both) {
        story.until_replicas(&name, 3).await;
    }

    let before: Vec<usize> = cases.iter().map(|case| scale_writes(&story, &case.alone()).len()).collect();
    cases.iter().for_each(|case| case.scaler.behave(case.manners.clone()));
    for case in &cases {
        let rows = [(case.alone(), "False", "TriggerError"), (case.beside(), "Unknown", "PartialTriggerError")];
        for (name, status, reason) in rows {
            let failed = (status.to_owned(), reason.to_owned());
            story.until(&format!("{name} fails"), failed, |story| story.condition(&name, "Ready")).await;
        }
    }
    // The other trigger goes on, and the other object.
    steady.behave(Manners::good(45.0));
    story.until_replicas("neighbour", 5).await;
    for case in &cases {
        story.until_replicas(&case.beside(), 5).await;
    }
    let told = story.events("KEDAScalerFailed");
    for (case, before) in cases.iter().zip(before) {
        case.scaler.asked_again(LONG).await.unwrap();
        let is_told = |note: &String| {
            note.starts_with("s0-jobs: ") && note.contains(&case.scaler.address()) && note.contains(case.says)
        };
        assert!(told.iter().any(is_told), "{}: {told:?}", case.name);
        assert_eq!(scale_writes(&story, &case.alone()).len(), before, "{}: nothing moves", case.name);
        assert_eq!(story.replicas("deployment", &case.alone()), Some(3), "{}: nothing moves", case.name);
    }

    cases.iter().for_each(|case| case.scaler.behave(Manners::good(5.0)));
    for case in &cases {
        story.until_replicas(&case.alone(), 1).await;
        for name in case.both() {
            until_ready(&story, &name).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_scaler_may_say_counts_as_it_is_documented() {
    let story = Story::begin(cluster().await, "word");
    let misnamed = Unruly::start(Manners::good(25.0).values([value("orders", 25.0)])).await.unwrap();
    let idle = Unruly::start(Manners::good(25.0).idle()).await.unwrap();
    let trigger = |scaler: &Unruly| external(&scaler.address(), json!({}));
    story.apply([deployment("misnamed", 0), scaled_object("misnamed", [trigger(&misnamed)], impatient())]);
    story.apply([deployment("idle", 0), scaled_object("idle", [trigger(&idle)], impatient())]);
    // Names in the answer do not count.
    story.until_replicas("misnamed", 3).await;
    // A value wakes nobody: `IsActive` does.
    let asleep = ("False".to_owned(), "ScalerNotActive".to_owned());
    story.until("it was looked at", asleep, |story| story.condition("idle", "Active")).await;
    idle.asked_again(LONG).await.unwrap();
    assert_eq!(scale_writes(&story, "idle").len(), 0);
    idle.behave(Manners::good(25.0));
    story.until_replicas("idle", 3).await;
    for name in ["misnamed", "idle"] {
        until_ready(&story, name).await;
    }
}
