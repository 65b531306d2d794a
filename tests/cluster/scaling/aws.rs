//! What tests of AWS triggers share: the keys of a trigger.

use serde_json::{Value, json};

pub(super) const KEYS: [(&str, &str); 2] = [("awsAccessKeyID", "A"), ("awsSecretAccessKey", "s3cret")];

/// A Secret with the keys, and a TriggerAuthentication `aws` that refers to it.
pub(super) fn authentication() -> [Value; 2] {
    let references: Vec<Value> =
        KEYS.iter().map(|(name, _)| json!({ "parameter": name, "name": "aws", "key": name })).collect();
    let keys: serde_json::Map<String, Value> = KEYS.iter().map(|(name, key)| ((*name).into(), json!(key))).collect();
    [
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "aws" }, "stringData": keys }),
        json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "aws" }, "spec": { "secretTargetRef": references } }),
    ]
}
