//! What the API server does with objects of its own kinds: it decodes them into its types, fills in what was left out,
//! and checks what it was given.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@decode`] | types: values of wrong ones, unknown fields, empty values |
//! | [`protobuf`] | the same from protobuf |
//! | [`schemas`] | OpenAPI, for people to read |
//! | [`defaults`] | what is filled in |
//! | [`mod@check`] | what is refused, and in which words |
//! | `shape` | the table of types that the others follow |

pub(crate) mod creation;
pub(crate) mod decode;
pub(crate) mod defaults;
pub(crate) mod definition;
pub(crate) mod event_versions;
pub(crate) mod namespace;
pub(crate) mod protobuf;
pub(crate) mod scale;
pub(crate) mod schemas;
pub(crate) mod service;
pub(crate) mod types;
pub(crate) mod validation;

pub(crate) use decode::decode;
pub(crate) use defaults::apply_defaults;
pub(crate) use validation::check;
pub(crate) use validation::check_deployment_status;

#[cfg(test)]
mod tests;
