//! What one metric, and one trigger with all its metrics, contributes to the activity of an object.

use kedge_api::scaled_object::Fallback;

use crate::activity::Contribution;
use crate::fallback::{self, Failures};

/// How the newest query of a metric ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricAnswer {
    Active,
    Inactive,
    Failed,
}

/// Whether a trigger has a scaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerState {
    Built,
    NotBuilt,
}

/// What one metric contributes. A failing source counts as its fallback once its failures exceed the threshold.
pub fn metric_contribution(
    answer: MetricAnswer,
    failures: Failures,
    fallback: Option<&Fallback>,
    current_replicas: Option<i32>,
) -> Contribution {
    match (answer, fallback) {
        (MetricAnswer::Active, _) => Contribution::Active,
        (MetricAnswer::Inactive, _) => Contribution::Inactive,
        (MetricAnswer::Failed, Some(fallback)) if failures.exceed_threshold(fallback) => {
            let replicas = fallback::replicas(fallback, current_replicas);
            replicas.map_or(Contribution::Unknown, |replicas| Contribution::FallenBack { replicas })
        }
        (MetricAnswer::Failed, _) => Contribution::Unknown,
    }
}

/// What a trigger contributes: an active metric counts first, then a fallback that asks for replicas, then a failure.
pub fn trigger_contribution(state: TriggerState, metrics: impl Iterator<Item = Contribution> + Clone) -> Contribution {
    let first = |wanted: fn(&Contribution) -> bool| metrics.clone().find(wanted);
    first(|one| matches!(one, Contribution::Active))
        .or_else(|| first(|one| matches!(one, Contribution::FallenBack { replicas } if *replicas > 0)))
        .or_else(|| first(|one| matches!(one, Contribution::Unknown)))
        .or_else(|| metrics.clone().next())
        .unwrap_or(match state {
            // cpu and memory have no metric that the operator reads.
            TriggerState::Built => Contribution::LeftToHpa,
            TriggerState::NotBuilt => Contribution::Unknown,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Contribution::{Active, FallenBack, Inactive, LeftToHpa, Unknown};

    #[test]
    fn a_metric_contributes_its_answer_or_its_fallback() {
        let fallback = Fallback { failure_threshold: 3, replicas: 6, behavior: None };
        let rows = [
            ("an active metric", MetricAnswer::Active, 0, Some(&fallback), Active),
            ("an inactive metric", MetricAnswer::Inactive, 0, Some(&fallback), Inactive),
            ("at the threshold the fallback does not count yet", MetricAnswer::Failed, 3, Some(&fallback), Unknown),
            ("above it the fallback counts", MetricAnswer::Failed, 4, Some(&fallback), FallenBack { replicas: 6 }),
            ("without a fallback a failure stays unknown", MetricAnswer::Failed, 9, None, Unknown),
        ];
        for (name, answer, failures, fallback, expected) in rows {
            assert_eq!(metric_contribution(answer, Failures(failures), fallback, Some(2)), expected, "{name}");
        }
    }

    #[test]
    fn a_trigger_contributes_the_first_in_precedence() {
        use TriggerState::{Built, NotBuilt};
        let fallen = |replicas| FallenBack { replicas };
        let rows: [(&str, TriggerState, &[Contribution], Contribution); 7] = [
            ("active before everything", Built, &[Inactive, Unknown, Active], Active),
            ("a fallback before a failure", Built, &[Unknown, fallen(2)], fallen(2)),
            ("a failure before a fallback to zero", Built, &[fallen(0), Unknown], Unknown),
            ("a failure before inactive", Built, &[Inactive, Unknown], Unknown),
            ("else the first metric", Built, &[Inactive, fallen(0)], Inactive),
            ("cpu and memory are left to the HPA", Built, &[], LeftToHpa),
            ("a trigger that is not built is unknown", NotBuilt, &[], Unknown),
        ];
        for (name, state, metrics, expected) in rows {
            assert_eq!(trigger_contribution(state, metrics.iter().copied()), expected, "{name}");
        }
    }
}
