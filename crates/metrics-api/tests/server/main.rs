//! The whole server over real TLS on the loopback device: `support` holds a certificate authority, a source and a
//! reviewer under the test's control, and a client.

mod answers;
mod authentication;
mod authorization;
mod connections;
mod limits;
mod support;
