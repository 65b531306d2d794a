//! What is understood, checked and kept, but not done yet: the reference marks it.
//! When a part learns to take such a setting, its lines here go.

/// The flags and variables that are read and have no effect yet.
pub(crate) const PENDING: &[&str] = &["http-max-idle-conns", "KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS"];
