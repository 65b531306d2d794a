//! Single syncs with everything that they write: scale, events, conditions, status, error.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus, MetricSpec};
use kedge_core::hpa::model::history::ScalingHistory;
use kedge_core::hpa::model::metric::MetricReading;
use kedge_core::hpa::model::pods::{ObservedPod, ReadyState};
use kedge_core::hpa::model::reconcile::{
    HpaSnapshot, Observation, ObservedScale, Outcome, ScaleError, Selection, Step, WRITE_ATTEMPTS_MAX, reconcile,
};
use kedge_core::hpa::model::samples::{DEFAULT_WINDOW, PodSample};
use kedge_core::hpa::model::settings::{Gate, Gates, Settings};
use kedge_core::hpa::model::status::StatusWrite;
use kedge_core::milli::Milli;
use kedge_tests::files;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Differences, at, pod};

/// One recording: what the controller was given, and what it did.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    name: String,
    hpa_spec: HorizontalPodAutoscalerSpec,
    scale_spec_replicas: i32,
    scale_status_replicas: i32,
    ready_pods: usize,
    #[serde(default)]
    scale_to_zero_gate: bool,
    #[serde(default)]
    external_metric_milli: BTreeMap<String, Vec<i64>>,
    #[serde(default)]
    external_metric_error: BTreeMap<String, String>,
    #[serde(default)]
    object_metric_milli: Option<i64>,
    #[serde(default)]
    pod_metric_milli: BTreeMap<String, i64>,
    #[serde(default)]
    prior_conditions: Option<Value>,
    #[serde(default)]
    reconcile_error: Value,
    /// Everything else: a note, and what the controller did.
    #[serde(flatten)]
    recorded: BTreeMap<String, Value>,
}

