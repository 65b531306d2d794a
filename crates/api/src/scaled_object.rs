//! `ScaledObject`: a workload and the events by which it is scaled.

mod advanced;
mod status;

pub use advanced::*;
pub use status::*;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::trigger::Trigger;

/// Defines the workload to scale, its bounds, and the events to scale by.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[kube(
    group = "keda.sh",
    version = "v1alpha1",
    kind = "ScaledObject",
    doc = "Scales a workload by events: to zero when no trigger is active, from zero when one becomes active, and by a managed HorizontalPodAutoscaler in between.",
    shortname = "so",
    namespaced,
    status = "ScaledObjectStatus",
    derive = "PartialEq",
    printcolumn(name = "ScaleTargetKind", type_ = "string", json_path = ".status.scaleTargetKind"),
    printcolumn(name = "ScaleTargetName", type_ = "string", json_path = ".spec.scaleTargetRef.name"),
    printcolumn(name = "Min", type_ = "integer", json_path = ".spec.minReplicaCount"),
    printcolumn(name = "Max", type_ = "integer", json_path = ".spec.maxReplicaCount"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Active", type_ = "string", json_path = r#".status.conditions[?(@.type=="Active")].status"#),
    printcolumn(
        name = "Fallback",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Fallback")].status"#
    ),
    printcolumn(name = "Paused", type_ = "string", json_path = r#".status.conditions[?(@.type=="Paused")].status"#),
    printcolumn(name = "Triggers", type_ = "string", json_path = ".status.triggersTypes"),
    printcolumn(name = "Authentications", type_ = "string", json_path = ".status.authenticationsTypes"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.minReplicaCount) || self.minReplicaCount <= (has(self.maxReplicaCount) ? self.maxReplicaCount : 100)",
    "message": "minReplicaCount must be less than or equal to maxReplicaCount"
}]))]
pub struct ScaledObjectSpec {
    /// The workload to scale, in the same namespace: any kind with a scale subresource.
    pub scale_target_ref: ScaleTargetRef,

    /// Seconds between two polls of the triggers. Polls decide the steps from and to zero, and refresh cached metrics; between
    /// one and maxReplicaCount the HPA reads the metrics at its own interval. Default 30.
    #[schemars(range(min = 1))]
    pub polling_interval: Option<i32>,

    /// Seconds after the creation of this object during which the target is not scaled to zero. Default 0.
    #[schemars(range(min = 0))]
    pub initial_cooldown_period: Option<i32>,

    /// Seconds without any active trigger before the target is scaled to zero, or to idleReplicaCount. The cooldown
    /// applies only to that last step; behavior.scaleDown of the HPA controls the steps above it. Default 300.
    #[schemars(range(min = 0))]
    pub cooldown_period: Option<i32>,

    /// Replicas to keep while no trigger is active. Must be below minReplicaCount. Use 0: with a higher number the HPA
    /// scales the target back to minReplicaCount. Unset: the target stays at minReplicaCount.
    #[schemars(range(min = 0))]
    pub idle_replica_count: Option<i32>,

    /// Minimum number of replicas. With 0, the target is scaled to zero when no trigger is active. Default 0.
    #[schemars(range(min = 0))]
    pub min_replica_count: Option<i32>,

    /// Maximum number of replicas. Default 100.
    #[schemars(range(min = 1))]
    pub max_replica_count: Option<i32>,

    /// Options for the managed HPA, for formulas, and for the deletion of this object.
    pub advanced: Option<Advanced>,

    /// The events to scale by. At least one; the HPA follows the trigger that needs the most replicas.
    #[schemars(length(min = 1))]
    pub triggers: Vec<Trigger>,

    /// Sets replicas for the time when a source fails. Without it the target keeps its replicas.
    pub fallback: Option<Fallback>,
}

/// The workload to scale.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct ScaleTargetRef {
    /// The name of the workload.
    #[schemars(length(min = 1))]
    pub name: String,

    /// The API group and version of the workload. Default apps/v1.
    pub api_version: Option<String>,

    /// The kind of the workload, e.g. Deployment or StatefulSet, or a custom resource with a scale subresource. Default Deployment.
    pub kind: Option<String>,

    /// The container of the target whose environment variables the FromEnv parameters of triggers refer to. Default: the first one.
    pub env_source_container_name: Option<String>,
}

impl ScaleTargetRef {
    /// The API version and the kind, with the defaults where they are not set.
    pub fn api_version_and_kind(&self) -> (&str, &str) {
        fn given(text: &Option<String>) -> Option<&str> {
            text.as_deref().filter(|text| !text.is_empty())
        }
        (given(&self.api_version).unwrap_or("apps/v1"), given(&self.kind).unwrap_or("Deployment"))
    }
}

/// Sets the replicas while sources fail.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct Fallback {
    /// Falls back after more than this many consecutive failures of the same trigger.
    #[schemars(range(min = 0))]
    pub failure_threshold: i32,

    /// The number of replicas to fall back to.
    #[schemars(range(min = 0))]
    pub replicas: i32,

    /// How `replicas` is used: static (as given, the default), currentReplicas (keep the current replicas),
    /// currentReplicasIfHigher or currentReplicasIfLower (the higher or lower of both), scalingModifiers (feed `replicas`
    /// into the formula in place of the failing trigger).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "static"))]
    pub behavior: Option<FallbackBehavior>,
}

/// The ways to fall back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub enum FallbackBehavior {
    #[serde(alias = "")]
    Static,
    CurrentReplicas,
    CurrentReplicasIfHigher,
    CurrentReplicasIfLower,
    ScalingModifiers,
}
