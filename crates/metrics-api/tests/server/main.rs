//! The server over real TLS on the loopback device: `support` holds a CA, a source and a
//! reviewer under the test's control, and a client.

mod authentication;
mod authorization;
mod connections;
mod limits;
mod responses;
mod support;
