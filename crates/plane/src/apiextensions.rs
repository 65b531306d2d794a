//! Custom resources: what their definitions serve, and their versions.

pub(crate) mod conversion;
pub(crate) mod definitions;
