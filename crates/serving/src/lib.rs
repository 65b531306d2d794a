//! The HTTP server of every Kedge endpoint: connections, TLS, HTTP/1.1 and HTTP/2, graceful shutdown. The caller provides the
//! handler: an async function from the client's certificates and a request to a response.
//!
//! [`serve`] is the one entry point.
//!
//! | module | what it holds |
//! |---|---|
//! | [`server`] | accepts connections up to a limit, and drains them |
//! | `connection` | one connection: the handshake, then HTTP |
//! | `connections` | all connections: which are idle, and which one is closed when another needs its place |
//! | [`limits`] | the limits for clients |
//! | [`tls`] | the handshake: the replaceable serving certificate, and whether client certificates are requested |
//!
//! Time is tokio's, so that a paused clock works; wall time comes from [`Tls::wall_clock`].

mod connection;
mod connections;
pub mod limits;
pub mod server;
pub mod tls;

pub use connection::{ClientChain, Handler};
pub use limits::Limits;
pub use server::{ServeError, Stopped, serve};
pub use tls::{CertificateError, ClientCertificates, Security, ServingCertificate, Tls, TlsProtocols};
