//! Many runs, on all cores, with their progress reported.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::plan::SuitePlan;
use crate::run::run_with_faults;

/// A run that violated an invariant.
#[derive(Clone, Debug)]
pub struct Failure {
    pub number: u64,
    pub scenario: &'static str,
    pub faults: Vec<String>,
    pub violations: Vec<String>,
}

/// The results of many runs.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub runs: u64,
    pub by_scenario: BTreeMap<&'static str, u64>,
    /// The virtual time of all runs.
    pub virtual_time: Duration,
    pub failures: Vec<Failure>,
}

impl Summary {
    fn add(&mut self, other: Summary) {
        self.runs += other.runs;
        self.virtual_time += other.virtual_time;
        self.failures.extend(other.failures);
        for (scenario, runs) in other.by_scenario {
            *self.by_scenario.entry(scenario).or_default() += runs;
        }
    }
}

/// The limits of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub threads: usize,
    /// Stops after this many failures.
    pub failures_max: usize,
    /// Starts no run after this time.
    pub until: Option<Instant>,
}

impl Limits {
    fn is_time_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Executes all runs of a range, and reports progress every thousand runs.
pub fn run_batch(
    suite: &SuitePlan,
    range: Range<u64>,
    limits: Limits,
    on_progress: impl Fn(u64, Duration) + Sync,
) -> Summary {
    let (next, done) = (AtomicU64::new(range.start), AtomicU64::new(0));
    let (summary, started_at) = (Mutex::new(Summary::default()), Instant::now());
    let failed = AtomicUsize::new(0);
    let work = || {
        let mut own = Summary::default();
        loop {
            if limits.is_time_over() || failed.load(Ordering::Relaxed) >= limits.failures_max {
                break;
            }
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= range.end {
                break;
            }
            if run_one(suite, number, &mut own) == Verdict::Failed {
                failed.fetch_add(1, Ordering::Relaxed);
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(1_000) {
                on_progress(done, started_at.elapsed());
            }
        }
        summary.lock().expect("no holder panics").add(own);
    };
    std::thread::scope(|scope| (0..limits.threads).for_each(|_| drop(scope.spawn(work))));
    summary.into_inner().expect("no holder panics")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
}

fn run_one(suite: &SuitePlan, number: u64, summary: &mut Summary) -> Verdict {
    let plan = suite.plan(number);
    let scenario = plan.baseline.scenario.name;
    let outcome = run_with_faults(&plan);
    summary.runs += 1;
    summary.virtual_time += outcome.virtual_time;
    *summary.by_scenario.entry(scenario).or_default() += 1;
    if outcome.violations.is_empty() {
        return Verdict::Passed;
    }
    let faults = plan.faults.iter().map(ToString::to_string).collect();
    summary.failures.push(Failure { number, scenario, faults, violations: outcome.violations });
    Verdict::Failed
}
