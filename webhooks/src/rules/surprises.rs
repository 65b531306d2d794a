//! What is legal, but does not do what it seems to.

use kedge_api::scaled_object::ScaledObjectSpec;

use crate::finding::{FieldPath, Finding, Rule, Severity};

pub static POLLING_UNUSED: Rule = Rule {
    id: "polling-interval-unused",
    severity: Severity::Warning,
    about: "pollingInterval is set, but the target never sleeps and no trigger caches: it changes no scaling",
    counted_as: None,
};

pub static COOLDOWN_UNUSED: Rule = Rule {
    id: "cooldown-period-unused",
    severity: Severity::Warning,
    about: "cooldownPeriod is set, but the target never sleeps: it has no effect",
    counted_as: None,
};

pub static INITIAL_COOLDOWN_UNUSED: Rule = Rule {
    id: "initial-cooldown-period-unused",
    severity: Severity::Warning,
    about: "initialCooldownPeriod is set, but the target never sleeps: it has no effect",
    counted_as: None,
};

pub static IDLE_ABOVE_ZERO: Rule = Rule {
    id: "idle-above-zero",
    severity: Severity::Warning,
    about: "idleReplicaCount is above 0, and the HPA lifts the target back to minReplicaCount",
    counted_as: None,
};

pub static COOLDOWN_GATES_LAST_STEP: Rule = Rule {
    id: "cooldown-gates-last-step",
    severity: Severity::Advice,
    about: "cooldownPeriod delays only the last step, to zero or idleReplicaCount; the steps above it are the HPA's",
    counted_as: None,
};

pub fn check(spec: &ScaledObjectSpec) -> Vec<Finding> {
    let mut findings = if sleeps(spec) { Vec::new() } else { unused(spec) };
    if let Some(idle) = spec.idle_replica_count.filter(|idle| *idle > 0) {
        let problem =
            format!("idleReplicaCount {idle} does not last: the HPA lifts the target back to minReplicaCount");
        let path = FieldPath::of("spec.idleReplicaCount");
        findings.push(Finding::new(&IDLE_ABOVE_ZERO, path, problem, "use 0, or leave it out"));
    }
    if sleeps(spec) && spec.cooldown_period.is_some() && spec.max_replica_count != Some(1) {
        findings.push(Finding::new(
            &COOLDOWN_GATES_LAST_STEP,
            FieldPath::of("spec.cooldownPeriod"),
            "cooldownPeriod delays only the last step down; the steps above it are taken by the HPA at its own pace",
            "to slow those down, set behavior.scaleDown in spec.advanced.horizontalPodAutoscalerConfig",
        ));
    }
    findings
}

/// Whether there is a step that the operator itself takes.
fn sleeps(spec: &ScaledObjectSpec) -> bool {
    spec.min_replica_count.unwrap_or(0) <= 0 || spec.idle_replica_count.is_some()
}

fn unused(spec: &ScaledObjectSpec) -> Vec<Finding> {
    let caches = spec.triggers.iter().any(|trigger| trigger.use_cached_metrics == Some(true));
    // KEDA: the first two are its own words, and all that it says.
    let polling = (spec.polling_interval.is_some() && !caches).then(|| {
        Finding::new(
            &POLLING_UNUSED,
            FieldPath::of("spec.pollingInterval"),
            "PollingInterval is configured but is not relevant for scaling. It only affects scaling when minReplicaCount = 0, \
             idleReplicaCount is set, or useCachedMetrics is enabled, but it still controls how often KEDA refreshes the \
             ScaledObject status conditions and events",
            "leave it out",
        )
    });
    let cooldown = spec.cooldown_period.is_some().then(|| {
        Finding::new(
            &COOLDOWN_UNUSED,
            FieldPath::of("spec.cooldownPeriod"),
            "CooldownPeriod is configured but is not relevant. CooldownPeriod is only relevant when minReplicaCount = 0 or \
             idleReplicaCount is set",
            "leave it out; to scale in more slowly, set behavior.scaleDown of the HPA",
        )
    });
    let initial = spec.initial_cooldown_period.filter(|seconds| *seconds > 0).map(|_| {
        Finding::new(
            &INITIAL_COOLDOWN_UNUSED,
            FieldPath::of("spec.initialCooldownPeriod"),
            "InitialCooldownPeriod is configured but is not relevant: the target is never scaled to zero or to idleReplicaCount",
            "leave it out, or set minReplicaCount to 0",
        )
    });
    polling.into_iter().chain(cooldown).chain(initial).collect()
}
