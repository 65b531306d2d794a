//! One run: the operator manages the objects of a scenario while faults are injected, and the invariants are checked.

use std::sync::Arc;
use std::time::Duration;

use kedge_core::rng::Rng;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::certificates::is_rotation;
use crate::driver::ScenarioDriver;
use crate::environment::TestEnvironment;
use crate::fault::Fault;
use crate::invariant::{self, RunRecord};
use crate::job_workers;
use crate::request_log::{Counts, LoggedRequest, RequestLog};
use crate::scenario::Scenario;
use crate::state::State;

/// How long the operator must write nothing before a run counts as settled.
const QUIET: Duration = Duration::from_secs(90);

/// How long after the last step faults are still injected.
const FAULTS_FOR: Duration = Duration::from_secs(120);

/// How much longer than its baseline a run may take to settle: a re-list repairs a lost event after ten minutes, and its effects
/// take a few more.
const EXTRA: Duration = Duration::from_secs(1200);

/// How long nothing may be written afterwards; in some runs for longer.
const SILENCE: Duration = Duration::from_secs(130);
const LONG_SILENCE: Duration = Duration::from_secs(900);

/// A scenario without faults.
#[derive(Debug)]
pub struct Baseline {
    pub scenario: Scenario,
    pub counts: Counts,
    pub state: State,
    /// The invariants that are violated even so.
    pub violations: Vec<String>,
}

/// A run: its baseline and the faults to inject.
#[derive(Clone, Debug)]
pub struct RunPlan<'a> {
    pub number: u64,
    pub baseline: &'a Baseline,
    pub faults: Vec<Fault>,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    pub counts: Counts,
    pub state: State,
    pub violations: Vec<String>,
    /// The virtual time that it took.
    pub virtual_time: Duration,
    pub record: RunRecord,
}

/// Runs a scenario without faults.
pub fn baseline(scenario: Scenario) -> Baseline {
    let outcome = in_virtual_time(execute(&scenario, Vec::new(), Rng::from_seed(0), None));
    Baseline { counts: outcome.counts, state: outcome.state, violations: outcome.violations, scenario }
}

/// Executes a run.
pub fn run_with_faults(plan: &RunPlan<'_>) -> Outcome {
    let rng = Rng::from_seed(plan.number);
    in_virtual_time(execute(&plan.baseline.scenario, plan.faults.clone(), rng, Some(&plan.baseline.state)))
}

fn in_virtual_time<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without sockets").block_on(future)
}

async fn execute(scenario: &Scenario, faults: Vec<Fault>, mut rng: Rng, expected: Option<&State>) -> Outcome {
    let started_at = Instant::now();
    let silence = if rng.below(16) == 0 { LONG_SILENCE } else { SILENCE };
    let requests = RequestLog::new(faults.clone(), rng);
    let environment = TestEnvironment::new(scenario, requests.clone()).await;
    for fault in &faults {
        if let Fault::Source { query, times, how } = fault {
            environment.sources().fail_from(*query, *times, *how);
        }
    }
    let driver = Arc::new(ScenarioDriver::new(
        environment.plane().clone(),
        environment.sources().clone(),
        scenario.steps.clone(),
    ));
    requests.set_interference(driver.clone());
    let mut others = JoinSet::new();
    others.spawn(environment.clone().run_controllers());
    others.spawn(environment.clone().restart_ended_processes());
    if let Some(query) = scenario.drained {
        others.spawn(job_workers::run(environment.plane().clone(), environment.sources().clone(), query));
    }
    others.spawn(environment.clone().inject_timed_faults(faults.clone()));
    driver.run().await;
    let count = || Counts { queries: environment.sources().queries(), ..requests.counts() };
    let (counts, mut violations) = match expected {
        Some(expected) => {
            let violations = wait_until_settled(scenario, &environment, &requests, expected).await;
            (count(), violations)
        }
        None => {
            tokio::time::sleep(FAULTS_FOR).await;
            let counts = count();
            tokio::time::sleep(scenario.settles).await;
            (counts, Vec::new())
        }
    };
    let state = State::capture(environment.plane());
    if violations.is_empty() {
        let before = requests.entries().len();
        tokio::time::sleep(silence).await;
        violations.extend(unexpected_writes(&requests.entries()[before..]));
        let changed = State::capture(environment.plane()).difference(&state);
        violations.extend(changed.iter().map(|line| format!("the state changed again: {line}")));
    }
    violations.extend(environment.ended_by_itself());
    let record = RunRecord::collect(scenario, faults, &environment, &requests, started_at);
    violations.extend(invariant::check(&record));
    others.shutdown().await;
    environment.shut_down();
    Outcome { counts, state, violations, virtual_time: started_at.elapsed(), record }
}

/// Waits until the state is that of the baseline and no request is made; returns the differences at the deadline.
async fn wait_until_settled(
    scenario: &Scenario,
    environment: &TestEnvironment,
    requests: &RequestLog,
    expected: &State,
) -> Vec<String> {
    let deadline = Instant::now() + scenario.settles + EXTRA;
    tokio::time::sleep(scenario.waits.max(FAULTS_FOR)).await;
    requests.clear_faults();
    environment.sources().clear_faults();
    loop {
        tokio::time::sleep(Duration::from_secs(15)).await;
        let active_at = environment.sources().failed_at().into_iter().fold(requests.active_at(), Instant::max);
        let difference = State::capture(environment.plane()).difference(expected);
        if difference.is_empty() && active_at.elapsed() >= QUIET && environment.all_running() {
            return Vec::new();
        }
        if Instant::now() >= deadline {
            let busy = difference.is_empty().then(|| "the operator continues to write".to_owned());
            return difference.into_iter().chain(busy).collect();
        }
    }
}

/// Writes without a cause. Certificates are rotated whatever else happens.
fn unexpected_writes(entries: &[LoggedRequest]) -> Option<String> {
    let writes: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.is_write() && !is_rotation(entry))
        .map(|entry| entry.line.as_str())
        .collect();
    let last = writes.iter().rev().take(3).copied().collect::<Vec<_>>().join("; ");
    (!writes.is_empty()).then(|| format!("{} writes without a cause, the last of them: {last}", writes.len()))
}
