//! What is counted, under the names of KEDA's webhooks.

use std::collections::BTreeSet;

use prometheus::{Encoder, IntCounterVec, Opts, Registry, TextEncoder};

use crate::finding::{Finding, Severity};

/// What is asked for, as a label.
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
        let validations = add(
            "keda_webhook_scaled_object_validations_total",
            "ScaledObjects that were judged",
            &["namespace", "action"],
        );
        let errors = add(
            "keda_webhook_scaled_object_validation_errors_total",
            "Mistakes for which objects were refused",
            &["namespace", "action", "reason"],
        );
        Self { registry, validations, errors }
    }
}

impl Telemetry {
    /// A ScaledObject is judged.
    pub fn judged(&self, namespace: &str, action: Action) {
        self.validations.with_label_values(&[namespace, action.label()]).inc();
    }

    /// An object is refused: each reason is counted once.
    // KEDA: stops at the first mistake, so that it counts one; and counts ScaledJobs here too.
    pub fn refused(&self, namespace: &str, action: Action, findings: &[Finding]) {
        let errors = findings.iter().filter(|finding| finding.rule.severity == Severity::Error);
        let reasons: BTreeSet<&str> = errors.filter_map(|finding| finding.rule.counted_as).collect();
        for reason in reasons {
            self.errors.with_label_values(&[namespace, action.label(), reason]).inc();
        }
    }

    /// Both in Prometheus' text form.
    pub fn render(&self) -> Vec<u8> {
        let mut text = Vec::new();
        // Writing into memory does not fail.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        text
    }
}
