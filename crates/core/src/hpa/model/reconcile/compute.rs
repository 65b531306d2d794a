//! Replicas computed from metrics: from the selector to the desired replicas.

use super::draft::Draft;
use super::rescale::{Change, Rescale};
use super::task::{BELOW_MIN, Task};
use super::{Calculation, Observation, ObservedScale, Selection, Step};
use crate::hpa::model::combine::{Combined, Verdict, combine};
use crate::hpa::model::conditions::ConditionUpdate;
use crate::hpa::model::metric::MetricContext;
use crate::hpa::model::normalise::{NormaliseInput, Normalised, behavior, legacy};
use crate::hpa::model::pods::ObservedPod;
use crate::hpa::model::settings::Settings;
use crate::hpa::model::tolerance::Tolerances;

pub(super) fn compute(
    task: Task,
    mut draft: Draft,
    scale: &ObservedScale,
    seen: &Observation<'_>,
    settings: &Settings,
) -> Step {
    if let Some(problem) = check_selection(&scale.selection, seen.pods) {
        draft.warn(problem.event, problem.error.clone());
        draft.show(ConditionUpdate::SelectorUnusable { reason: problem.reason, message: &problem.message });
        draft.keep_desired(scale.current, None);
        return give_up(&task, draft, problem.error);
    }
    let Combined { proposals, statuses, events, verdict } = read_metrics(&task, scale, seen, settings);
    draft.events.extend(events);
    match verdict {
        Verdict::Undecided { first, error } => {
            draft.show(ConditionUpdate::MetricFailed { reason: first.reason.text(), cause: &first.cause });
            draft.keep_desired(scale.current, Some(statuses));
            draft.calculation = Calculation::Undecided { proposals };
            give_up(&task, draft, error)
        }
        Verdict::Decided { replicas, metric, partial_error } => {
            draft.show(ConditionUpdate::MetricFound { name: &metric });
            // HPA: proposals below zero end here; combining the metrics has seen them as they are.
            let raw = replicas.max(0);
            let input = NormaliseInput { raw, current: scale.current, bounds: task.bounds, now: seen.now };
            let normalised = normalise(&task, input, &mut draft, settings);
            draft.calculation = Calculation::Decided { proposals, raw, normalised };
            let (to, reason) = raise_from_zero(&task, input, normalised.desired, reason(input, &metric));
            conclude(task, draft, Change { from: scale.current, to, reason, metrics: Some(statuses), partial_error })
        }
    }
}

/// Why the selector of the target cannot be used.
struct SelectorFailure {
    event: &'static str,
    reason: &'static str,
    message: String,
    error: String,
}

fn check_selection(selection: &Selection, pods: &[ObservedPod]) -> Option<SelectorFailure> {
    match selection {
        Selection::Clear => None,
        Selection::Missing => Some(SelectorFailure {
            event: "SelectorRequired",
            reason: "InvalidSelector",
            message: "the HPA target's scale is missing a selector".to_owned(),
            error: "selector is required".to_owned(),
        }),
        Selection::Unreadable { error } => {
            let error = format!("couldn't convert selector into a corresponding internal selector object: {error}");
            let (event, reason) = ("InvalidSelector", "InvalidSelector");
            Some(SelectorFailure { event, reason, message: error.clone(), error })
        }
        Selection::Shared { .. } if pods.is_empty() => None,
        Selection::Shared { selector, autoscalers } => {
            let autoscalers = autoscalers.join(" ");
            let error = format!("pods by selector {selector} are controlled by multiple HPAs: [{autoscalers}]");
            let (event, reason) = ("AmbiguousSelector", "AmbiguousSelector");
            Some(SelectorFailure { event, reason, message: error.clone(), error })
        }
    }
}

fn read_metrics(task: &Task, scale: &ObservedScale, seen: &Observation<'_>, settings: &Settings) -> Combined {
    let context = MetricContext {
        namespace: &task.namespace,
        current: scale.current,
        reported: scale.reported,
        pods: seen.pods,
        tolerances: Tolerances::from_behavior(task.behavior.as_ref(), settings),
        settings,
        now: seen.now,
    };
    combine(&task.metrics, seen.readings, &context)
}

/// A reconcile that cannot decide records no recommendation.
fn give_up(task: &Task, mut draft: Draft, cause: String) -> Step {
    let what = "failed to compute desired number of replicas based on listed metrics";
    let error = format!("{what} for {}: {cause}", task.reference());
    draft.warn("FailedComputeMetricsReplicas", cause);
    draft.close(Some(error))
}

/// Why the replicas change.
// HPA: fixed before windows, rates and bounds, so it may speak of another direction than the change takes.
fn reason(input: NormaliseInput, metric: &str) -> String {
    match input.raw.cmp(&input.current) {
        std::cmp::Ordering::Greater => format!("{metric} above target"),
        std::cmp::Ordering::Less => "All metrics below target".to_owned(),
        std::cmp::Ordering::Equal => String::new(),
    }
}

fn normalise(task: &Task, input: NormaliseInput, draft: &mut Draft, settings: &Settings) -> Normalised {
    let normalised = match &task.behavior {
        Some(behavior) => behavior::normalise(input, behavior, &mut draft.history),
        None => legacy::normalise(input, settings.downscale_stabilization, &mut draft.history),
    };
    draft.show(ConditionUpdate::Stable(normalised.stability));
    draft.show(ConditionUpdate::Limited(normalised.limit));
    normalised
}

/// A target that the controller has brought to zero is lifted to a minimum that was raised since.
fn raise_from_zero(task: &Task, input: NormaliseInput, desired: i32, reason: String) -> (i32, String) {
    let min = task.bounds.min;
    if input.current != 0 || !task.zero.is_ours || min == 0 || desired >= min {
        return (desired, reason);
    }
    (min, if reason.is_empty() { BELOW_MIN.to_owned() } else { reason })
}

fn conclude(task: Task, mut draft: Draft, change: Change) -> Step {
    if change.to != change.from {
        return Step::Write(Box::new(Rescale::new(task, draft, change)));
    }
    draft.rebuild(change.from, change.from, change.metrics);
    draft.close(change.partial_error)
}
