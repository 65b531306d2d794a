//! Credentials, as far as they can be thought about without reading any: what they are taken from, what can be wrong with
//! them, and what the sections of an authentication object mean.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@reference`] | the objects that credentials are taken from |
//! | [`error`] | what can be wrong, each with its remedy |
//! | [`mod@file`] | `filePath`: which paths are allowed, what the file must hold |
//! | [`oauth2`] | the parameters that `oauth2` gives |
//! | [`identity`] | what a pod identity asks for |
//! | [`vault`] | what is asked of HashiCorp Vault, and how its answers are read |
//! | [`usage`] | the list of users in the status |

pub mod error;
pub mod file;
pub mod identity;
pub mod oauth2;
pub mod reference;
pub mod usage;
pub mod vault;

pub use error::CredentialError;
pub use reference::{Reference, ReferenceContent, ReferenceKind, WorkloadKind};
