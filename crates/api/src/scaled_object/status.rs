//! What the operator reports about a ScaledObject.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::condition::Condition;
#[cfg(test)]
use crate::strategies::any_time;

/// The observed state of the object. Only the operator writes it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct ScaledObjectStatus {
    /// The target's group, version and kind in one word, e.g. apps/v1.Deployment.
    pub scale_target_kind: Option<String>,

    /// The target's group, version, kind and resource, as the cluster resolved them.
    #[serde(rename = "scaleTargetGVKR")]
    pub scale_target_gvkr: Option<GroupVersionKindResource>,

    /// The replicas of the target when this object was created; restored on deletion if restoreToOriginalReplicaCount is set.
    pub original_replica_count: Option<i32>,

    /// When a trigger was last active. The cooldown counts from this time.
    #[cfg_attr(test, proptest(strategy = "any_time()"))]
    pub last_active_time: Option<Time>,

    /// The names under which the external metrics of this object are served, in the order of the triggers.
    pub external_metric_names: Option<Vec<String>>,

    /// The resource metrics that the HPA reads from the metrics server: cpu, memory.
    pub resource_metric_names: Option<Vec<String>>,

    /// The name of the composite metric, if there is a formula.
    pub composite_scaler_name: Option<String>,

    /// Ready, Active, Fallback, Paused and HPAActive, each with its reason.
    pub conditions: Option<Vec<Condition>>,

    /// The failures of each metric, by metric name; kept while a fallback is configured.
    pub health: Option<BTreeMap<String, HealthStatus>>,

    /// Which external metrics are active, by metric name.
    pub triggers_activity: Option<BTreeMap<String, TriggerActivity>>,

    /// The replicas at which the target is paused by the annotation autoscaling.keda.sh/paused-replicas.
    pub paused_replica_count: Option<i32>,

    /// The name of the HPA that is managed for this object.
    pub hpa_name: Option<String>,

    /// The types of the triggers, separated by commas.
    pub triggers_types: Option<String>,

    /// The names of the authentications in use, separated by commas.
    pub authentications_types: Option<String>,
}

/// A kind together with the resource name under which the cluster serves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct GroupVersionKindResource {
    /// The API group; empty for the core group.
    pub group: String,

    /// The version within the group, e.g. v1.
    pub version: String,

    /// The kind, e.g. Deployment.
    pub kind: String,

    /// The resource as in URLs, e.g. deployments.
    pub resource: String,
}

/// The consecutive failures of a metric.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct HealthStatus {
    /// Consecutive failures; 0 after a success.
    pub number_of_failures: Option<i32>,

    /// Happy when the last query succeeded, else Failing.
    pub status: Option<String>,
}

/// Whether a metric keeps the target active.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct TriggerActivity {
    /// True while the metric is above its activation threshold.
    pub is_active: Option<bool>,
}
