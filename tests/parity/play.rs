//! Plays one case: its steps in a namespace of its own, and a capture after each. With Kedge, the captures are compared with what
//! KEDA did; with KEDA, they are what is recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use http::Method;
use kedge_test_cluster::wait::wait_for;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::api::{Kube, path_of};
use crate::case::{Case, Step};
use kedge_tests::compare::Difference;

use crate::compare::{differences, freed};
use crate::known_differences::{KnownDifferences, Row};
use crate::normal::Replacements;
use crate::operator::Operator;
use crate::sources::Sources;
use crate::telemetry::Collected;
use crate::verdict::{Outcome, Verdict};
use crate::{capture, expectations, steps, telemetry};

/// How the namespaces of cases begin.
const NAMESPACES: &str = "parity-";
/// How long nothing may change before a capture, unless a step sets another time.
const SETTLE: Duration = Duration::from_secs(5);
/// How long the expectations of a step may take.
const DEADLINE: Duration = Duration::from_secs(180);
/// How long a settled state may take to match the recording: events, above all, may come late.
const MATCH_DEADLINE: Duration = Duration::from_secs(60);
/// What is compared at the end, because reading it may have side effects, or changes all the time.
const READ_AT_THE_END: [&str; 4] = ["metrics", "sourcesWereAsked", "requests", "telemetry"];
/// How often the cluster is read meanwhile.
const PAUSE: Duration = Duration::from_secs(1);

/// What all cases share.
pub(crate) struct Environment {
    pub(crate) kube: Kube,
    pub(crate) operator: Operator,
    /// What the operator exported while cases ran that capture it.
    pub(crate) telemetry: Mutex<Collected>,
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

/// Which time a case is played. Each has a namespace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    First,
    Second,
}

/// Plays a case with Kedge. A case that fails counts as different, with its error.
pub(crate) async fn play(environment: &Environment, case: &Case, attempt: Attempt) -> Verdict {
    let began = Instant::now();
    let outcome = match CaseRun::new(environment, case, attempt).compare().await {
        Ok(steps) => Outcome::from_steps(&steps),
        Err(error) => Outcome::Different(vec![format!("broken: {error:#}")]),
    };
    Verdict { case: case.name.clone(), took: began.elapsed(), outcome }
}

/// Plays a case with KEDA, and returns a capture for each step, by the name of the step.
pub(crate) async fn record(environment: &Environment, case: &Case) -> anyhow::Result<BTreeMap<String, Value>> {
    let run = CaseRun::new(environment, case, Attempt::First);
    let is_final = |step: &Step, seen: &Value| expectations::missing(&step.until, seen).is_empty();
    let captures = run.play(is_final).await?;
    for (step, capture) in &captures {
        let missing = expectations::missing(&step.until, capture);
        ensure!(missing.is_empty(), "{}: KEDA does not reach what the step waits for, but {missing:?}", step.name);
    }
    Ok(captures.into_iter().map(|(step, capture)| (step.name.clone(), capture)).collect())
}

impl<'a> CaseRun<'a> {
    fn new(environment: &'a Environment, case: &'a Case, attempt: Attempt) -> Self {
        let suffix = if attempt == Attempt::Second { "-again" } else { "" };
        Self {
            environment,
            case,
            namespace: format!("{NAMESPACES}{}{suffix}", case.name),
            http: environment.sources.http.to_string(),
            grpc: environment.sources.grpc.to_string(),
        }
    }

