//! Valid settings that have no effect, or not the effect that they seem to have.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_core::policy::left_to_hpa;

use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static UNUSED_POLLING_INTERVAL: Rule = Rule {
    id: "unused-polling-interval",
    severity: Severity::Warning,
    about: "pollingInterval has no effect on scaling: the target is never scaled to zero, and no trigger caches metrics",
    counted_as: None,
};

pub static UNUSED_COOLDOWN_PERIOD: Rule = Rule {
    id: "unused-cooldown-period",
    severity: Severity::Warning,
    about: "cooldownPeriod has no effect: the target is never scaled to zero",
    counted_as: None,
};

pub static UNUSED_INITIAL_COOLDOWN_PERIOD: Rule = Rule {
    id: "unused-initial-cooldown-period",
    severity: Severity::Warning,
    about: "initialCooldownPeriod has no effect: the target is never scaled to zero",
    counted_as: None,
};

pub static IDLE_ABOVE_ZERO: Rule = Rule {
    id: "idle-above-zero",
    severity: Severity::Warning,
    about: "idleReplicaCount is above 0, and the HPA scales the target back to minReplicaCount",
    counted_as: None,
};

pub static COOLDOWN_GATES_LAST_STEP: Rule = Rule {
    id: "cooldown-gates-last-step",
    severity: Severity::Advice,
    about: "cooldownPeriod delays only the last step, to zero or idleReplicaCount; the HPA takes the steps above it",
    counted_as: None,
};

pub fn check(spec: &ScaledObjectSpec) -> Vec<Violation> {
    let mut violations = if scales_to_zero(spec) { Vec::new() } else { unused(spec) };
    if let Some(idle) = spec.idle_replica_count.filter(|idle| *idle > 0) {
        let problem =
            format!("idleReplicaCount {idle} does not last: the HPA lifts the target back to minReplicaCount");
        let path = FieldPath::new("spec.idleReplicaCount");
        violations.push(Violation::new(&IDLE_ABOVE_ZERO, path, problem, "use 0, or leave it out"));
    }
    if scales_to_zero(spec) && spec.cooldown_period.is_some() && spec.max_replica_count != Some(1) {
        violations.push(Violation::new(
            &COOLDOWN_GATES_LAST_STEP,
            FieldPath::new("spec.cooldownPeriod"),
            "cooldownPeriod delays only the last step down; the steps above it are taken by the HPA at its own pace",
            "to slow those down, set behavior.scaleDown in spec.advanced.horizontalPodAutoscalerConfig",
        ));
    }
    violations
}

/// Whether the operator itself scales the target: to zero, or to the idle replicas.
fn scales_to_zero(spec: &ScaledObjectSpec) -> bool {
    spec.min_replica_count.unwrap_or(0) <= 0 || spec.idle_replica_count.is_some()
}

fn unused(spec: &ScaledObjectSpec) -> Vec<Violation> {
    // KEDA: the first two messages are its own.
    let polling = (spec.polling_interval.is_some() && left_to_hpa(spec)).then(|| {
        Violation::new(
            &UNUSED_POLLING_INTERVAL,
            FieldPath::new("spec.pollingInterval"),
            "PollingInterval is configured but is not relevant for scaling. It only affects scaling when minReplicaCount = 0, \
             idleReplicaCount is set, or useCachedMetrics is enabled, but it still controls how often KEDA refreshes the \
             ScaledObject status conditions and events",
            "leave it out",
        )
    });
    let cooldown = spec.cooldown_period.is_some().then(|| {
        Violation::new(
            &UNUSED_COOLDOWN_PERIOD,
            FieldPath::new("spec.cooldownPeriod"),
            "CooldownPeriod is configured but is not relevant. CooldownPeriod is only relevant when minReplicaCount = 0 or \
             idleReplicaCount is set",
            "leave it out; to scale in more slowly, set behavior.scaleDown of the HPA",
        )
    });
    let initial = spec.initial_cooldown_period.filter(|seconds| *seconds > 0).map(|_| {
        Violation::new(
            &UNUSED_INITIAL_COOLDOWN_PERIOD,
            FieldPath::new("spec.initialCooldownPeriod"),
            "InitialCooldownPeriod is configured but is not relevant: the target is never scaled to zero or to idleReplicaCount",
            "leave it out, or set minReplicaCount to 0",
        )
    });
    polling.into_iter().chain(cooldown).chain(initial).collect()
}
