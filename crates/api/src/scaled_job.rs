//! `ScaledJob`: a Job template and the events for which Jobs are created from it.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::JobSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
#[cfg(test)]
use proptest::strategy::Strategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::condition::Condition;
use crate::scaled_object::TriggerActivity;
#[cfg(test)]
use crate::strategies::{any_json_object, any_time};
use crate::trigger::Trigger;

/// Defines which Jobs to create, how many, and by which events.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[kube(
    group = "keda.sh",
    version = "v1alpha1",
    kind = "ScaledJob",
    doc = "Creates Jobs from a template as events arrive: one Job for a share of the queue, each running to completion.",
    shortname = "sj",
    namespaced,
    status = "ScaledJobStatus",
    derive = "PartialEq",
    printcolumn(name = "Min", type_ = "integer", json_path = ".spec.minReplicaCount"),
    printcolumn(name = "Max", type_ = "integer", json_path = ".spec.maxReplicaCount"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Active", type_ = "string", json_path = r#".status.conditions[?(@.type=="Active")].status"#),
    printcolumn(name = "Paused", type_ = "string", json_path = r#".status.conditions[?(@.type=="Paused")].status"#),
    printcolumn(name = "Triggers", type_ = "string", json_path = ".status.triggersTypes"),
    printcolumn(name = "Authentications", type_ = "string", json_path = ".status.authenticationsTypes"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ScaledJobSpec {
    /// The spec of the Jobs to create, as in batch/v1.
    #[cfg_attr(test, proptest(strategy = "any_json_object().prop_map(JobTemplate)"))]
    pub job_target_ref: JobTemplate,

    /// Seconds between two polls of the triggers and checks of finished Jobs. Default 30.
    #[schemars(range(min = 1))]
    pub polling_interval: Option<i32>,

    /// Number of successful Jobs to keep; older ones are deleted. Default 100.
    #[schemars(range(min = 0))]
    pub successful_jobs_history_limit: Option<i32>,

    /// Number of failed Jobs to keep; older ones are deleted. Default 100.
    #[schemars(range(min = 0))]
    pub failed_jobs_history_limit: Option<i32>,

    /// Deprecated: use rollout.strategy, which this field overrides.
    pub rollout_strategy: Option<RolloutStrategy>,

    /// Controls what happens to Jobs of the old spec when the spec changes.
    pub rollout: Option<Rollout>,

    /// The container of the template whose environment the FromEnv parameters of triggers refer to. Default: the first one.
    pub env_source_container_name: Option<String>,

    /// Number of Jobs to keep running regardless of the triggers; Jobs for events are added to it. Default 0.
    #[schemars(range(min = 0))]
    pub min_replica_count: Option<i32>,

    /// Maximum number of Jobs running at once. Default 100.
    #[schemars(range(min = 1))]
    pub max_replica_count: Option<i32>,

    /// Controls how the number of new Jobs is computed from the queue and the running Jobs.
    pub scaling_strategy: Option<ScalingStrategy>,

    /// The events to create Jobs for. At least one.
    #[schemars(length(min = 1))]
    pub triggers: Vec<Trigger>,
}

/// The Job spec as its author wrote it.
///
/// Kept as JSON: the API server stores quantities of custom resources as they were given (`cpu: 1` stays a number) and
/// keeps unknown fields of the pod's metadata, and neither survives the typed `JobSpec`. The schema is `JobSpec`'s.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobTemplate(pub serde_json::Map<String, serde_json::Value>);

impl JsonSchema for JobTemplate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        JobSpec::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        JobSpec::json_schema(generator)
    }
}

/// What happens to Jobs of the old spec when the spec changes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// immediate (the default): Jobs of the old spec are deleted, running ones too. gradual: they run to completion.
    pub strategy: Option<RolloutStrategy>,

    /// How those Jobs are deleted: background (the default) or foreground, which waits for their pods.
    pub propagation_policy: Option<RolloutPropagation>,
}

/// What happens to running Jobs when their spec changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "lowercase")]
pub enum RolloutStrategy {
    Gradual,
    #[serde(alias = "")]
    Immediate,
}

/// How Jobs are deleted in a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "lowercase")]
pub enum RolloutPropagation {
    Foreground,
    #[serde(alias = "")]
    Background,
}

/// Controls how many Jobs are created for the values of the triggers.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct ScalingStrategy {
    /// default: queue minus running Jobs, for queues that count what is being processed. accurate: for queues that do not.
    /// eager: fill all free slots. custom: default with the two custom fields.
    pub strategy: Option<ScalingStrategyName>,

    /// custom only: subtract this many from the queue.
    pub custom_scaling_queue_length_deduction: Option<i32>,

    /// custom only: the share of running Jobs to subtract, a number in quotes, e.g. "0.5".
    pub custom_scaling_running_job_percentage: Option<String>,

    /// Pod conditions that must all be True before a Job counts as started. Unset: a running pod is enough.
    pub pending_pod_conditions: Option<Vec<String>>,

    /// How several active triggers are combined: max (the default), min, avg or sum.
    pub multiple_scalers_calculation: Option<MultipleScalersCalculation>,
}

/// The strategies to compute the number of new Jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "lowercase")]
pub enum ScalingStrategyName {
    #[serde(alias = "")]
    Default,
    Custom,
    Accurate,
    Eager,
}

/// The strategies to combine several triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "lowercase")]
pub enum MultipleScalersCalculation {
    Min,
    Avg,
    Sum,
    #[serde(alias = "")]
    Max,
}

/// The observed state of the object. Only the operator writes it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct ScaledJobStatus {
    /// When a trigger was last active.
    #[cfg_attr(test, proptest(strategy = "any_time()"))]
    pub last_active_time: Option<Time>,

    /// Ready, Active, Fallback and Paused, each with its reason.
    pub conditions: Option<Vec<Condition>>,

    /// Not used: the condition Paused reports whether the object is paused.
    #[serde(rename = "Paused")]
    pub paused: Option<String>,

    /// The types of the triggers, separated by commas.
    pub triggers_types: Option<String>,

    /// The names of the authentications in use, separated by commas.
    pub authentications_types: Option<String>,

    /// The names of the external metrics, in the order of the triggers.
    pub external_metric_names: Option<Vec<String>>,

    /// Which external metrics are active, by metric name.
    pub triggers_activity: Option<BTreeMap<String, TriggerActivity>>,
}
