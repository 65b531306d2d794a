//! The HTTP API: paths, content types, discovery, OpenAPI, the aggregation layer, and the transport of a client.

mod accept;
pub(crate) mod aggregation;
mod discovery;
pub(crate) mod dispatch;
mod entry_points;
pub(crate) mod http;
mod openapi;
pub(crate) mod response;
#[cfg(feature = "serve")]
pub mod serve;
pub(crate) mod transport;
