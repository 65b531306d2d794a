//! Runs the steps of a test command. Every step runs, whatever fails before it, unless a step that it needs has failed.
//!
//! Steps of the front lane run one after another, and their output is streamed. Steps of the back lane run beside them at a low
//! priority: they use the processor time that the front lane leaves while it waits. Their output is printed when they end.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::command::Output;

/// The work of a step: `Ok` when it passed.
type Work<'a> = Box<dyn Fn(&Output) -> anyhow::Result<()> + Send + Sync + 'a>;

/// One step of the test command.
pub(super) struct Step<'a> {
    pub(super) name: &'static str,
    pub(super) lane: Lane,
    /// Earlier steps that must have passed.
    pub(super) needs: Vec<&'static str>,
    /// The command that repeats the step alone.
    pub(super) repeat: String,
    pub(super) work: Work<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Front,
    Back,
}

/// The result of a step, for the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StepResult {
    pub(super) name: &'static str,
    pub(super) lane: Lane,
    pub(super) repeat: String,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed(Duration),
    Failed(Duration, String),
    /// Why the step was not run.
    NotRun(String),
}

/// The outcomes so far, which both lanes write and wait for.
#[derive(Default)]
struct Outcomes {
    by_name: Mutex<BTreeMap<&'static str, Outcome>>,
    changed: Condvar,
}

/// Runs all steps and returns their results in the order of the plan.
pub(super) fn run_all(steps: &[Step<'_>]) -> Vec<StepResult> {
    check_order(steps);
    let outcomes = Outcomes::default();
    let lane =
        |lane: Lane| steps.iter().filter(move |step| step.lane == lane).for_each(|step| run_step(step, &outcomes));
    thread::scope(|scope| {
        scope.spawn(|| lane(Lane::Back));
        lane(Lane::Front);
    });
    let by_name = outcomes.lock();
    let result = |step: &Step<'_>| StepResult {
        name: step.name,
        lane: step.lane,
        repeat: step.repeat.clone(),
        outcome: by_name[step.name].clone(),
    };
    steps.iter().map(result).collect()
}

/// A step that needed a later one would wait for ever.
fn check_order(steps: &[Step<'_>]) {
    for (index, step) in steps.iter().enumerate() {
        let is_earlier = |needed: &&str| steps[..index].iter().any(|earlier| earlier.name == *needed);
        assert!(step.needs.iter().all(is_earlier), "`{}` needs a step that is not listed before it", step.name);
    }
}

fn run_step(step: &Step<'_>, outcomes: &Outcomes) {
    let missing: Vec<&str> = step.needs.iter().copied().filter(|needed| !outcomes.wait_for(needed)).collect();
    let outcome =
        if missing.is_empty() { run_work(step) } else { Outcome::NotRun(format!("`{}` failed", missing.join("`, `"))) };
    if let Outcome::NotRun(why) = &outcome {
        println!("== {}: not run: {why}", step.name);
    }
    outcomes.record(step.name, outcome);
}

fn run_work(step: &Step<'_>) -> Outcome {
    let output = match step.lane {
        Lane::Front => Output::Streamed,
        Lane::Back => Output::Kept(Mutex::default()),
    };
    println!("== {}{}", step.name, if step.lane == Lane::Back { " (in the background)" } else { "" });
    let started = Instant::now();
    let result = (step.work)(&output);
    let took = started.elapsed();
    if let Output::Kept(text) = output {
        let text = text.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        println!("== output of the background step `{}`\n{text}== end of `{}`", step.name, step.name);
    }
    match result {
        Ok(()) => Outcome::Passed(took),
        Err(error) => {
            println!("== {} FAILED: {error:#}", step.name);
            Outcome::Failed(took, format!("{error:#}"))
        }
    }
}

impl Outcomes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Outcome>> {
        self.by_name.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn record(&self, name: &'static str, outcome: Outcome) {
        self.lock().insert(name, outcome);
        self.changed.notify_all();
    }

    /// Waits until a step is over; returns whether it passed.
    fn wait_for(&self, name: &str) -> bool {
        let waiting = self.changed.wait_while(self.lock(), |by_name| !by_name.contains_key(name));
        let by_name = waiting.unwrap_or_else(|poisoned| poisoned.into_inner());
        matches!(by_name[name], Outcome::Passed(_))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    fn step<'a>(name: &'static str, lane: Lane, needs: &[&'static str], work: Work<'a>) -> Step<'a> {
        Step { name, lane, needs: needs.to_vec(), repeat: format!("repeat {name}"), work }
    }

    /// The outcomes in one word each.
    fn words(results: &[StepResult]) -> Vec<(&'static str, String)> {
        let word = |outcome: &Outcome| match outcome {
            Outcome::Passed(_) => "passed".to_owned(),
            Outcome::Failed(_, error) => format!("failed: {error}"),
            Outcome::NotRun(why) => format!("not run: {why}"),
        };
        results.iter().map(|result| (result.name, word(&result.outcome))).collect()
    }

    #[test]
    fn a_failing_step_stops_only_the_steps_that_need_it() {
        let steps = [
            step("build", Lane::Front, &[], Box::new(|_| Ok(()))),
            step("unit", Lane::Front, &["build"], Box::new(|_| bail!("exit status 101"))),
            step("tools", Lane::Front, &[], Box::new(|_| bail!("no Go"))),
            step("cluster", Lane::Front, &["build", "tools"], Box::new(|_| Ok(()))),
            step("parity", Lane::Front, &["cluster"], Box::new(|_| Ok(()))),
            step("golden", Lane::Front, &["build"], Box::new(|_| Ok(()))),
        ];
        let expected = [
            ("build", "passed"),
            ("unit", "failed: exit status 101"),
            ("tools", "failed: no Go"),
            ("cluster", "not run: `tools` failed"),
            ("parity", "not run: `cluster` failed"),
            ("golden", "passed"),
        ];
        assert_eq!(words(&run_all(&steps)), expected.map(|(name, word)| (name, word.to_owned())));
    }

    #[test]
    fn a_background_step_waits_for_the_steps_that_it_needs_and_not_for_others() {
        let (to_front, from_back) = std::sync::mpsc::channel();
        let from_back = Mutex::new(from_back);
        // Passes only while the background step runs beside it.
        let wait_for_back = |_: &Output| -> anyhow::Result<()> {
            let received = from_back.lock().unwrap().recv()?;
            anyhow::ensure!(received == "faults ran");
            Ok(())
        };
        let steps = [
            step("build", Lane::Front, &[], Box::new(|_| Ok(()))),
            step("faults", Lane::Back, &["build"], Box::new(move |_| Ok(to_front.send("faults ran")?))),
            step("cluster", Lane::Front, &["build"], Box::new(wait_for_back)),
        ];
        assert_eq!(words(&run_all(&steps)).iter().filter(|(_, word)| word == "passed").count(), 3);
    }

    #[test]
    #[should_panic(expected = "`unit` needs a step that is not listed before it")]
    fn a_step_cannot_need_a_later_one() {
        run_all(&[step("unit", Lane::Front, &["build"], Box::new(|_| Ok(())))]);
    }
}
