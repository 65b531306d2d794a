//! Consecutive syncs, each with the history and the status that the ones before have left.

use chrono::TimeDelta;
use k8s_openapi::api::autoscaling::v2::{
    ExternalMetricSource, HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerBehavior,
    HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus, MetricIdentifier, MetricSpec, MetricTarget,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kedge_core::hpa::model::history::ScalingHistory;
use kedge_core::hpa::model::metric::MetricReading;
use kedge_core::hpa::model::reconcile::{
    Calculation, HpaSnapshot, Observation, ObservedScale, Outcome, Selection, reconcile,
};
use kedge_core::hpa::model::settings::{Gate, Gates, Settings};
use kedge_core::milli::Milli;
use kedge_tests::{csv, files};

use super::{Differences, Row, at, parse_column};

const OUTPUTS: [&str; 10] = [
    "stabilized",
    "desired_replicas",
    "rescaled",
    "able_to_scale_reason",
    "scaling_active",
    "scaling_active_reason",
    "scaling_limited",
    "scaling_limited_reason",
    "scaled_to_zero",
    "rescale_event",
];

#[test]
fn timelines_run_as_the_controller_ran_them() {
    let rows = csv::rows(&files::golden("hpa-behavior-golden.csv"));
    let mut differences = Differences(Vec::new());
    let mut history = ScalingHistory::default();
    let mut status = HorizontalPodAutoscalerStatus::default();
    let mut scenario = "";
    for row in &rows {
        if scenario != row["scenario"] {
            (scenario, history, status) =
                (&row["scenario"], ScalingHistory::default(), HorizontalPodAutoscalerStatus::default());
        }
        if row["controller_restart"] == "true" {
            history = ScalingHistory::default();
        }
        let outcome = sync(row, &status, history);
        let recorded = OUTPUTS.map(|column| row[column].clone());
        differences.compare(&format!("{scenario} {}", row["tick"]), &recorded, &describe(row, &outcome));
        (history, status) = (outcome.history, outcome.status);
    }
    differences.assert_none(rows.len(), 10);
}

fn sync(row: &Row, status: &HorizontalPodAutoscalerStatus, history: ScalingHistory) -> Outcome {
    let gate = if row["scale_to_zero_gate"] == "true" { Gate::On } else { Gate::Off };
    let settings = Settings {
        downscale_stabilization: TimeDelta::seconds(parse_column(row, "controller_down_window_s")),
        tolerance: 0.0,
        gates: Gates { scale_to_zero: gate, ..Gates::default() },
        ..Settings::default()
    };
    // The metric has a target of one per replica and no tolerance: it proposes what it measures.
    let series = match row["raw_proposal"].as_str() {
        "ERR" => Err("no answer".to_owned()),
        raw => Ok(vec![Milli(raw.parse::<i64>().unwrap() * 1000)]),
    };
    let current = parse_column(row, "current_replicas");
    let seen = Observation {
        now: at(0) + TimeDelta::milliseconds(parse_column(row, "t_ms")),
        scale: Ok(ObservedScale { current, reported: current, selection: Selection::Clear }),
        readings: &[MetricReading::Series(series)],
        pods: &[],
    };
    reconcile(HpaSnapshot { namespace: "ns", spec: &spec(row), status }, &seen, history, &settings).assume_written()
}

fn spec(row: &Row) -> HorizontalPodAutoscalerSpec {
    let average_value = Some(Quantity("1".to_owned()));
    let target = MetricTarget { type_: "AverageValue".to_owned(), average_value, ..MetricTarget::default() };
    let external = ExternalMetricSource { metric: MetricIdentifier { name: "m".to_owned(), selector: None }, target };
    let metric = MetricSpec { type_: "External".to_owned(), external: Some(external), ..MetricSpec::default() };
    let behavior = HorizontalPodAutoscalerBehavior { scale_up: rules(row, "up"), scale_down: rules(row, "down") };
    HorizontalPodAutoscalerSpec {
        min_replicas: Some(parse_column(row, "min")),
        max_replicas: parse_column(row, "max"),
        metrics: Some(vec![metric]),
        behavior: Some(behavior).filter(|_| row["mode"] == "behavior"),
        ..HorizontalPodAutoscalerSpec::default()
    }
}

fn rules(row: &Row, direction: &str) -> Option<HPAScalingRules> {
    let column = |name: &str| Some(&row[&format!("{direction}_{name}")]).filter(|text| !text.is_empty());
    let policy = |text: &str| {
        let [type_, value, period] = <[&str; 3]>::try_from(text.split(':').collect::<Vec<_>>()).unwrap();
        let (value, period_seconds) = (value.parse().unwrap(), period.parse().unwrap());
        HPAScalingPolicy { type_: type_.to_owned(), value, period_seconds }
    };
    Some(HPAScalingRules {
        stabilization_window_seconds: column("window_s").map(|text| text.parse().unwrap()),
        select_policy: column("select").cloned(),
        policies: column("policies").map(|text| text.split('|').map(policy).collect()),
        tolerance: None,
    })
}

fn describe(row: &Row, outcome: &Outcome) -> [String; 10] {
    let condition = |type_: &str| {
        let known = outcome.status.conditions.iter().flatten().find(|condition| condition.type_ == type_).cloned();
        known.map(|known| (known.status, known.reason.unwrap())).unwrap_or_default()
    };
    let stabilised = match &outcome.calculation {
        Calculation::Decided { normalised, .. } => normalised.stabilised.to_string(),
        Calculation::None | Calculation::Undecided { .. } => String::new(),
    };
    let (active, active_reason) = condition("ScalingActive");
    let (limited, limited_reason) = condition("ScalingLimited");
    let event = outcome.events.iter().find(|event| event.reason == "SuccessfulRescale");
    [
        stabilised,
        outcome.rescaled_to.map_or_else(|| row["current_replicas"].clone(), |replicas| replicas.to_string()),
        outcome.rescaled_to.is_some().to_string(),
        condition("AbleToScale").1,
        active,
        active_reason,
        limited,
        limited_reason,
        condition("ScaledToZero").0,
        event.map(|event| event.message.clone()).unwrap_or_default(),
    ]
}
