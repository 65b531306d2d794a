//! The input of a reconcile, parsed from the HPA: target, bounds, rules, and where the replicas come from.

use k8s_openapi::api::autoscaling::v2::{CrossVersionObjectReference, MetricSpec};

use super::{HpaSnapshot, ObservedScale, ScaleError};
use crate::hpa::model::conditions::{SCALED_TO_ZERO, is_true};
use crate::hpa::model::defaults::fill_defaults;
use crate::hpa::model::normalise::Bounds;
use crate::hpa::model::rules::Behavior;
use crate::hpa::model::settings::{Gate, Settings};

const ABOVE_MAX: &str = "Current number of replicas above Spec.MaxReplicas";
pub(super) const BELOW_MIN: &str = "Current number of replicas below Spec.MinReplicas";

/// Where the desired replicas come from, given the current ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaSource {
    /// The target was scaled to zero by another client: the HPA does nothing.
    Disabled,
    /// The target is out of bounds: metrics, windows and rates do not matter.
    Force {
        to: i32,
        because: &'static str,
    },
    Compute,
}

/// The HPA, parsed for one reconcile.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) namespace: String,
    pub(super) target: CrossVersionObjectReference,
    pub(super) metrics: Vec<MetricSpec>,
    pub(super) bounds: Bounds,
    pub(super) behavior: Option<Behavior>,
    pub(super) zero: Zero,
}

/// What matters at zero replicas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zero {
    pub(super) gate: Gate,
    /// Whether the controller itself has brought the target there, and may take it back.
    pub(super) is_ours: bool,
    /// Whether some metric can be read without pods.
    pub(super) has_metric: bool,
}

/// The messages where there is no scale: of the event and the condition, and of the reconcile's error.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoScale {
    pub(super) cause: String,
    pub(super) error: String,
}

impl Task {
    pub(super) fn from_hpa(subject: &HpaSnapshot<'_>, settings: &Settings) -> Self {
        let spec = fill_defaults(subject.spec);
        let gate = settings.gates.scale_to_zero;
        let conditions = subject.status.conditions.as_deref().unwrap_or_default();
        let metrics = spec.metrics.unwrap_or_default();
        let zero = Zero {
            gate,
            is_ours: gate.is_on() && is_true(conditions, SCALED_TO_ZERO),
            has_metric: metrics.iter().any(|metric| matches!(metric.type_.as_str(), "Object" | "External")),
        };
        Self {
            namespace: subject.namespace.to_owned(),
            target: spec.scale_target_ref,
            metrics,
            bounds: Bounds { min: spec.min_replicas.unwrap_or(1), max: spec.max_replicas },
            behavior: spec.behavior.as_ref().map(|behavior| Behavior::from_spec(behavior, settings)),
            zero,
        }
    }

    /// The target as errors name it.
    pub(super) fn reference(&self) -> String {
        format!("{}/{}/{}", self.target.kind, self.namespace, self.target.name)
    }

    pub(super) fn find_scale<'a>(
        &self,
        scale: &'a Result<ObservedScale, ScaleError>,
    ) -> Result<&'a ObservedScale, NoScale> {
        let version = self.target.api_version.as_deref().unwrap_or_default();
        if version.matches('/').count() > 1 {
            let cause = format!("unexpected GroupVersion string: {version}");
            let error = format!("invalid API version in scale target reference: {cause}");
            return Err(NoScale { cause, error });
        }
        scale.as_ref().map_err(|problem| match problem {
            ScaleError::NoMapping { error: cause } => NoScale {
                cause: cause.clone(),
                error: format!("unable to determine resource for scale target reference: {cause}"),
            },
            ScaleError::Query { error: cause } => NoScale {
                cause: cause.clone(),
                error: format!("failed to query scale subresource for {}: {cause}", self.reference()),
            },
        })
    }

    pub(super) fn choose_replica_source(&self, current: i32) -> ReplicaSource {
        let Bounds { min, max } = self.bounds;
        match current {
            // HPA: a minimum does not raise a target that another client has set to zero.
            0 if self.zero.is_ours && (min != 0 || self.zero.has_metric) => ReplicaSource::Compute,
            0 => ReplicaSource::Disabled,
            current if current > max => ReplicaSource::Force { to: max, because: ABOVE_MAX },
            current if current < min => ReplicaSource::Force { to: min, because: BELOW_MIN },
            _ => ReplicaSource::Compute,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpa::model::settings::Gate::{Off, On};

    fn task(min: i32, gate: Gate, is_ours: bool) -> Task {
        Task {
            namespace: "shop".to_owned(),
            target: CrossVersionObjectReference::default(),
            metrics: vec![],
            bounds: Bounds { min, max: 10 },
            behavior: None,
            zero: Zero { gate, is_ours: is_ours && gate.is_on(), has_metric: true },
        }
    }

    #[test]
    fn the_current_replicas_decide_where_the_desired_ones_come_from() {
        let lift = |to| ReplicaSource::Force { to, because: BELOW_MIN };
        let rows = [
            // current, min, gate, whether the controller scaled to zero, source of the replicas
            ("within the bounds metrics decide", 5, 1, Off, false, ReplicaSource::Compute),
            ("above the maximum they do not", 11, 1, Off, false, ReplicaSource::Force { to: 10, because: ABOVE_MAX }),
            ("nor below the minimum", 1, 3, Off, false, lift(3)),
            ("a zero without the gate is final", 0, 1, Off, true, ReplicaSource::Disabled),
            ("so is one below a stored minimum of zero", 0, 0, Off, true, ReplicaSource::Disabled),
            ("so is one that another client has set", 0, 0, On, false, ReplicaSource::Disabled),
            ("the controller leaves its own zero", 0, 0, On, true, ReplicaSource::Compute),
            ("and computes when the minimum was raised since", 0, 2, On, true, ReplicaSource::Compute),
        ];
        for (name, current, min, gate, is_ours, source) in rows {
            assert_eq!(task(min, gate, is_ours).choose_replica_source(current), source, "{name}");
        }
    }
}
