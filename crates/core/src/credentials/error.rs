//! Errors of credentials. They carry names and remedies, never a value.

use super::Reference;

/// One error. Its message names the object, the field that refers to it, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    #[error("{reference} does not exist, but {place} refers to it; create it, or correct the reference")]
    Missing { reference: Reference, place: String },
    #[error("{reference} has no key {key:?}, but {place} refers to it; add the key, or correct the reference")]
    NoKey { reference: Reference, key: String, place: String },
    #[error("the key {key:?} of {reference}, which {place} refers to, does not hold text; store text in UTF-8")]
    NotText { reference: Reference, key: String, place: String },
    #[error("{place} {problem}; {remedy}")]
    Invalid { place: String, problem: String, remedy: String },
    /// It could not be read, and may be valid. It is read again without any change by a user.
    #[error("{what} cannot be read: {problem}")]
    Unreadable { what: String, problem: String },
}

impl CredentialError {
    pub fn invalid(place: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Invalid { place: place.into(), problem: problem.into(), remedy: remedy.into() }
    }

    /// Whether an object, or a key of it, does not exist.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::NoKey { .. })
    }

    /// Whether a retry may succeed although no object changes.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreadable { .. })
    }
}
