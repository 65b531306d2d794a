//! A ScaledJob has at no time more Jobs than its maximum, and never more than there were messages.

use kedge_plane::ChangeType;

use super::RunRecord;
use crate::job_workers::is_finished;
use crate::scenario::{Action, Step};

/// As the scenario says it.
const JOBS_MAX: i64 = 5;

pub(super) fn one_for_each_message(record: &RunRecord) -> Vec<String> {
    let (mut running, mut created, mut violations) = (0, 0, Vec::new());
    for change in record.changes.iter().filter(|change| change.resource.plural == "jobs") {
        let was_running = change.before.as_ref().is_some_and(|job| !is_finished(job));
        let is_running = change.change_type != ChangeType::Deleted && !is_finished(&change.after);
        running += i64::from(is_running) - i64::from(was_running);
        if change.before.is_none() {
            created += 1;
            let at = record.since_start(record.instant(change));
            let messages: u32 = record.scenario.steps.iter().map(messages).sum();
            if running > JOBS_MAX || created > messages {
                let at = at.as_secs_f64();
                violations
                    .push(format!("at {at:.1} s {running} Jobs run, {created} were created, for {messages} messages"));
            }
        }
    }
    violations
}

fn messages(step: &Step) -> u32 {
    match step.action {
        Action::AddMessages(_, count) => count,
        _ => 0,
    }
}
