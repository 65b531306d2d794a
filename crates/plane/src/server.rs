//! The HTTP API: paths, content types, discovery, OpenAPI, the aggregation layer, and the transport of a client.

pub(crate) mod aggregation;
mod discovery;
pub(crate) mod dispatch;
pub(crate) mod http;
mod openapi;
#[cfg(feature = "serve")]
pub mod serve;
pub(crate) mod transport;