#[test]
fn syncs_write_what_the_controller_wrote() {
    let recordings: Value = serde_json::from_str(&files::golden("hpa-reconcile-golden.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_value(recordings["cases"].clone()).unwrap();
    let mut differences = Differences(Vec::new());
    for case in &cases {
        let mut recorded = case.recorded.clone();
        recorded.remove("note");
        recorded.insert("reconcileError".to_owned(), case.reconcile_error.clone());
        let modelled = run(case);
        for key in recorded.keys().chain(modelled.keys().filter(|key| !recorded.contains_key(*key))) {
            let value = |side: &BTreeMap<String, Value>| side.get(key).map(Value::to_string);
            differences.compare(&format!("{} {key}", case.name), &value(&recorded), &value(&modelled));
        }
    }
    differences.assert_none(cases.len(), 5);
}

/// The input of one sync that differs between the syncs of a case.
struct HpaSync {
    second: i64,
    current: i32,
    reported: i32,
    readings: Vec<MetricReading>,
}

/// The state that the syncs of a case share: the history and status of the HPA, and the writes so far.
#[derive(Default)]
struct SyncState {
    history: ScalingHistory,
    status: HorizontalPodAutoscalerStatus,
    scale_writes: Vec<i32>,
    status_writes: usize,
}

/// Runs all syncs of a case. Returns the values that the recording holds.
fn run(case: &Case) -> BTreeMap<String, Value> {
    let mut state = SyncState::default();
    for sync in earlier_syncs(case) {
        step(case, &sync, &mut state);
    }
    if let Some(prior) = &case.prior_conditions {
        assert_eq!(&conditions(&state.status), prior, "{}: conditions before the sync", case.name);
    }
    let last = last_sync(case);
    let outcome = step(case, &last, &mut state);
    let list = |items: Vec<Value>| if items.is_empty() { Value::Null } else { Value::from(items) };
    let status = &state.status;
    let modelled = json!({
        "scaleUpdatesSent": list(state.scale_writes.iter().map(|replicas| json!(replicas)).collect()),
        "resultingSpecReplicas": outcome.rescaled_to.unwrap_or(last.current),
        "events": list(outcome.events.iter().map(|event| json!(event.to_string())).collect()),
        "conditions": conditions(status),
        "statusCurrentReplicas": status.current_replicas.unwrap_or_default(),
        "statusDesiredReplicas": status.desired_replicas,
        "lastScaleTimeSet": status.last_scale_time.is_some(),
        "observedGeneration": status.observed_generation,
        "currentMetrics": status.current_metrics,
        "statusWrites": state.status_writes,
        "reconcileError": outcome.error,
    });
    serde_json::from_value(modelled).unwrap()
}

fn conditions(status: &HorizontalPodAutoscalerStatus) -> Value {
    let mut conditions = json!(status.conditions);
    for condition in conditions.as_array_mut().unwrap() {
        assert!(condition.as_object_mut().unwrap().remove("lastTransitionTime").is_some());
    }
    conditions
}

fn last_sync(case: &Case) -> HpaSync {
    let (current, reported) = (case.scale_spec_replicas, case.scale_status_replicas);
    let metrics = case.hpa_spec.metrics.iter().flatten();
    HpaSync { second: 0, current, reported, readings: metrics.map(|metric| reading(metric, case)).collect() }
}

/// The syncs before the recorded one, by the notes of the recordings.
fn earlier_syncs(case: &Case) -> Vec<HpaSync> {
    let at_three = |second, milli: i64| {
        let readings = vec![MetricReading::Series(Ok(vec![Milli(milli)]))];
        HpaSync { second, current: 3, reported: 3, readings }
    };
    match case.name.as_str() {
        "down-after-window" => (1..22).rev().map(|tick| HpaSync { second: -15 * tick, ..last_sync(case) }).collect(),
        "zero-after-active" => vec![at_three(0, 30_000)],
        "fails-after-success" => vec![at_three(0, 50_000)],
        "scale-from-zero" => vec![at_three(-15, 0)],
        _ => vec![],
    }
}

fn step(case: &Case, sync: &HpaSync, state: &mut SyncState) -> Outcome {
    let gate = if case.scale_to_zero_gate { Gate::On } else { Gate::Off };
    let settings = Settings { gates: Gates { scale_to_zero: gate, ..Gates::default() }, ..Settings::default() };
    let seen = Observation {
        now: at(0) + TimeDelta::seconds(sync.second),
        scale: scale(case, sync),
        readings: &sync.readings,
        pods: &pods(case),
    };
    let subject = HpaSnapshot { namespace: "ns", spec: &case.hpa_spec, status: &state.status };
    let outcome = match reconcile(subject, &seen, std::mem::take(&mut state.history), &settings) {
        Step::Done(outcome) => *outcome,
        Step::Write(rescale) => {
            let written = write_scale(case, rescale.replicas(), &mut state.scale_writes);
            rescale.finish(written)
        }
    };
    state.history = outcome.history.clone();
    if outcome.status_write == StatusWrite::Needed {
        state.status = outcome.status.clone();
        state.status_writes += 1;
    }
    outcome
}

/// The result of writing the scale, by the notes of the recordings.
fn write_scale(case: &Case, replicas: i32, writes: &mut Vec<i32>) -> Result<(), String> {
    let conflicts = if case.name == "scale-update-conflict-retried" { 2 } else { 0 };
    assert!(conflicts < WRITE_ATTEMPTS_MAX);
    writes.extend((0..=conflicts).map(|_| replicas));
    if case.name == "scale-update-fails" { Err("admission webhook denied".to_owned()) } else { Ok(()) }
}

fn scale(case: &Case, sync: &HpaSync) -> Result<ObservedScale, ScaleError> {
    let target = &case.hpa_spec.scale_target_ref;
    let group =
        target.api_version.as_deref().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
    if case.name == "scale-get-fails" {
        return Err(ScaleError::Query { error: format!("deployments.apps {:?} not found", target.name) });
    }
    if target.kind != "Deployment" {
        return Err(ScaleError::NoMapping { error: format!("no matches for {group}/, Resource={}", target.kind) });
    }
    Ok(ObservedScale { current: sync.current, reported: sync.reported, selection: selection(case) })
}

fn selection(case: &Case) -> Selection {
    match case.name.as_str() {
        "no-selector" => Selection::Missing,
        "bad-selector" => Selection::Unreadable {
            error: "unable to parse requirement: found '', expected: ',', ')' or identifier".to_owned(),
        },
        "ambiguous-selector" => {
            let autoscalers = vec!["ns/hpa".to_owned(), "ns/other".to_owned()];
            Selection::Shared { selector: "app=x".to_owned(), autoscalers }
        }
        _ => Selection::Clear,
    }
}

/// The controller lists pods in no particular order, and its error names the first one that is wrong: that pod was the
/// first of the recording.
fn pods(case: &Case) -> Vec<ObservedPod> {
    let error = case.reconcile_error.as_str().unwrap_or_default();
    let mut pods: Vec<_> = (0..case.ready_pods).map(|index| pod(format!("p{index}"), ReadyState::Ready)).collect();
    pods.sort_by_key(|pod| !error.ends_with(&format!("Pod {}", pod.name)));
    pods
}

fn reading(metric: &MetricSpec, case: &Case) -> MetricReading {
    if let Some(external) = &metric.external {
        let name = &external.metric.name;
        let series = case.external_metric_milli.get(name).into_iter().flatten().copied().map(Milli).collect();
        return MetricReading::Series(case.external_metric_error.get(name).cloned().map_or(Ok(series), Err));
    }
    if metric.object.is_some() {
        let failure = "unable to fetch metrics from custom metrics API: boom".to_owned();
        return MetricReading::Object(case.object_metric_milli.map(Milli).ok_or(failure));
    }
    let api = if metric.pods.is_some() { "custom" } else { "resource" };
    let sample = |milli: &i64| PodSample { amount: Milli(*milli), measured_at: at(0), window: DEFAULT_WINDOW };
    let samples = case.pod_metric_milli.iter().map(|(pod, milli)| (pod.clone(), sample(milli))).collect();
    let failure = format!("no metrics returned from {api} metrics API");
    MetricReading::Pods(if case.pod_metric_milli.is_empty() { Err(failure) } else { Ok(samples) })
}
