//! The plane through a real client, in one test program: linking is a large part of the time that tests take.

// A test ends at the first thing that is not as it must be, helpers included.
#![allow(clippy::unwrap_used)]

mod autoscalers;
mod backends;
mod controllers;
mod custom;
mod objects;
#[cfg(feature = "serve")]
mod serve;
