//! Properties of the suite itself, and defects that it found in the operator.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use kedge_faults::fault::{ApiFault, EventFault, Fault};
use kedge_faults::plan::SuitePlan;
use kedge_faults::run::{RunPlan, run_with_faults};
use kedge_faults::scenario;

fn suite_of(names: &[&str]) -> SuitePlan {
    SuitePlan::for_scenarios(scenario::all().into_iter().filter(|scenario| names.contains(&scenario.name)).collect())
}

#[test]
fn no_scenario_violates_an_invariant_without_faults() {
    let suite = SuitePlan::all_scenarios();
    for baseline in suite.baselines() {
        assert_eq!(baseline.violations, Vec::<String>::new(), "{}", baseline.scenario.name);
        assert!(baseline.counts.calls > 0 && baseline.counts.events > 0, "{}", baseline.scenario.name);
    }
}

#[test]
fn a_run_is_reproducible() {
    let suite = SuitePlan::all_scenarios();
    for number in (0..40_000).step_by(1_997).chain(400_000..400_005) {
        let plan = suite.plan(number);
        let (first, second) = (run_with_faults(&plan), run_with_faults(&plan));
        assert_eq!(first.record.lines(), second.record.lines(), "run {number}: {:?}", plan.faults);
        assert_eq!(first.state, second.state, "run {number}: {:?}", plan.faults);
        assert_eq!(first.violations, Vec::<String>::new(), "run {number}: {:?}", plan.faults);
    }
}

#[test]
fn low_run_numbers_have_one_fault_and_high_ones_several() {
    let suite = suite_of(&["create"]);
    assert_eq!(suite.plan(0).faults.len(), 1);
    assert!(suite.plan(u64::try_from(suite.single_faults()).unwrap()).faults.len() > 1);
    let all: std::collections::BTreeSet<String> =
        (0..suite.single_faults() as u64).map(|number| suite.plan(number).faults[0].to_string()).collect();
    assert_eq!(all.len(), suite.single_faults(), "every fault occurs once");
}

/// Repeats a run that once violated an invariant.
fn assert_no_violation(name: &str, number: u64, faults: Vec<Fault>) {
    let suite = suite_of(&[name]);
    let plan = RunPlan { number, baseline: suite.baselines().next().unwrap(), faults };
    assert_eq!(run_with_faults(&plan).violations, Vec::<String>::new(), "{:?}", plan.faults);
}

#[test]
fn a_target_scales_to_zero_also_if_the_clock_of_the_api_server_is_ahead() {
    let late = Fault::Api { call: 1, how: ApiFault::LostResponse };
    let behind = Fault::Clock { at: Duration::from_secs(28), by_seconds: -7200 };
    assert_no_violation("daylight-saving", 19_895, vec![late, behind]);
}

#[test]
fn an_hpa_renamed_during_a_restart_is_the_only_one() {
    let restart = Fault::Kill { at: Duration::from_secs(140), downtime: Duration::from_secs(1) };
    let gone = Fault::Event { number: 13, how: EventFault::Gone };
    let stale = Fault::Stale { call: 27, calls: 1, revisions: 5 };
    assert_no_violation("renamed-hpa", 31_479, vec![restart, gone, stale]);
}

#[test]
fn the_cooldown_counts_from_polls_in_time() {
    let denied = Fault::Forbidden { at: Duration::from_secs(7), lasts: Duration::from_secs(150), resource: "/status" };
    assert_no_violation("idle", 17_451, vec![denied]);
}
