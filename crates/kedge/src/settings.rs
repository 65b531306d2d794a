//! The settings of the long-running commands: KEDA's flags and variables with KEDA's meaning, and a few of Kedge's own.
//!
//! | module | what it holds |
//! |---|---|
//! | `operator` | the settings of `kedge operator` |
//! | `flags` | the flags that have an effect, as text |
//! | `compatible` | KEDA's flags that are accepted without effect |
//! | `environment` | the variables, as text, and their descriptions for the reference |
//! | `resolve` | flags and variables to [`Settings`]: a pure function that reports every invalid value at once |
//! | `reader` | one value: converted, or its error recorded |
//! | `addresses`, `amounts`, `certificates`, `logging`, `policies`, `proxies`, `tls` | one kind of value each |
//! | `webhooks` | flags and settings of `kedge webhooks` |
//! | `pending` | flags and variables without effect yet |
//! | `reference` | the page of all flags and variables |

pub(crate) mod addresses;
mod amounts;
pub(crate) mod certificates;
pub(crate) mod compatible;
pub(crate) mod environment;
pub(crate) mod flags;
pub(crate) mod logging;
mod operator;
pub(crate) mod pending;
mod policies;
mod proxies;
mod reader;
pub(crate) mod reference;
mod resolve;
mod tls;
mod vault_client;
pub(crate) mod webhooks;

pub(crate) use environment::Environment;
pub(crate) use flags::Flags;
pub(crate) use operator::Settings;
pub(crate) use resolve::{resolve, resolve_variables};

#[cfg(test)]
mod tests;
