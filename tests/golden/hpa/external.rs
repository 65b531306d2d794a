//! Proposals of External and Object metrics.

use kedge_core::hpa::model::external::{
    Origin, Proposal, propose_by_average, propose_by_value, sum_for_average, sum_for_value,
};
use kedge_core::hpa::model::pods::{PodsError, ReadyState};
use kedge_core::hpa::model::tolerance::Tolerances;
use kedge_core::milli::Milli;
use kedge_tests::{csv, files};

use super::{Differences, Row, parse_column, pod, result_text};

#[test]
fn external_and_object_metrics_propose_what_the_controller_proposes() {
    let rows = csv::rows(&files::golden("hpa-external-golden.csv"));
    let mut differences = Differences(Vec::new());
    for row in &rows {
        let proposal = propose(row);
        let modelled = [
            result_text(proposal.as_ref().ok().map(|proposal| proposal.replicas)),
            result_text(proposal.as_ref().ok().map(|proposal| proposal.reported.0)),
            result_text(proposal.as_ref().err()),
        ];
        let recorded = ["proposed_replicas", "reported_usage_milli", "error"].map(|column| row[column].clone());
        differences.compare(&row["id"], &recorded, &modelled);
    }
    differences.assert_none(rows.len(), 10);
}

fn propose(row: &Row) -> Result<Proposal, PodsError> {
    let series: Vec<Milli> = row["metric_values_milli"]
        .split(';')
        .filter(|text| !text.is_empty())
        .map(|text| Milli(text.parse().unwrap()))
        .collect();
    let object = series.first().copied().unwrap_or(Milli(0));
    let target = Milli(parse_column(row, "target_milli"));
    let tolerances = Tolerances { down: parse_column(row, "tolerance_down"), up: parse_column(row, "tolerance_up") };
    let (current, reported) = (parse_column(row, "spec_replicas"), parse_column(row, "status_replicas"));
    let average = |value, origin| Ok(propose_by_average(value, target, reported, tolerances, origin));
    let by_value = |value| propose_by_value(value, target, current, &pods(row), tolerances);
    match row["source"].as_str() {
        "external_value" => by_value(sum_for_value(&series)),
        "external_average" => average(sum_for_average(&series), Origin::External),
        "object_value" => by_value(object),
        "object_average" => average(object, Origin::Object),
        other => panic!("unknown source {other}"),
    }
}

fn pods(row: &Row) -> Vec<kedge_core::hpa::model::pods::ObservedPod> {
    let ready = (0..parse_column::<usize>(row, "ready_pods")).map(|index| pod(format!("r{index}"), ReadyState::Ready));
    let unready =
        (0..parse_column::<usize>(row, "unready_pods")).map(|index| pod(format!("u{index}"), ReadyState::Unready));
    ready.chain(unready).collect()
}
