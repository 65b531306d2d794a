//! Credentials, as far as they can be thought about without reading any: what they are taken from, what can be wrong with
//! them, and what the sections of an authentication object mean.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@reference`] | the objects that credentials are taken from |
//! | [`problem`] | what can be wrong, each with its remedy |
//! | [`mod@file`] | `filePath`: which paths are allowed, what the file must hold |
//! | [`oauth2`] | the parameters that `oauth2` gives |
//! | [`identity`] | what a pod identity asks for |
//! | [`vault`] | what is asked of HashiCorp Vault, and how its answers are read |
//! | [`usage`] | the list of users in the status |

pub mod file;
pub mod identity;
pub mod oauth2;
pub mod problem;
pub mod reference;
pub mod usage;
pub mod vault;

pub use problem::Problem;
pub use reference::{Content, Kind, Reference, WorkloadKind};
