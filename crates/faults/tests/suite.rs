//! Properties of the suite itself, and defects that it found in the operator.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use kedge_faults::fault::{ApiFault, Cut, EventFault, Fault, SourceFault};
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

#[test]
fn the_end_of_activity_is_written_by_a_later_poll_if_the_first_write_failed() {
    let not_sent = Fault::Api { call: 16, how: ApiFault::NotSent };
    let slow = Fault::Api { call: 11, how: ApiFault::Slow { seconds: 60 } };
    let restart = Fault::Kill { at: Duration::from_secs(161), downtime: Duration::from_secs(1) };
    assert_no_violation("long-cooldown", 41_898, vec![not_sent, slow, restart]);
}

#[test]
fn an_active_reading_of_the_metrics_api_counts_for_the_cooldown() {
    let lost = Fault::Api { call: 15, how: ApiFault::LostResponse };
    let cut = Fault::Event { number: 35, how: EventFault::Cut };
    let slow = Fault::Api { call: 2, how: ApiFault::Slow { seconds: 60 } };
    assert_no_violation("long-cooldown", 134_718, vec![lost, cut, slow]);
}

#[test]
fn an_active_reading_counts_also_if_the_scalers_are_rebuilt_since() {
    let (at, lasts) = (Duration::from_secs(7), Duration::from_secs(150));
    let denied = Fault::Forbidden { at, lasts, resource: "/horizontalpodautoscalers" };
    let crash = Fault::Crash { after_write: 4, downtime: Duration::from_secs(45) };
    let storm = Fault::Storm { call: 3, calls: 5 };
    assert_no_violation("long-cooldown", 164_502, vec![denied, crash, storm]);
}

#[test]
fn a_crash_right_after_an_activation_leaves_a_cooldown() {
    let crash = Fault::Crash { after_write: 11, downtime: Duration::from_secs(1) };
    assert_no_violation("idle", 124_485, vec![crash, Fault::EarlyStep { call: 28 }]);
}

#[test]
fn a_stale_secret_does_not_replace_a_newer_ca_bundle() {
    for call in [100, 102] {
        let stale = Fault::Stale { call, calls: 1, revisions: 5 };
        assert_no_violation("rotated-certificates", 115_701, vec![stale]);
    }
}

#[test]
fn requests_that_wait_for_the_end_of_a_partition_are_slow() {
    let (at, lasts) = (Duration::from_secs(196), Duration::from_secs(5));
    let waits = Fault::Partition { at, lasts, cut: Cut::Slow };
    let too_large = Fault::Source { query: 21, times: 1, how: SourceFault::TooLarge };
    let crash = Fault::Crash { after_write: 1, downtime: Duration::from_secs(45) };
    assert_no_violation("three-replicas", 182_644, vec![too_large, waits, crash]);
}
