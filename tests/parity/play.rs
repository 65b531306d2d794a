//! Plays one case: its steps in a namespace of its own, and a capture after each, compared with what KEDA did.

use std::time::Duration;

use anyhow::{Context, bail};
use http::Method;
use kedge_test_cluster::wait::wait_for;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::{Kube, path_of};
use crate::case::{Case, Step};
use kedge_tests::compare::Difference;

use crate::compare::{differences, freed};
use crate::known_differences::{KnownDifferences, Row};
use crate::normal::Replacements;
use crate::sources::Sources;
use crate::verdict::{Outcome, Verdict};
use crate::{capture, expectations, steps};

/// How long nothing may change before a capture, unless a step sets another time.
const SETTLE: Duration = Duration::from_secs(5);
/// How long the expectations of a step may take.
const DEADLINE: Duration = Duration::from_secs(180);
/// How long a settled state may take to match the recording: events, above all, may come late.
const MATCH_DEADLINE: Duration = Duration::from_secs(60);
/// How often the cluster is read meanwhile.
const PAUSE: Duration = Duration::from_secs(1);

/// What all cases share.
pub(crate) struct Environment {
    pub(crate) kube: Kube,
    pub(crate) sources: Sources,
    pub(crate) listed: KnownDifferences,
}

/// One case that is being played.
pub(crate) struct CaseRun<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) case: &'a Case,
    pub(crate) namespace: String,
    http: String,
    grpc: String,
}

/// Plays a case. A case that fails counts as different, with its error.
pub(crate) async fn play(environment: &Environment, case: &Case) -> Verdict {
    let began = Instant::now();
    let run = CaseRun {
        environment,
        case,
        namespace: format!("parity-{}", case.name),
        http: environment.sources.http.to_string(),
        grpc: environment.sources.grpc.to_string(),
    };
    let outcome = match run.play().await {
        Ok(steps) => Outcome::from_steps(&steps),
        Err(error) => Outcome::Different(vec![format!("broken: {error:#}")]),
    };
    Verdict { case: case.name.clone(), took: began.elapsed(), outcome }
}

