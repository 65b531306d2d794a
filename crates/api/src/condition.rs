//! The condition as KEDA writes it: no transition time, no observed generation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// One aspect of the object's state, as last seen.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What this condition speaks of: Ready, Active, Fallback, Paused or HPAActive.
    pub r#type: String,

    /// True, False or Unknown.
    pub status: String,

    /// The cause in one word, fit for scripts to match on.
    pub reason: Option<String>,

    /// The cause in a sentence for people: what is wrong, where, and what to do about it.
    pub message: Option<String>,
}
