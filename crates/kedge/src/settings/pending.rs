//! Flags and variables that are validated and have no effect yet: the reference marks them.

/// The flags and variables that are read and have no effect yet.
pub(crate) const PENDING: &[&str] = &["http-max-idle-conns"];
