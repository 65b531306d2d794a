//! What every long-running command shares: logging, listeners, plain HTTP, the serving certificate and the graceful shutdown.
//!
//! | module | what it holds |
//! |---|---|
//! | `browser` | the user's browser |
//! | `certificate` | the serving certificate, from files or from a Secret |
//! | `dashboard` | the dashboard |
//! | `listen` | listeners |
//! | `logs` | the start of logging |
//! | `plain_http` | probes and metrics |
//! | `shutdown` | the stop of all tasks, on a signal or when one ends |

#[cfg(any(feature = "dashboard-command", feature = "playground"))]
pub(crate) mod browser;
pub(crate) mod certificate;
pub(crate) mod dashboard;
pub(crate) mod listen;
pub(crate) mod logs;
pub(crate) mod plain_http;
pub(crate) mod shutdown;
