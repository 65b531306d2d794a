//! What the API server does with objects of its own kinds: it decodes them into its types, fills in what was left out,
//! and checks what it was given.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@decode`] | types: values of wrong ones, unknown fields, empty values |
//! | [`defaults`] | what is filled in |
//! | [`mod@check`] | what is refused, and in which words |
//! | `shape` | the table of types that the others follow |

pub mod check;
pub mod decode;
pub mod defaults;
pub(crate) mod shape;

pub use check::check;
pub(crate) use check::check_deployment_status;
pub use decode::decode;
pub use defaults::complete;

#[cfg(test)]
mod tests;
