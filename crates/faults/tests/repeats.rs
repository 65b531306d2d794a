//! What the suite promises of itself.

#![allow(clippy::unwrap_used)]

use kedge_faults::plan::Book;
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
    for number in (0..40_000).step_by(997).chain(400_000..400_010) {
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
