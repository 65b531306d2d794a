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
//! | [`token_policy`] | which tokens of service accounts may be requested and sent |
//! | [`outbound_filter`] | which Vault servers the operator may sign in to |
//! | [`usage`] | the list of users in `status` |

pub mod error;
pub mod file;
pub mod identity;
pub mod oauth2;
pub mod outbound_filter;
pub mod reference;
pub mod token_policy;
pub mod usage;
pub mod vault;

pub use error::CredentialError;
pub use reference::{Reference, ReferenceContent, ReferenceKind, WorkloadKind};
