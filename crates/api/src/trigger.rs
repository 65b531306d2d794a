//! The trigger: one source of events, and how to authenticate to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// One source of events. The target is active while any of its triggers is.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// The trigger type, e.g. cron, cpu, memory, prometheus, external or external-push.
    #[schemars(length(min = 1))]
    pub r#type: String,

    /// A name for this trigger. Formulas in advanced.scalingModifiers refer to it, so it must then be a plain identifier.
    /// Names must differ from each other within one object.
    pub name: Option<String>,

    /// The parameters of the trigger type. All values are strings: quote numbers and booleans.
    /// A parameter ending in FromEnv names an environment variable of the target's container instead of a value.
    pub metadata: BTreeMap<String, String>,

    /// Where the credentials for this source come from.
    pub authentication_ref: Option<AuthenticationRef>,

    /// Serves the HPA the value of the last poll instead of querying the source each time. Saves queries to slow or metered
    /// sources; the value can then be as old as pollingInterval. Not possible for cpu, memory and cron.
    pub use_cached_metrics: Option<bool>,

    /// How the HPA compares the value with the target: AverageValue (per replica, the default), Value (as it is), or
    /// Utilization (percent of the request). cpu and memory need Utilization or AverageValue; all others take the first two.
    pub metric_type: Option<String>,
}

/// A reference to the object that holds, or points to, the credentials of a trigger.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationRef {
    /// The name of the TriggerAuthentication, in the same namespace, or of the ClusterTriggerAuthentication.
    pub name: String,

    /// The kind of the object: TriggerAuthentication (the default) or ClusterTriggerAuthentication.
    pub kind: Option<AuthenticationKind>,
}

/// The two kinds that an authentication reference can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum AuthenticationKind {
    #[serde(alias = "")]
    TriggerAuthentication,
    ClusterTriggerAuthentication,
}