    /// The values of the placeholders of a case.
    pub(crate) fn places(&self) -> [(&'static str, &str); 3] {
        [("${NS}", &self.namespace), ("${HTTP}", self.environment.sources.base()), ("${GRPC}", &self.grpc)]
    }

    /// The replacements of what differs from run to run.
    pub(crate) fn replacements(&self) -> Replacements {
        Replacements::new(&self.namespace, &self.http, &self.grpc)
    }

    /// Compares what Kedge does with the recording. Returns the differences at each step with the rows that are listed for it.
    async fn compare(&self) -> anyhow::Result<Vec<(String, Vec<Difference>, Vec<&'a Row>)>> {
        for step in &self.case.steps {
            ensure!(
                self.case.golden.contains_key(&step.name),
                "{} is not recorded: `cargo xtask peer record`",
                step.name
            );
        }
        let captures = self.play(|step, seen| self.is_expected(step, seen)).await?;
        let result = |(step, capture): (&Step, Value)| {
            let found = differences(&self.golden(step), &freed(&capture, &self.case.free));
            (step.name.clone(), found, self.environment.listed.for_step(&self.case.name, &step.name))
        };
        Ok(captures.into_iter().map(result).collect())
    }

    /// What KEDA did at a step, without the texts that are free.
    fn golden(&self, step: &Step) -> Value {
        freed(&self.case.golden[&step.name], &self.case.free)
    }

    /// Plays all steps, and cleans up. Returns a capture of each. A settled state that `is_final` is captured at once.
    async fn play(&self, is_final: impl Fn(&Step, &Value) -> bool) -> anyhow::Result<Vec<(&'a Step, Value)>> {
        let kube = &self.environment.kube;
        kube.done(Method::POST, "/api/v1/namespaces", Some(&json!({ "metadata": { "name": self.namespace } }))).await?;
        let played = self.play_steps(is_final).await;
        kube.done(Method::DELETE, &format!("/api/v1/namespaces/{}", self.namespace), None).await?;
        self.environment.sources.remove(&self.namespace);
        played
    }

    async fn play_steps(&self, is_final: impl Fn(&Step, &Value) -> bool) -> anyhow::Result<Vec<(&'a Step, Value)>> {
        self.environment.sources.set(&self.namespace, &self.case.sources);
        for entry in &self.case.objects {
            steps::apply(self, entry).await?;
        }
        self.wait_for_pods().await?;
        let mut captures = Vec::new();
        let mut old_events = Vec::new();
        for step in &self.case.steps {
            let capture = self.play_step(step, &mut old_events, &is_final).await.with_context(|| step.name.clone())?;
            captures.push((step, capture));
        }
        Ok(captures)
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

    /// Applies a step, waits, and captures. `old_events` are those of the steps before.
    async fn play_step(
        &self,
        step: &Step,
        old_events: &mut Vec<Value>,
        is_final: impl Fn(&Step, &Value) -> bool,
    ) -> anyhow::Result<Value> {
        let Environment { sources, operator, .. } = self.environment;
        sources.take_counts(&self.namespace);
        steps::apply_step(self, step).await?;
        let requests = sources.take_counts(&self.namespace);
        let seen = self.wait(step, |seen| is_final(step, &with_new_events(seen, old_events))).await?;
        let mut capture = with_new_events(&seen, old_events);
        if step.counted {
            capture["requests"] = requests;
        }
        if self.case.telemetry {
            let text = operator.metrics().await?;
            self.environment.telemetry.lock().await.add(&text, &format!("{NAMESPACES}telemetry-"));
            let series = telemetry::series_about(&text, &self.namespace);
            capture["telemetry"] = self.replacements().normal(&series);
        }
        capture["metrics"] = capture::metrics(self, &seen).await?;
        capture["sourcesWereAsked"] = self.replacements().normal(&sources.last_requests(&self.namespace));
        *old_events = seen["events"].as_array().cloned().unwrap_or_default();
        Ok(capture)
    }

    /// Waits until the expectations are met and nothing changes any more, and returns that state. An expectation that is not met is no
    /// error: the differences from the recording show more.
    async fn wait(&self, step: &Step, is_final: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
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
                if gives_up || is_final(&seen) {
                    return Ok(seen);
                }
            } else if now >= deadline + MATCH_DEADLINE {
                bail!("the state never settles");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether this matches the recording of KEDA, except for the listed differences.
    fn is_expected(&self, step: &Step, seen: &Value) -> bool {
        let mut golden = self.golden(step);
        for apart in READ_AT_THE_END {
            golden.as_object_mut().expect("a capture is an object").remove(apart);
        }
        let is_apart = |path: &str| READ_AT_THE_END.iter().any(|apart| path.starts_with(apart));
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
