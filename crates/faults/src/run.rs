//! One run: the operator lives through a scenario in which something goes wrong, and is judged.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::chance::Chance;
use crate::fault::Fault;
use crate::journal::{Counts, Journal};
use crate::lab::Lab;
use crate::law::{self, Evidence};
use crate::plan::Plan;
use crate::scenario::Scenario;
use crate::state::State;
use crate::user::User;

/// How long the operator must write nothing before it counts as done.
const QUIET: Duration = Duration::from_secs(90);

/// How much longer than without faults it may take until everything is as it must be: a lost event is made good after ten
/// minutes, and what it led to is another few.
const LONGER: Duration = Duration::from_secs(1200);

/// How long nothing may be written afterwards; now and then for longer.
const SILENCE: Duration = Duration::from_secs(130);
const LONG_SILENCE: Duration = Duration::from_secs(900);

/// A scenario as it goes without faults.
#[derive(Debug)]
pub struct Baseline {
    pub scenario: Scenario,
    pub counts: Counts,
    pub state: State,
    /// What is wrong even so.
    pub violations: Vec<String>,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    pub counts: Counts,
    pub state: State,
    pub violations: Vec<String>,
    /// How much time went by in it.
    pub lasted: Duration,
    pub evidence: Evidence,
}

/// Plays a scenario without faults.
pub fn baseline(scenario: Scenario) -> Baseline {
    let outcome = in_virtual_time(play(&scenario, Vec::new(), Chance::new(0), None));
    Baseline { counts: outcome.counts, state: outcome.state, violations: outcome.violations, scenario }
}

/// Plays a run.
pub fn perturbed(plan: &Plan<'_>) -> Outcome {
    let chance = Chance::new(plan.number);
    in_virtual_time(play(&plan.baseline.scenario, plan.faults.clone(), chance, Some(&plan.baseline.state)))
}

fn in_virtual_time<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without sockets").block_on(future)
}

async fn play(scenario: &Scenario, faults: Vec<Fault>, mut chance: Chance, wanted: Option<&State>) -> Outcome {
    let began_at = Instant::now();
    let silence = if chance.below(16) == 0 { LONG_SILENCE } else { SILENCE };
    let journal = Journal::new(faults.clone(), chance);
    let lab = Lab::new(scenario, journal.clone()).await;
    for fault in &faults {
        if let Fault::Source { question, times, how } = fault {
            lab.sources().break_from(*question, *times, *how);
        }
    }
    let user = Arc::new(User::new(lab.plane().clone(), lab.sources().clone(), scenario.steps.clone()));
    journal.stand_by(user.clone());
    let mut others = JoinSet::new();
    others.spawn(lab.clone().control());
    others.spawn(lab.clone().supervise());
    others.spawn(lab.clone().disturb(faults.clone()));
    user.run().await;
    let mut violations = settle(scenario, &lab, &journal, wanted).await;
    let counts = Counts { questions: lab.sources().asked(), ..journal.counts() };
    let state = State::of(lab.plane());
    if violations.is_empty() {
        let written = journal.counts().writes;
        tokio::time::sleep(silence).await;
        violations.extend(broken_silence(&journal, written));
        let changed = State::of(lab.plane()).difference(&state);
        violations.extend(changed.iter().map(|line| format!("it did not stay so: {line}")));
    }
    violations.extend(lab.broken());
    let evidence = Evidence::gather(scenario, faults, &lab, &journal, began_at);
    violations.extend(law::judge(&evidence));
    others.shutdown().await;
    lab.end();
    Outcome { counts, state, violations, lasted: began_at.elapsed(), evidence }
}

/// Waits until everything is as it must be, and quiet; says what is not in the end.
async fn settle(scenario: &Scenario, lab: &Lab, journal: &Journal, wanted: Option<&State>) -> Vec<String> {
    let Some(wanted) = wanted else {
        tokio::time::sleep(scenario.settles).await;
        return Vec::new();
    };
    let deadline = Instant::now() + scenario.settles + LONGER;
    tokio::time::sleep(scenario.waits).await;
    let (mut written, mut since) = (journal.counts().writes, Instant::now());
    loop {
        tokio::time::sleep(Duration::from_secs(15)).await;
        if journal.counts().writes != written {
            (written, since) = (journal.counts().writes, Instant::now());
        }
        let difference = State::of(lab.plane()).difference(wanted);
        if difference.is_empty() && since.elapsed() >= QUIET {
            return Vec::new();
        }
        if Instant::now() >= deadline {
            let busy = difference.is_empty().then(|| "it goes on writing".to_owned());
            return difference.into_iter().chain(busy).collect();
        }
    }
}

/// What was written although nothing happened.
fn broken_silence(journal: &Journal, written: u32) -> Option<String> {
    let more = journal.counts().writes - written;
    (more > 0).then(|| {
        let writes: Vec<String> =
            journal.entries().into_iter().filter(|entry| entry.is_write()).map(|e| e.line).collect();
        let last = writes.iter().rev().take(3).cloned().collect::<Vec<_>>().join("; ");
        format!("{more} writes although nothing happened any more, the last of them: {last}")
    })
}
