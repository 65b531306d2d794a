//! What the API server does with objects of its own kinds.

pub(crate) mod format;
pub(crate) mod shape;
