//! Many runs, on all cores.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::plan::Book;
use crate::run::perturbed;

/// A run that broke a law.
#[derive(Clone, Debug)]
pub struct Failure {
    pub number: u64,
    pub scenario: &'static str,
    pub faults: Vec<String>,
    pub violations: Vec<String>,
}

/// What came of many runs.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub runs: u64,
    pub by_scenario: BTreeMap<&'static str, u64>,
    /// The time that went by in the runs.
    pub lived: Duration,
    pub failures: Vec<Failure>,
}

impl Summary {
    fn add(&mut self, other: Summary) {
        self.runs += other.runs;
        self.lived += other.lived;
        self.failures.extend(other.failures);
        for (scenario, runs) in other.by_scenario {
            *self.by_scenario.entry(scenario).or_default() += runs;
        }
    }
}

/// How long runs may go on, and how many at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub threads: usize,
    /// After so many failures the rest is left.
    pub failures_max: usize,
}

/// Plays all runs of a range. `told` hears now and then how far they are.
pub fn play(book: &Book, range: Range<u64>, limits: Limits, told: impl Fn(u64, Duration) + Sync) -> Summary {
    let (next, done) = (AtomicU64::new(range.start), AtomicU64::new(0));
    let (summary, began_at) = (Mutex::new(Summary::default()), Instant::now());
    let failed = AtomicUsize::new(0);
    let work = || {
        let mut own = Summary::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= range.end || failed.load(Ordering::Relaxed) >= limits.failures_max {
                break;
            }
            if one(book, number, &mut own) == Verdict::Failed {
                failed.fetch_add(1, Ordering::Relaxed);
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(1_000) {
                told(done, began_at.elapsed());
            }
        }
        summary.lock().expect("nobody panics holding it").add(own);
    };
    std::thread::scope(|scope| (0..limits.threads).for_each(|_| drop(scope.spawn(work))));
    summary.into_inner().expect("nobody panics holding it")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
}

fn one(book: &Book, number: u64, summary: &mut Summary) -> Verdict {
    let plan = book.plan(number);
    let scenario = plan.baseline.scenario.name;
    let outcome = perturbed(&plan);
    summary.runs += 1;
    summary.lived += outcome.lasted;
    *summary.by_scenario.entry(scenario).or_default() += 1;
    if outcome.violations.is_empty() {
        return Verdict::Passed;
    }
    let faults = plan.faults.iter().map(ToString::to_string).collect();
    summary.failures.push(Failure { number, scenario, faults, violations: outcome.violations });
    Verdict::Failed
}
