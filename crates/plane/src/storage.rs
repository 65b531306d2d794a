//! Objects and their revisions, and how an object is replaced and deleted.

pub(crate) mod deletion;
pub(crate) mod replace;
pub(crate) mod revision;
pub(crate) mod state;
pub(crate) mod store;
