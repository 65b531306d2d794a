//! The table of `docs/job-decision.md`, and laws of the strategies.

use std::collections::BTreeSet;

use kedge_api::scaled_job::{MultipleScalersCalculation, RolloutPropagation};
use proptest::prelude::any;
use proptest::strategy::{Just, Strategy as Generator};
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;
use crate::documented_table;
use crate::scaled_job::demand::MetricDemand;
use crate::scaled_job::policy::HistoryLimits;

fn policy(strategy: Strategy, bounds: Bounds) -> JobPolicy {
    JobPolicy {
        bounds,
        strategy,
        combination: MultipleScalersCalculation::Max,
        pending_pod_conditions: BTreeSet::new(),
        history: HistoryLimits { successful: 100, failed: 100 },
        rollout: Some(RolloutPropagation::Background),
        is_paused: false,
    }
}

/// `custom deduction=1 share=0.5`.
fn strategy(cell: &str) -> Strategy {
    let mut words = cell.split_whitespace();
    let name = words.next();
    let values: Vec<(&str, &str)> = words.map(|word| word.split_once('=').unwrap()).collect();
    let value = |key| values.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    match name {
        None => Strategy::Default,
        Some("accurate") => Strategy::Accurate,
        Some("eager") => Strategy::Eager,
        Some("custom") => value("share").unwrap().parse().map_or(Strategy::Default, |running_share| Strategy::Custom {
            deduction: value("deduction").map_or(0, |text| text.parse().unwrap()),
            running_share,
        }),
        Some(other) => panic!("{other}"),
    }
}

/// `20/1`, or `20/1-` for one that is not active.
fn metric(word: &str) -> MetricDemand {
    let (amounts, is_active) = word.strip_suffix('-').map_or((word, true), |amounts| (amounts, false));
    let (queue_length, target) = amounts.split_once('/').unwrap();
    MetricDemand { queue_length: queue_length.parse().unwrap(), target: target.parse().unwrap(), is_active }
}

fn combination(cell: &str) -> MultipleScalersCalculation {
    match cell {
        "" => MultipleScalersCalculation::Max,
        "min" => MultipleScalersCalculation::Min,
        "avg" => MultipleScalersCalculation::Avg,
        "sum" => MultipleScalersCalculation::Sum,
        other => panic!("{other}"),
    }
}

fn words(decision: JobDecision) -> String {
    match decision {
        JobDecision::Create { count, because } => format!("create {count}: {}", because.name()),
        JobDecision::Hold(hold) => format!("hold: {}", hold.name()),
    }
}

#[test]
fn the_documented_table_holds() {
    let page = include_str!("../../../../../docs/job-decision.md");
    let rows = documented_table::rows(page, 9);
    assert!(rows.len() >= 60, "only {} rows", rows.len());
    for row in rows {
        let [case, named, min, max, triggers, combined, running, pending, expected] = row[..] else { unreachable!() };
        let bound = |cell: &str| (!cell.is_empty()).then(|| cell.parse().unwrap());
        let bounds = Bounds::new(bound(min), bound(max));
        let policy = JobPolicy { is_paused: expected == "hold: paused", ..policy(strategy(named), bounds) };
        let metrics: Vec<MetricDemand> = triggers.split_whitespace().map(metric).collect();
        let demand = Demand::combine(&metrics, combination(combined), bounds);
        let number = |cell: &str| cell.parse::<i64>().unwrap_or(0);
        let counts = JobCounts { running: number(running), pending: number(pending) };
        let counts = (running != "?").then_some(counts);
        assert_eq!(words(decide(&policy, &demand, counts)), expected, "{case}");
    }
}

fn any_strategy() -> impl Generator<Value = Strategy> {
    let custom =
        (-50..50i64, -2.0..2.0f64).prop_map(|(deduction, running_share)| Strategy::Custom { deduction, running_share });
    prop_oneof![Just(Strategy::Default), Just(Strategy::Accurate), Just(Strategy::Eager), custom]
}

fn any_bounds() -> impl Generator<Value = Bounds> {
    let bound = || prop_oneof![Just(None), (0..60i32).prop_map(Some)];
    (bound(), bound()).prop_map(|(min, max)| Bounds::new(min, max.map(|max| max.max(1))))
}

fn any_counts() -> impl Generator<Value = JobCounts> {
    (0..300i64, 0..=1000i64).prop_map(|(running, part)| JobCounts { running, pending: running * part / 1000 })
}

