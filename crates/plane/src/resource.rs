//! The kinds of objects there are.

use std::fmt;

/// A resource as paths name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvr {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    /// E.g. `deployments`.
    pub plural: String,
}

impl Gvr {
    pub fn new(group: &str, version: &str, plural: &str) -> Self {
        Self { group: group.to_owned(), version: version.to_owned(), plural: plural.to_owned() }
    }
}

impl fmt::Display for Gvr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.group, self.version, self.plural)
    }
}
