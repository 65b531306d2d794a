//! The wire-visible names that are not fields: annotations, labels, condition types, reasons, messages and event reasons.
//! They are KEDA's, byte for byte, and each is defined once.

/// The API group.
pub const GROUP: &str = "keda.sh";

/// The one version of the group.
pub const VERSION: &str = "v1alpha1";

/// The finalizer on every object whose deletion the operator must handle.
pub const FINALIZER: &str = "finalizer.keda.sh";

/// The HPA of a ScaledObject is named by this prefix and the ScaledObject's name, unless its spec names it.
pub const HPA_NAME_PREFIX: &str = "keda-hpa-";

/// The name of the composite metric.
pub const COMPOSITE_METRIC: &str = "composite-metric";

/// Annotations that users set on an object.
pub mod annotations {
    /// Full pause: no scaling, no HPA, replicas stay as they are.
    pub const PAUSED: &str = "autoscaling.keda.sh/paused";
    /// Full pause at the given number of replicas.
    pub const PAUSED_REPLICAS: &str = "autoscaling.keda.sh/paused-replicas";
    /// Pauses scale-in only.
    pub const PAUSED_SCALE_IN: &str = "autoscaling.keda.sh/paused-scale-in";
    /// Pauses scale-out only.
    pub const PAUSED_SCALE_OUT: &str = "autoscaling.keda.sh/paused-scale-out";
    /// Behave as if a trigger were active.
    pub const FORCE_ACTIVATION: &str = "autoscaling.keda.sh/force-activation";
    /// Allows the ScaledObject to take over an existing HPA that its spec names.
    pub const TRANSFER_HPA_OWNERSHIP: &str = "scaledobject.keda.sh/transfer-hpa-ownership";
    /// Labels of the ScaledObject that its HPA does not get.
    pub const HPA_EXCLUDED_LABELS: &str = "scaledobject.keda.sh/hpa-excluded-labels";
    /// On a foreign HPA: `false` takes it out of the conflict check.
    pub const VALIDATIONS_HPA_OWNERSHIP: &str = "validations.keda.sh/hpa-ownership";
    /// Labels of the ScaledJob that its Jobs do not get.
    pub const JOB_EXCLUDED_LABELS: &str = "scaledjob.keda.sh/job-excluded-labels";
    /// On a Job: the generation of the ScaledJob that it was created for.
    pub const JOB_GENERATION: &str = "scaledjob.keda.sh/generation";
}

/// Labels that the operator writes.
pub mod labels {
    /// On a ScaledObject, its HPA, and in the selector of its external metrics: the ScaledObject's name.
    pub const SCALED_OBJECT_NAME: &str = "scaledobject.keda.sh/name";
    /// On a Job and its pods: the ScaledJob's name.
    pub const SCALED_JOB_NAME: &str = "scaledjob.keda.sh/name";
    pub const NAME: &str = "app.kubernetes.io/name";
    pub const VERSION: &str = "app.kubernetes.io/version";
    pub const PART_OF: &str = "app.kubernetes.io/part-of";
    pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
    /// The value of [`MANAGED_BY`].
    pub const MANAGED_BY_OPERATOR: &str = "keda-operator";
}

/// Condition types, in the order in which they are listed.
pub mod conditions {
    pub const READY: &str = "Ready";
    pub const ACTIVE: &str = "Active";
    pub const FALLBACK: &str = "Fallback";
    pub const PAUSED: &str = "Paused";
    pub const HPA_ACTIVE: &str = "HPAActive";
}

/// Reasons of conditions.
pub mod reasons {
    pub const SCALED_OBJECT_READY: &str = "ScaledObjectReady";
    pub const SCALED_OBJECT_CHECK_FAILED: &str = "ScaledObjectCheckFailed";
    pub const SCALED_OBJECT_PAUSED: &str = "ScaledObjectPaused";
    pub const SCALED_OBJECT_UNPAUSED: &str = "ScaledObjectUnpaused";
    pub const SCALED_JOB_READY: &str = "ScaledJobReady";
    pub const SCALED_JOB_CHECK_FAILED: &str = "ScaledJobCheckFailed";
    pub const SCALED_JOB_PAUSED: &str = "ScaledJobPaused";
    pub const SCALED_JOB_UNPAUSED: &str = "ScaledJobUnpaused";
    pub const JOB_CREATE_FAILED: &str = "KEDAJobCreateFailed";
    pub const TRIGGER_ERROR: &str = "TriggerError";
    pub const PARTIAL_TRIGGER_ERROR: &str = "PartialTriggerError";
    pub const ERROR_GETTING_CURRENT_REPLICAS: &str = "ErrorGettingCurrentReplicas";
    pub const SCALER_ACTIVE: &str = "ScalerActive";
    pub const SCALER_NOT_ACTIVE: &str = "ScalerNotActive";
    pub const SCALER_COOLDOWN: &str = "ScalerCooldown";
    pub const UNKNOWN_STATE: &str = "UnknownState";
    pub const FALLBACK_EXISTS: &str = "FallbackExists";
    pub const NO_FALLBACK_FOUND: &str = "NoFallbackFound";
    pub const HPA_ACTIVE: &str = "HPAActive";
    pub const HPA_SCALING_DISABLED: &str = "ScalingDisabled";
    pub const HPA_METRICS_UNAVAILABLE: &str = "HPAMetricsUnavailable";
}

