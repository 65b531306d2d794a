//! Events are one kind with two faces: `v1` (stored) and `events.k8s.io/v1`. They differ in the names of fields.

use serde_json::Value;

/// The names of the same fields: in `v1`, and in `events.k8s.io/v1`.
const NAMES: [(&str, &str); 6] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// The controller is a field of its own in both, only differently named.
const CONTROLLER: (&str, &str) = ("reportingComponent", "reportingController");

pub(crate) fn to_new(event: &mut Value) {
    NAMES.iter().chain([&CONTROLLER]).for_each(|(old, new)| rename(event, old, new));
    // Only one of the two faces shows these without a value.
    if let Some(map) = event.as_object_mut() {
        map.retain(|field, value| {
            !(["reportingController", "reportingInstance"].contains(&field.as_str()) && *value == "")
        });
    }
}

pub(crate) fn to_old(event: &mut Value) {
    NAMES.iter().chain([&CONTROLLER]).for_each(|(old, new)| rename(event, new, old));
}

fn rename(event: &mut Value, from: &str, to: &str) {
    if let Some(map) = event.as_object_mut()
        && let Some(value) = map.remove(from)
    {
        map.insert(to.to_owned(), value);
    }
}
