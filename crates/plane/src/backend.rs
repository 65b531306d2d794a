//! Servers behind the plane.

#[derive(Debug, Default)]
pub(crate) struct Backends;
