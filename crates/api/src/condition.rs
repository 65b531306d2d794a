//! The condition as KEDA writes it: no transition time, no observed generation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// One aspect of the object's state, as last observed.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type of this condition: Ready, Active, Fallback, Paused or HPAActive.
    pub r#type: String,

    /// True, False or Unknown.
    pub status: String,

    /// The reason for the status as one word that scripts can match.
    pub reason: Option<String>,

    /// The reason as a sentence: what is wrong, where, and how to fix it.
    pub message: Option<String>,
}