/// A demand as triggers of one queue make it.
fn any_demand(bounds: Bounds, queue_length: u32, target: f64) -> Demand {
    let metric = MetricDemand { queue_length: queue_length.into(), target, is_active: queue_length > 0 };
    Demand::combine(&[metric], MultipleScalersCalculation::Max, bounds)
}

fn created(decision: JobDecision) -> i64 {
    match decision {
        JobDecision::Create { count, .. } => count,
        JobDecision::Hold(_) => 0,
    }
}

proptest! {
    #[test]
    fn never_more_than_the_maximum_runs(
        strategy in any_strategy(), bounds in any_bounds(), counts in any_counts(), queue in 0..1000u32, target in 0.1..20.0f64,
    ) {
        let demand = any_demand(bounds, queue, target);
        let decision = decide(&policy(strategy, bounds), &demand, Some(counts));
        if let JobDecision::Create { count, because } = decision {
            prop_assert!(count > 0, "{:?}", decision);
            let custom = matches!(strategy, Strategy::Custom { .. });
            prop_assert!(custom || counts.running + count <= bounds.min + bounds.max, "{:?}", decision);
            prop_assert!(because == Cause::QueueLength || counts.running + count == bounds.min, "{:?}", decision);
        }
    }

    #[test]
    fn one_poll_creates_no_more_jobs_than_the_queue_is_long(
        strategy in any_strategy(), bounds in any_bounds(), counts in any_counts(), queue in 0..1000u32, target in 0.1..20.0f64,
    ) {
        let decision = decide(&policy(strategy, bounds), &any_demand(bounds, queue, target), Some(counts));
        if strategy != Strategy::Eager && !matches!(decision, JobDecision::Create { because: Cause::BelowMinimum, .. }) {
            prop_assert!(created(decision) <= queue.into(), "{:?}", decision);
        }
    }

    #[test]
    fn a_longer_queue_never_means_fewer_jobs(
        strategy in any_strategy(), bounds in any_bounds(), counts in any_counts(),
        queue in 0..1000u32, more in 0..1000u32, target in 0.1..20.0f64,
    ) {
        let policy = policy(strategy, bounds);
        let of = |queue| created(decide(&policy, &any_demand(bounds, queue, target), Some(counts)));
        prop_assert!(of(queue + more) >= of(queue));
    }

    #[test]
    fn the_default_is_done_once_there_is_a_job_for_each_share(
        bounds in any_bounds(), counts in any_counts(), queue in 1..1000u32, target in 1.0..20.0f64,
    ) {
        let (policy, demand) = (policy(Strategy::Default, bounds), any_demand(bounds, queue, target));
        let mut running = counts.running;
        for _ in 0..2 {
            running += created(decide(&policy, &demand, Some(JobCounts { running, ..counts })));
        }
        prop_assert_eq!(created(decide(&policy, &demand, Some(JobCounts { running, ..counts }))), 0);
    }

    #[test]
    fn accurate_creates_for_every_message_that_no_pending_job_will_take(
        counts in any_counts(), queue in 1..1000u32,
    ) {
        let bounds = Bounds { min: 0, max: 10_000 };
        let decision = decide(&policy(Strategy::Accurate, bounds), &any_demand(bounds, queue, 1.0), Some(counts));
        prop_assert_eq!(created(decision), (i64::from(queue) - counts.pending).max(0));
    }

    #[test]
    fn eager_fills_the_slots_that_neither_running_nor_pending_jobs_take(
        bounds in any_bounds(), counts in any_counts(), queue in 1..1000u32,
    ) {
        let demand = any_demand(bounds, queue, 1.0);
        let decision = decide(&policy(Strategy::Eager, bounds), &demand, Some(counts));
        if counts.running >= bounds.min {
            let free = bounds.max - (counts.running - bounds.min) - counts.pending;
            prop_assert_eq!(created(decision), demand.jobs.min(free).max(0));
        }
    }

    #[test]
    fn nothing_is_created_while_paused_or_blind(
        strategy in any_strategy(), bounds in any_bounds(), counts in any_counts(), queue in 0..1000u32, is_paused in any::<bool>(),
    ) {
        let policy = JobPolicy { is_paused, ..policy(strategy, bounds) };
        let counts = is_paused.then_some(counts);
        prop_assert_eq!(created(decide(&policy, &any_demand(bounds, queue, 1.0), counts)), 0);
    }
}
