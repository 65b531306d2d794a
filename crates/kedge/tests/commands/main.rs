//! The commands of the binary, run as processes.

// A test ends at the first thing that is not as it must be, helpers included.
#![allow(clippy::unwrap_used)]

mod conventions;
mod crds;
mod lint;
mod operator;
mod scaler_check;
mod simulate;
mod trigger_check;
