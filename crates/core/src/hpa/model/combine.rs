//! All entries of `spec.metrics` together: the largest proposal wins, and one that failed forbids to scale down.

use k8s_openapi::api::autoscaling::v2::{MetricSpec, MetricStatus};

use super::events::Event;
use super::metric::{MetricContext, MetricFailure, MetricProposal, MetricReading, propose};

/// The combined proposal of the metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Combined {
    /// The proposal of each entry, in their order; none where it failed.
    pub proposals: Vec<Option<i32>>,
    /// The status of each entry, in their order; an empty one where it failed.
    pub statuses: Vec<MetricStatus>,
    /// One for each failure.
    pub events: Vec<Event>,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Decided {
        /// Negative proposals occur.
        replicas: i32,
        /// The name of the metric that decided.
        metric: String,
        /// What is wrong with the others, where something is.
        partial_error: Option<String>,
    },
    Undecided {
        first: MetricFailure,
        error: String,
    },
}

/// Combines the entries, with what was read of each.
pub fn combine(metrics: &[MetricSpec], readings: &[MetricReading], context: &MetricContext<'_>) -> Combined {
    let answers = metrics.iter().enumerate().map(|(index, spec)| propose(spec, readings.get(index), context));
    let answers: Vec<_> = answers.collect();
    let failures = || answers.iter().filter_map(|answer| answer.as_ref().err());
    let warning = |failure: &MetricFailure| Event::warning(failure.reason.text(), failure.cause.clone());
    Combined {
        proposals: answers.iter().map(|answer| Some(answer.as_ref().ok()?.replicas)).collect(),
        statuses: answers.iter().map(status_of).collect(),
        events: failures().map(warning).collect(),
        verdict: decide(&answers, context.current),
    }
}

fn status_of(answer: &Result<MetricProposal, MetricFailure>) -> MetricStatus {
    answer.as_ref().map_or_else(|_| MetricStatus::default(), |proposal| proposal.status.clone())
}

fn decide(answers: &[Result<MetricProposal, MetricFailure>], current: i32) -> Verdict {
    let (mut replicas, mut metric) = (0, String::new());
    for proposal in answers.iter().flatten() {
        // HPA: the first of equals decides, but among zeros the last one.
        if replicas == 0 || proposal.replicas > replicas {
            (replicas, metric) = (proposal.replicas, proposal.name.clone());
        }
    }
    let failed: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    let Some(first) = failed.first() else { return Verdict::Decided { replicas, metric, partial_error: None } };
    let counts = format!("{} invalid out of {}", failed.len(), answers.len());
    let error = format!("invalid metrics ({counts}), first error is: {}", first.error);
    // HPA: compared before windows and bounds, which might have kept the current replicas anyway.
    if failed.len() == answers.len() || replicas < current {
        Verdict::Undecided { first: (*first).clone(), error }
    } else {
        Verdict::Decided { replicas, metric, partial_error: Some(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpa::model::metric::FailureReason;

    fn proposes(replicas: i32, name: &str) -> Result<MetricProposal, MetricFailure> {
        Ok(MetricProposal { replicas, name: name.to_owned(), status: MetricStatus::default() })
    }

    fn fails() -> Result<MetricProposal, MetricFailure> {
        Err(MetricFailure { reason: FailureReason::External, cause: "c".to_owned(), error: "e".to_owned() })
    }

    #[test]
    fn the_largest_proposal_decides_unless_a_failure_forbids_it() {
        let rows = [
            ("the largest wins", vec![proposes(3, "a"), proposes(5, "b")], Some((5, "b"))),
            ("the first of equals wins", vec![proposes(5, "a"), proposes(5, "b")], Some((5, "a"))),
            ("the last of zeros wins", vec![proposes(0, "a"), proposes(0, "b")], Some((0, "b"))),
            ("a failure does not stop a scale-up", vec![fails(), proposes(5, "b")], Some((5, "b"))),
            ("nor staying", vec![proposes(3, "a"), fails()], Some((3, "a"))),
            ("but a scale-down", vec![fails(), proposes(2, "b")], None),
            ("nothing is left when all fail", vec![fails(), fails()], None),
        ];
        for (name, answers, expected) in rows {
            let decided = match decide(&answers, 3) {
                Verdict::Decided { replicas, metric, .. } => Some((replicas, metric)),
                Verdict::Undecided { .. } => None,
            };
            assert_eq!(decided, expected.map(|(replicas, metric)| (replicas, metric.to_owned())), "{name}");
        }
    }
}
