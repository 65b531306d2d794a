//! A value stored in a Secret, in the nested form of the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value taken from a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct SecretValue {
    /// Where the value is stored.
    pub value_from: ValueFromSecret,
}

/// The location of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct ValueFromSecret {
    /// The Secret and the key within it.
    pub secret_key_ref: SecretKeyRef,
}

/// One key of one Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// The name of the Secret.
    pub name: String,

    /// The key within it.
    pub key: String,
}
