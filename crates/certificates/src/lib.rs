//! The serving certificates of Kedge: issued here, stored in one Secret that all replicas share, rotated in time. Their CA bundle
//! is injected into the APIService and the webhook configuration. Rotation needs no restart and loses no request.
//!
//! | module | what it holds | pure |
//! |---|---|---|
//! | [`contents`] | the four parts of the Secret | yes |
//! | [`spec`] | names, lifetimes, and the times that follow from them | yes |
//! | [`reason`] | the reasons to issue a certificate again | yes |
//! | [`mod@plan`] | the next step of the rotation | yes |
//! | [`issue`] | issues keys and certificates as planned | but for randomness |
//! | `parse` | parses and verifies stored certificates and keys | yes |
//! | [`rotation`] | rotates the Secret, and serves its certificate | |
//! | [`ca_bundles`] | the CA bundle in the APIService and in the webhook configuration | |
//! | [`files`] | serving certificates in files that another tool rotates | |
//!
//! The leaf certificate is the one that servers present; the CA issued it, and the API server trusts the CA.
//!
//! Rotation of the CA: the new CA certificate is put before the old one in `ca.crt`, and the new key replaces the old key; the leaf
//! stays. Every replica writes both CA certificates into the CA bundles. When all bundles hold the new one, and a grace period for
//! the caches of the API servers is over, the new CA issues a leaf. The old CA certificate is dropped later.

pub mod ca_bundles;
pub mod contents;
pub mod files;
pub mod issue;
mod parse;
pub mod plan;
pub mod reason;
pub mod rotation;
pub mod spec;

pub use ca_bundles::CaBundleTarget;
pub use contents::SecretContents;
pub use parse::has_usable_leaf;
pub use plan::{Plan, plan};
pub use reason::Reason;
pub use rotation::{Role, Rotator, Settings};
pub use spec::{CertificateSpec, Lifetimes};
