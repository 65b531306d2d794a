//! What can be wrong with credentials. No value stands in here: only names, and what to do.

use super::Reference;

/// One thing that is wrong. Its text names the object, the field that refers to it, and the remedy.
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
    /// It may be in order: it could not be looked at. This is tried again without anything being changed.
    #[error("{what} cannot be read: {problem}")]
    Unreadable { what: String, problem: String },
}

impl CredentialError {
    pub fn invalid(place: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Invalid { place: place.into(), problem: problem.into(), remedy: remedy.into() }
    }

    /// Whether it may go away without anybody changing what it names.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreadable { .. })
    }
}
