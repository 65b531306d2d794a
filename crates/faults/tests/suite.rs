//! What the suite promises of itself, and what it has found in the operator.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use kedge_faults::fault::{ApiFault, EventFault, Fault};
use kedge_faults::plan::{Book, Plan};
use kedge_faults::run::perturbed;
use kedge_faults::scenario;

fn book(names: &[&str]) -> Book {
    Book::of(scenario::all().into_iter().filter(|scenario| names.contains(&scenario.name)).collect())
}

#[test]
fn nothing_is_wrong_without_faults() {
    let book = Book::open();
    for baseline in book.baselines() {
        assert_eq!(baseline.violations, Vec::<String>::new(), "{}", baseline.scenario.name);
        assert!(baseline.counts.calls > 0 && baseline.counts.events > 0, "{}", baseline.scenario.name);
    }
}

#[test]
fn a_run_is_the_same_every_time() {
    let book = Book::open();
    for number in (0..40_000).step_by(1_997).chain(400_000..400_005) {
        let plan = book.plan(number);
        let (first, second) = (perturbed(&plan), perturbed(&plan));
        assert_eq!(first.evidence.lines(), second.evidence.lines(), "run {number}: {:?}", plan.faults);
        assert_eq!(first.state, second.state, "run {number}: {:?}", plan.faults);
        assert_eq!(first.violations, Vec::<String>::new(), "run {number}: {:?}", plan.faults);
    }
}

#[test]
fn low_numbers_have_one_fault_and_high_ones_several() {
    let book = book(&["create"]);
    assert_eq!(book.plan(0).faults.len(), 1);
    assert!(book.plan(u64::try_from(book.singles()).unwrap()).faults.len() > 1);
    let all: std::collections::BTreeSet<String> =
        (0..book.singles() as u64).map(|number| book.plan(number).faults[0].to_string()).collect();
    assert_eq!(all.len(), book.singles(), "no fault comes twice");
}

/// Plays a run as it was when it failed.
fn assert_well(name: &str, number: u64, faults: Vec<Fault>) {
    let book = book(&[name]);
    let plan = Plan { number, baseline: book.baselines().next().unwrap(), faults };
    assert_eq!(perturbed(&plan).violations, Vec::<String>::new(), "{:?}", plan.faults);
}

#[test]
fn a_target_falls_asleep_also_if_the_clock_of_the_api_server_is_ahead() {
    let late = Fault::Api { call: 1, how: ApiFault::LostAnswer };
    let behind = Fault::Clock { at: Duration::from_secs(28), by_seconds: -7200 };
    assert_well("daylight-saving", 19_895, vec![late, behind]);
}

#[test]
fn an_hpa_that_was_renamed_while_nobody_looked_is_the_only_one() {
    let restart = Fault::Kill { at: Duration::from_secs(140), away: Duration::from_secs(1) };
    let gone = Fault::Event { number: 13, how: EventFault::Gone };
    let stale = Fault::Stale { call: 27, calls: 1, revisions: 5 };
    assert_well("renamed-hpa", 31_479, vec![restart, gone, stale]);
}
