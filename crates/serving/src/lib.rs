//! How everything that Kedge serves is served: connections, TLS, HTTP/1.1 and HTTP/2, and an orderly end. What is
//! answered is the caller's: an async function from the client's certificates and a request to a response.
//!
//! [`serve`] is the one entry point.
//!
//! | module | what it holds |
//! |---|---|
//! | [`server`] | accepting connections up to a limit, and letting them end |
//! | `connection` | one connection: the handshake, then HTTP |
//! | [`limits`] | what a client may take |
//! | [`tls`] | the handshake: the certificate that may be replaced at any time, and whether clients are asked for theirs |
//!
//! Time is tokio's, so that a paused clock works; what day it is comes from [`Tls::wall_clock`].

mod connection;
pub mod limits;
pub mod server;
pub mod tls;

pub use connection::{Chain, Handler};
pub use limits::Limits;
pub use server::{ServeError, Stopped, serve};
pub use tls::{CertificateError, ClientCertificates, Security, ServingCertificate, Spoken, Tls};
