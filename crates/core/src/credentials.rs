//! Credentials without IO: the objects they come from, their errors, and the sections of authentication objects.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@reference`] | the objects that credentials are taken from |
//! | [`error`] | errors, each with its remedy |
//! | [`mod@file`] | `filePath`: allowed paths and the format of the file |
//! | [`oauth2`] | the parameters of `oauth2` |
//! | [`identity`] | the AWS role of a pod identity |
//! | [`vault`] | requests to HashiCorp Vault and the values in its responses |
//! | [`usage`] | the list of users in `status` |

pub mod error;
pub mod file;
pub mod identity;
pub mod oauth2;
pub mod reference;
pub mod usage;
pub mod vault;

pub use error::CredentialError;
pub use reference::{Reference, ReferenceContent, ReferenceKind, WorkloadKind};
