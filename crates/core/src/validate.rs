//! Validation of a ScaledObject by itself. Every error is reported, not only the first.

use std::collections::BTreeSet;

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_api::trigger::Trigger;

use crate::formula::settings;
use crate::policy::MAX_REPLICAS_DEFAULT;
use crate::trigger_class::{ClassOf, TriggerClass};

/// Something that a user must change before the object can work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("ScaledObject.spec.scaleTargetRef.name is missing")]
    NoTarget,
    #[error("MinReplicaCount={min} must be less than MaxReplicaCount={max}")]
    MinAboveMax { min: i32, max: i32 },
    #[error("IdleReplicaCount={idle} must be less than MinReplicaCount={min}")]
    IdleNotBelowMin { idle: i32, min: i32 },
    #[error("no triggers defined in the ScaledObject/ScaledJob")]
    NoTriggers,
    #[error("property \"useCachedMetrics\" is not supported for \"{trigger_type}\" scaler")]
    CannotCache { index: usize, trigger_type: String },
    #[error("triggerName \"{name}\" is defined multiple times in the ScaledObject/ScaledJob, but it must be unique")]
    DuplicateName { index: usize, name: String },
    #[error(transparent)]
    Modifiers(settings::ModifiersError),
}

/// The step that found an error; its message begins the message of the Ready condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationStep {
    Target,
    Bounds,
    Triggers,
    Modifiers,
}

impl SpecError {
    pub fn step(&self) -> ValidationStep {
        match self {
            Self::NoTarget => ValidationStep::Target,
            Self::MinAboveMax { .. } | Self::IdleNotBelowMin { .. } => ValidationStep::Bounds,
            Self::NoTriggers | Self::CannotCache { .. } | Self::DuplicateName { .. } => ValidationStep::Triggers,
            Self::Modifiers(_) => ValidationStep::Modifiers,
        }
    }
}

impl ValidationStep {
    /// KEDA: the message of a failing step.
    pub fn message(self) -> &'static str {
        match self {
            Self::Target => "ScaledObject doesn't have correct scaleTargetRef specification",
            Self::Bounds => "ScaledObject doesn't have correct Idle/Min/Max Replica Counts specification",
            Self::Triggers => "ScaledObject doesn't have correct triggers specification",
            // KEDA: a formula is parsed when the HPA is created.
            Self::Modifiers => "failed to ensure HPA is correctly created for ScaledObject",
        }
    }
}

/// Every error of a spec, in the order of KEDA's checks.
pub fn validate(spec: &ScaledObjectSpec, class_of: ClassOf) -> Vec<SpecError> {
    let mut errors = Vec::new();
    if spec.scale_target_ref.name.is_empty() {
        errors.push(SpecError::NoTarget);
    }
    errors.extend(validate_bounds(spec));
    errors.extend(validate_triggers(&spec.triggers, class_of));
    errors.extend(settings::parse(spec, class_of).err().unwrap_or_default().into_iter().map(SpecError::Modifiers));
    errors
}

/// The errors of the replica counts.
pub fn validate_bounds(spec: &ScaledObjectSpec) -> Vec<SpecError> {
    let mut errors = Vec::new();
    // KEDA: an explicit 0 counts as 1 here, and an absent minimum as 0.
    let min = spec.min_replica_count.map_or(0, |min| if min > 0 { min } else { 1 });
    let max = spec.max_replica_count.unwrap_or(MAX_REPLICAS_DEFAULT);
    if min > max {
        errors.push(SpecError::MinAboveMax { min, max });
    }
    if let Some(idle) = spec.idle_replica_count.filter(|idle| *idle >= min) {
        errors.push(SpecError::IdleNotBelowMin { idle, min });
    }
    errors
}

/// The errors of the triggers as a list.
pub fn validate_triggers(triggers: &[Trigger], class_of: ClassOf) -> Vec<SpecError> {
    let mut errors = Vec::new();
    if triggers.is_empty() {
        errors.push(SpecError::NoTriggers);
    }
    let mut names = BTreeSet::new();
    for (index, trigger) in triggers.iter().enumerate() {
        let can_cache = class_of(&trigger.r#type).is_none_or(TriggerClass::allows_cached_metrics);
        if trigger.use_cached_metrics == Some(true) && !can_cache {
            errors.push(SpecError::CannotCache { index, trigger_type: trigger.r#type.clone() });
        }
        if let Some(name) = trigger.name.as_ref().filter(|name| !name.is_empty())
            && !names.insert(name)
        {
            errors.push(SpecError::DuplicateName { index, name: name.clone() });
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger_class::sample_class_of;

    fn spec(min: Option<i32>, max: Option<i32>, idle: Option<i32>) -> ScaledObjectSpec {
        serde_json::from_value(serde_json::json!({
            "scaleTargetRef": { "name": "web" },
            "minReplicaCount": min, "maxReplicaCount": max, "idleReplicaCount": idle,
            "triggers": [{ "type": "cron", "metadata": {} }],
        }))
        .unwrap()
    }

    #[test]
    fn replica_counts_are_validated_as_keda_does() {
        let above = |min, max| vec![SpecError::MinAboveMax { min, max }];
        let idle = |idle, min| vec![SpecError::IdleNotBelowMin { idle, min }];
        let rows = [
            ("nothing given", None, None, None, vec![]),
            ("equal bounds", Some(5), Some(5), None, vec![]),
            ("minimum above maximum", Some(6), Some(5), None, above(6, 5)),
            ("minimum above the default maximum", Some(101), None, None, above(101, 100)),
            ("idle below minimum", Some(3), None, Some(2), vec![]),
            ("idle at minimum", Some(3), None, Some(3), idle(3, 3)),
            ("idle without a minimum", None, None, Some(0), idle(0, 0)),
            ("idle with an explicit minimum of zero", Some(0), None, Some(0), vec![]),
        ];
        for (name, min, max, idle, expected) in rows {
            assert_eq!(validate(&spec(min, max, idle), sample_class_of), expected, "{name}");
        }
    }

    #[test]
    fn every_error_is_reported_at_once() {
        let spec: ScaledObjectSpec = serde_json::from_value(serde_json::json!({
            "scaleTargetRef": { "name": "" },
            "minReplicaCount": 9, "maxReplicaCount": 3,
            "advanced": { "scalingModifiers": { "target": "2" } },
            "triggers": [
                { "type": "cron", "name": "a", "metadata": {}, "useCachedMetrics": true },
                { "type": "prometheus", "name": "a", "metadata": {} },
            ],
        }))
        .unwrap();
        let texts: Vec<String> = validate(&spec, sample_class_of).iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "ScaledObject.spec.scaleTargetRef.name is missing",
                "MinReplicaCount=9 must be less than MaxReplicaCount=3",
                "property \"useCachedMetrics\" is not supported for \"cron\" scaler",
                "triggerName \"a\" is defined multiple times in the ScaledObject/ScaledJob, but it must be unique",
                "error ScalingModifiers.Formula is mandatory",
            ]
        );
    }
}
