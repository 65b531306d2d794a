//! Admission webhooks: they refuse an object that could not work, before it is stored.
//!
//! So far this crate says where each kind is judged ([`routes`]); the rules and the server come with it.

pub mod finding;
pub mod routes;
