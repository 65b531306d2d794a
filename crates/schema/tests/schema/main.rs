//! Validation against structural schemas: what kube-apiserver answered, and invariants.

// A test ends at the first thing that is not as it must be, helpers included.
#![allow(clippy::unwrap_used)]

mod invariants;
mod kube_apiserver;
