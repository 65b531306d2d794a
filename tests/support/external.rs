//! Triggers for external scalers.

use serde_json::{Value, json};

/// A trigger that polls the scaler at this address.
pub fn external(address: &str, metadata: Value) -> Value {
    let mut trigger = json!({ "type": "external", "metadata": { "scalerAddress": address } });
    json_patch::merge(&mut trigger["metadata"], &metadata);
    trigger
}

/// A trigger that polls the scaler, and receives its pushes.
pub fn external_push(address: &str, metadata: Value) -> Value {
    let mut trigger = external(address, metadata);
    trigger["type"] = json!("external-push");
    trigger
}