/// Constant messages of conditions; those with variable parts are formatted where they are written.
pub mod messages {
    pub const SCALED_OBJECT_READY: &str = "ScaledObject is defined correctly and is ready for scaling";
    pub const SCALED_OBJECT_PAUSED: &str = "ScaledObject is paused";
    pub const SCALED_OBJECT_UNPAUSED: &str = "pause annotation removed for ScaledObject";
    pub const SCALED_OBJECT_CHECK_FAILED: &str = "ScaledObject check failed";
    pub const SCALED_OBJECT_TRIGGER_ERROR: &str = "Triggers defined in ScaledObject are not working correctly";
    pub const SCALED_OBJECT_PARTIAL_TRIGGER_ERROR: &str =
        "Some triggers defined in ScaledObject are not working correctly";
    pub const SCALED_JOB_READY: &str = "ScaledJob is defined correctly and is ready for scaling";
    pub const SCALED_JOB_PAUSED: &str = "ScaledJob is paused";
    pub const SCALED_JOB_NOT_POLLED: &str = "ScaledJob is paused, skipping reconcile loop";
    pub const SCALED_JOB_UNPAUSED: &str = "ScaledJob is unpaused";
    pub const SCALED_JOB_CHECK_FAILED: &str = "ScaledJob check failed";
    pub const SCALED_JOB_TRIGGER_ERROR: &str = "Triggers defined in ScaledJob are not working correctly";
    pub const SCALED_JOB_PARTIAL_TRIGGER_ERROR: &str = "Some triggers defined in ScaledJob are not working correctly";
    pub const TRIGGERS_ACTIVE: &str = "Scaling is performed because triggers are active";
    pub const ACTIVATION_FORCED: &str = "Scaling is performed because activation is being forced by annotation";
    pub const TRIGGERS_NOT_ACTIVE: &str = "Scaling is not performed because triggers are not active";
    pub const COOLING_DOWN: &str = "Scaler cooling down because triggers are not active";
    pub const FALLBACK_EXISTS: &str = "At least one trigger is falling back on this scaled object";
    pub const NO_FALLBACK_FOUND: &str = "No fallbacks are active on this scaled object";
    pub const HPA_ACTIVE: &str = "HPA is actively scaling";
}

/// Reasons of events. Those that are condition reasons too are in [`reasons`].
pub mod events {
    pub const SCALED_OBJECT_DELETED: &str = "ScaledObjectDeleted";
    pub const SCALED_OBJECT_FALLBACK_ACTIVATED: &str = "ScaledObjectFallbackActivated";
    pub const SCALED_OBJECT_FALLBACK_DEACTIVATED: &str = "ScaledObjectFallbackDeactivated";
    pub const SCALERS_STARTED: &str = "KEDAScalersStarted";
    pub const SCALERS_STOPPED: &str = "KEDAScalersStopped";
    pub const SCALER_FAILED: &str = "KEDAScalerFailed";
    pub const SCALER_INFO: &str = "KEDAScalerInfo";
    pub const METRIC_SOURCE_FAILED: &str = "KEDAMetricSourceFailed";
    pub const SCALE_TARGET_ACTIVATED: &str = "KEDAScaleTargetActivated";
    pub const SCALE_TARGET_ACTIVATION_FAILED: &str = "KEDAScaleTargetActivationFailed";
    pub const SCALE_TARGET_DEACTIVATED: &str = "KEDAScaleTargetDeactivated";
    pub const SCALE_TARGET_DEACTIVATION_FAILED: &str = "KEDAScaleTargetDeactivationFailed";
    pub const SCALED_JOB_ACTIVE: &str = "ScaledJobActive";
    pub const SCALED_JOB_INACTIVE: &str = "ScaledJobInactive";
    pub const SCALED_JOB_DELETED: &str = "ScaledJobDeleted";
    pub const JOBS_CREATED: &str = "KEDAJobsCreated";
    pub const ROLLOUT_CLEANUP_STARTED: &str = "ScaledJobRolloutCleanupStarted";
    pub const ROLLOUT_CLEANUP_FAILED: &str = "ScaledJobRolloutCleanupFailed";
    pub const ROLLOUT_CLEANUP_COMPLETED: &str = "ScaledJobRolloutCleanupCompleted";
    pub const TRIGGER_AUTHENTICATION_ADDED: &str = "TriggerAuthenticationAdded";
    // KEDA: an updated TriggerAuthentication is reported with the reason of the cluster-wide kind.
    pub const TRIGGER_AUTHENTICATION_UPDATED: &str = CLUSTER_TRIGGER_AUTHENTICATION_UPDATED;
    pub const TRIGGER_AUTHENTICATION_DELETED: &str = "TriggerAuthenticationDeleted";
    pub const CLUSTER_TRIGGER_AUTHENTICATION_ADDED: &str = "ClusterTriggerAuthenticationAdded";
    pub const CLUSTER_TRIGGER_AUTHENTICATION_UPDATED: &str = "ClusterTriggerAuthenticationUpdated";
    pub const CLUSTER_TRIGGER_AUTHENTICATION_DELETED: &str = "ClusterTriggerAuthenticationDeleted";
}