impl<'a> CaseRun<'a> {
    /// The values of the placeholders of a case.
    pub(crate) fn places(&self) -> [(&'static str, &str); 3] {
        [("${NS}", &self.namespace), ("${HTTP}", self.environment.sources.base()), ("${GRPC}", &self.grpc)]
    }

    /// The replacements of what differs from run to run.
    pub(crate) fn replacements(&self) -> Replacements {
        Replacements::new(&self.namespace, &self.http, &self.grpc)
    }

    /// Plays all steps, and cleans up. Returns the differences at each step with the rows that are listed for it.
    async fn play(&self) -> anyhow::Result<Vec<(String, Vec<Difference>, Vec<&'a Row>)>> {
        let kube = &self.environment.kube;
        kube.done(Method::POST, "/api/v1/namespaces", Some(&json!({ "metadata": { "name": self.namespace } }))).await?;
        let played = self.play_steps().await;
        kube.done(Method::DELETE, &format!("/api/v1/namespaces/{}", self.namespace), None).await?;
        self.environment.sources.remove(&self.namespace);
        played
    }

    async fn play_steps(&self) -> anyhow::Result<Vec<(String, Vec<Difference>, Vec<&'a Row>)>> {
        self.environment.sources.set(&self.namespace, &self.case.sources);
        for entry in &self.case.objects {
            steps::apply(self, entry).await?;
        }
        self.wait_for_pods().await?;
        let mut results = Vec::new();
        let mut old_events = Vec::new();
        for step in &self.case.steps {
            let found = self.play_step(step, &mut old_events).await.with_context(|| step.name.clone())?;
            results.push((step.name.clone(), found, self.environment.listed.for_step(&self.case.name, &step.name)));
        }
        Ok(results)
    }

    async fn wait_for_pods(&self) -> anyhow::Result<()> {
        let expected: u64 = self.case.objects.iter().map(|entry| entry.pods()).sum();
        let ready = |pod: &Value| {
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        };
        wait_for("the pods of the targets are ready", DEADLINE, async || {
            let pods = self
                .environment
                .kube
                .items(&path_of("Pod", &self.namespace))
                .await
                .map_err(|error| error.to_string())?;
            let ready = pods.iter().filter(|pod| ready(pod)).count() as u64;
            if ready == expected { Ok(()) } else { Err(format!("{ready} of {expected}")) }
        })
        .await
    }

    /// Applies a step, waits, and compares. `old_events` are those of the steps before.
    async fn play_step(&self, step: &Step, old_events: &mut Vec<Value>) -> anyhow::Result<Vec<Difference>> {
        steps::apply_step(self, step).await?;
        let golden = freed(&self.case.golden[&step.name], &self.case.free);
        let seen = self.wait(step, &golden, old_events).await?;
        let mut capture = with_new_events(&seen, old_events);
        capture["metrics"] = capture::metrics(self, &seen).await?;
        capture["sourcesWereAsked"] =
            self.replacements().normal(&self.environment.sources.last_requests(&self.namespace));
        *old_events = seen["events"].as_array().cloned().unwrap_or_default();
        Ok(differences(&golden, &freed(&capture, &self.case.free)))
    }

    /// Waits until the expectations are met and nothing changes any more, and returns that state. An expectation that is not met is no
    /// error: the differences from the recording show more.
    async fn wait(&self, step: &Step, golden: &Value, old_events: &[Value]) -> anyhow::Result<Value> {
        let settle = step.settle.map_or(SETTLE, Duration::from_secs);
        let deadline = Instant::now() + DEADLINE;
        let (mut last, mut since, mut match_until) = (Value::Null, Instant::now(), None);
        loop {
            let seen = capture::take(self).await?;
            let now = Instant::now();
            if seen != last {
                (last, since) = (seen.clone(), now);
            }
            if now - since >= settle {
                if expectations::missing(&step.until, &seen).is_empty() {
                    match_until.get_or_insert(now + MATCH_DEADLINE);
                }
                let gives_up = now >= match_until.unwrap_or(deadline);
                if gives_up || self.is_expected(step, golden, &with_new_events(&seen, old_events)) {
                    return Ok(seen);
                }
            } else if now >= deadline + MATCH_DEADLINE {
                bail!("the state never settles");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether this matches the recording of KEDA, except for the listed differences.
    fn is_expected(&self, step: &Step, golden: &Value, seen: &Value) -> bool {
        let mut golden = golden.clone();
        // These are compared at the end, because reading them may have side effects.
        for apart in ["metrics", "sourcesWereAsked"] {
            golden.as_object_mut().expect("a capture is an object").remove(apart);
        }
        let is_apart = |path: &str| path.starts_with("metrics") || path.starts_with("sourcesWereAsked");
        let mut listed = self.environment.listed.for_step(&self.case.name, &step.name);
        listed.retain(|row| !is_apart(&row.path));
        let found = differences(&golden, &freed(seen, &self.case.free));
        found.iter().all(|difference| listed.iter().any(|row| row.is(difference)))
            && listed.iter().all(|row| found.iter().any(|difference| row.is(difference)))
    }
}

/// A capture with only those events that were not there before.
fn with_new_events(seen: &Value, old_events: &[Value]) -> Value {
    let mut seen = seen.clone();
    if let Some(events) = seen.get_mut("events").and_then(Value::as_array_mut) {
        events.retain(|event| !old_events.contains(event));
    }
    seen
}

#[test]
fn only_new_events_are_kept() {
    let seen = json!({ "events": [{ "reason": "A" }, { "reason": "B" }], "targets": {} });
    assert_eq!(
        with_new_events(&seen, &[json!({ "reason": "A" })]),
        json!({ "events": [{ "reason": "B" }], "targets": {} })
    );
}
