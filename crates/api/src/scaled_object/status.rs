//! What the operator reports about a ScaledObject.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::condition::Condition;
#[cfg(test)]
use crate::round_trip::any_time;

/// The state of the object as the operator sees it. Written by the operator only.
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

    /// The replicas the target had when this object was first seen; restored on deletion if asked for.
    pub original_replica_count: Option<i32>,

    /// When a trigger was last seen active. The cooldown counts from here.
    #[cfg_attr(test, proptest(strategy = "any_time()"))]
    pub last_active_time: Option<Time>,

    /// The names under which the external metrics of this object are served, in the order of the triggers.
    pub external_metric_names: Option<Vec<String>>,

    /// The resource metrics that the HPA reads from the cluster itself: cpu, memory.
    pub resource_metric_names: Option<Vec<String>>,

    /// The name of the metric that the formula makes, once there is one.
    pub composite_scaler_name: Option<String>,

    /// Ready, Active, Fallback, Paused and HPAActive: what works, and what does not and why.
    pub conditions: Option<Vec<Condition>>,

    /// The failures of each metric, by metric name; kept while a fallback is configured.
    pub health: Option<BTreeMap<String, HealthStatus>>,

    /// Which external metrics are active, by metric name.
    pub triggers_activity: Option<BTreeMap<String, TriggerActivity>>,

    /// The replicas the target is held at by the annotation autoscaling.keda.sh/paused-replicas.
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

    /// The resource as it stands in URLs, e.g. deployments.
    pub resource: String,
}

/// How often a metric failed in a row.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct HealthStatus {
    /// Failures in a row; 0 after an answer.
    pub number_of_failures: Option<i32>,

    /// Happy when the last query was answered, else Failing.
    pub status: Option<String>,
}

/// Whether a metric asks for the target to be awake.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct TriggerActivity {
    /// True while the metric is above its activation threshold.
    pub is_active: Option<bool>,
}
