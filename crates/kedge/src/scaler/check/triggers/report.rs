//! What a check found: the triggers of each object, and what would be done.

use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_core::fallback::MetricType;
use kedge_core::milli::Milli;
use kedge_scalers::Known;

use super::super::Severity;

#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) objects: Vec<ObjectReport>,
}

#[derive(Debug)]
pub(super) struct ObjectReport {
    pub(super) kind: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) place: String,
    pub(super) triggers: Vec<TriggerReport>,
    /// Jobs have no HPA.
    pub(super) outlook: Option<Outlook>,
}

#[derive(Debug)]
pub(super) struct TriggerReport {
    pub(super) index: usize,
    pub(super) trigger_type: String,
    pub(super) name: Option<String>,
    /// The value above which it is active, for types that have one.
    pub(super) activation: Option<f64>,
    pub(super) result: TriggerResult,
    /// What may not be intended.
    pub(super) warnings: Vec<String>,
    pub(super) took: Duration,
}

#[derive(Debug)]
pub(super) enum TriggerResult {
    /// The HPA controller reads this resource itself.
    LeftToHpa { resource: &'static str },
    /// Its source was asked for each of its metrics.
    Asked(Vec<MetricReport>),
    /// No source could be asked.
    NotAsked(Vec<Problem>),
}

#[derive(Debug)]
pub(super) struct MetricReport {
    pub(super) name: String,
    pub(super) metric_type: MetricType,
    pub(super) target: Milli,
    pub(super) spec: MetricSpec,
    pub(super) answer: Result<Known, Problem>,
}

/// What is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The parameter, where one is wrong.
    pub(super) field: Option<String>,
    pub(super) problem: String,
    pub(super) remedy: Option<String>,
}

/// What the operator and the HPA controller would do with the values.
#[derive(Debug, PartialEq)]
pub(super) struct Outlook {
    pub(super) replicas: i32,
    /// The value of the formula, or why it has none.
    pub(super) formula: Option<Result<f64, String>>,
    /// What the operator does, and why.
    pub(super) operator: String,
    /// What the HPA controller does next, where it acts.
    pub(super) hpa: Option<HpaStep>,
    /// The triggers that this does not consider: the HPA reads them itself, or they cannot be built.
    pub(super) left_out: Vec<String>,
}

/// One sync of the HPA controller.
#[derive(Debug, PartialEq)]
pub(super) struct HpaStep {
    pub(super) from: i32,
    pub(super) to: i32,
    /// What the metrics ask for, within the bounds of the object, if that can be computed.
    pub(super) needed: Option<i32>,
    pub(super) why: String,
}

impl TriggerReport {
    pub(super) fn label(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
        format!("trigger {} ({}{name})", self.index, self.trigger_type)
    }

    pub(super) fn has_failed(&self) -> bool {
        match &self.result {
            TriggerResult::LeftToHpa { .. } => false,
            TriggerResult::Asked(metrics) => metrics.iter().any(|metric| metric.answer.is_err()),
            TriggerResult::NotAsked(_) => true,
        }
    }

    pub(super) fn metrics(&self) -> &[MetricReport] {
        match &self.result {
            TriggerResult::Asked(metrics) => metrics,
            TriggerResult::LeftToHpa { .. } | TriggerResult::NotAsked(_) => &[],
        }
    }
}

impl Report {
    pub(super) fn triggers(&self) -> impl Iterator<Item = &TriggerReport> {
        self.objects.iter().flat_map(|object| &object.triggers)
    }

    pub(super) fn severity(&self) -> Severity {
        let of = |trigger: &TriggerReport| match (trigger.has_failed(), trigger.warnings.is_empty()) {
            (true, _) => Severity::Error,
            (false, false) => Severity::Warning,
            (false, true) => Severity::None,
        };
        self.triggers().map(of).max().unwrap_or(Severity::None)
    }
}
