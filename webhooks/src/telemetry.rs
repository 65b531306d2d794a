//! The counters of the webhooks, under KEDA's names.

use std::collections::BTreeSet;

use prometheus::core::Collector;
use prometheus::{Encoder, IntCounterVec, Opts, Registry, TextEncoder};

use crate::violation::{Severity, Violation};

/// The operation of a request, as a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create,
    Update,
}

impl Action {
    fn label(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
        }
    }
}

/// The counters.
#[derive(Debug)]
pub struct Telemetry {
    registry: Registry,
    validations: IntCounterVec,
    errors: IntCounterVec,
}

impl Default for Telemetry {
    fn default() -> Self {
        let registry = Registry::new();
        let add = |name: &str, help: &str, labels: &[&str]| {
            let counter = IntCounterVec::new(Opts::new(name, help), labels).expect("the name and labels are valid");
            registry.register(Box::new(counter.clone())).expect("each name is registered once");
            counter
        };
        let validations =
            add("keda_webhook_scaled_object_validations_total", "Validated ScaledObjects.", &["namespace", "action"]);
        let errors = add(
            "keda_webhook_scaled_object_validation_errors_total",
            "Reasons for which ScaledObjects were denied.",
            &["namespace", "action", "reason"],
        );
        Self { registry, validations, errors }
    }
}

impl Telemetry {
    /// Every metric, for the reference page.
    pub fn collectors(&self) -> Vec<&dyn Collector> {
        vec![&self.validations, &self.errors]
    }

    /// Counts the validation of a ScaledObject.
    pub fn count_validation(&self, namespace: &str, action: Action) {
        self.validations.with_label_values(&[namespace, action.label()]).inc();
    }

    /// Counts the denial of an object, once for each reason.
    // KEDA: stops at the first violation, so that it counts one reason; ScaledJobs are counted here too.
    pub fn count_denial(&self, namespace: &str, action: Action, violations: &[Violation]) {
        let errors = violations.iter().filter(|violation| violation.rule.severity == Severity::Error);
        let reasons: BTreeSet<&str> = errors.filter_map(|violation| violation.rule.counted_as).collect();
        for reason in reasons {
            self.errors.with_label_values(&[namespace, action.label(), reason]).inc();
        }
    }

    /// All counters in Prometheus' text format.
    pub fn render(&self) -> Vec<u8> {
        let mut text = Vec::new();
        // Writing into memory does not fail.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        text
    }
}
