//! Proposals of Resource and Pods metrics.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use kedge_core::hpa::model::per_pod::{PerPodInput, Resource, propose_by_usage, propose_by_utilisation};
use kedge_core::hpa::model::pods::{Container, ObservedPod, Phase, Readiness, ReadyState};
use kedge_core::hpa::model::samples::{PodSample, PodSamples};
use kedge_core::hpa::model::settings::Settings;
use kedge_core::hpa::model::tolerance::Tolerances;
use kedge_core::milli::Milli;
use kedge_tests::{csv, files};

use super::{Differences, Row, at, parse_column, pod, result_text};

#[test]
fn metrics_per_pod_propose_what_the_controller_proposes() {
    let rows = csv::rows(&files::golden("hpa-podmetrics-golden.csv"));
    let outputs = ["proposed_replicas", "reported_utilization_pct", "reported_average_milli", "error"];
    let mut differences = Differences(Vec::new());
    for row in &rows {
        differences.compare(&row["id"], &outputs.map(|column| row[column].clone()), &propose(row));
    }
    differences.assert_none(rows.len(), 10);
}

/// The four output columns.
fn propose(row: &Row) -> [String; 4] {
    let given: Vec<(ObservedPod, Option<PodSample>)> =
        row["pods"].split('|').filter(|text| !text.is_empty()).enumerate().map(|pod| parse_pod(pod, row)).collect();
    let pods: Vec<_> = given.iter().map(|(pod, _)| pod.clone()).collect();
    let samples: PodSamples = given.into_iter().filter_map(|(pod, sample)| Some((pod.name, sample?))).collect();
    let tolerance = parse_column(row, "tolerance");
    let seen = PerPodInput {
        pods: &pods,
        samples: &samples,
        current: parse_column(row, "current_replicas"),
        tolerances: Tolerances { down: tolerance, up: tolerance },
        settings: &Settings::default(),
        now: at(0),
    };
    let resource = Some(row["resource"].as_str()).filter(|resource| !resource.is_empty());
    let proposal = match row["source"].as_str() {
        "resource_utilization" => {
            let resource = Resource { name: resource.unwrap(), container: None };
            propose_by_utilisation(seen, resource, parse_column(row, "target"))
                .map(|proposal| (proposal.replicas, Some(proposal.reported_percent), proposal.reported_average))
        }
        _ => propose_by_usage(seen, resource, Milli(parse_column(row, "target")))
            .map(|proposal| (proposal.replicas, None, proposal.reported)),
    };
    match proposal {
        Ok((replicas, percent, average)) => {
            [replicas.to_string(), result_text(percent), average.0.to_string(), String::new()]
        }
        Err(problem) => [String::new(), String::new(), String::new(), problem.to_string()],
    }
}

/// `phase:ready:start_age_s:ready_transition_age_s:deleting:request_milli:metric_milli:metric_age_s:window_s`
fn parse_pod((index, text): (usize, &str), row: &Row) -> (ObservedPod, Option<PodSample>) {
    let [phase, ready, start, transition, deleting, request, amount, age, window] =
        <[&str; 9]>::try_from(text.split(':').collect::<Vec<_>>()).unwrap();
    let number = |text: &str| text.parse::<i64>().unwrap();
    let state = match ready {
        "True" => Some(ReadyState::Ready),
        "False" => Some(ReadyState::Unready),
        "Unknown" => Some(ReadyState::Unknown),
        _ => None,
    };
    let request = Some(number(request)).filter(|request| *request != 0);
    let requests: BTreeMap<_, _> =
        request.map(|request| (row["resource"].clone(), Milli(request))).into_iter().collect();
    let given = ObservedPod {
        phase: parse_phase(phase),
        is_deleting: deleting == "1",
        started_at: Some(number(start)).filter(|age| *age >= 0).map(|age| at(-age)),
        readiness: state.map(|state| Readiness { state, since: at(-number(transition)) }),
        containers: vec![Container { name: "main".to_owned(), requests }],
        ..pod(format!("p{index}"), ReadyState::Ready)
    };
    let (measured_at, window) = (at(-number(age)), TimeDelta::seconds(number(window)));
    let amount = Some(number(amount)).filter(|amount| *amount >= 0).map(Milli);
    (given, amount.map(|amount| PodSample { amount, measured_at, window }))
}

fn parse_phase(text: &str) -> Phase {
    match text {
        "Pending" => Phase::Pending,
        "Running" => Phase::Running,
        "Succeeded" => Phase::Succeeded,
        "Failed" => Phase::Failed,
        other => panic!("unknown phase {other}"),
    }
}
