//! Who may see which objects.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use http::request;

/// The objects that a caller may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visible {
    All,
    /// Those of these namespaces.
    Namespaces(BTreeSet<String>),
}

impl Visible {
    pub fn includes(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespaces(namespaces) => namespaces.contains(namespace),
        }
    }
}

/// Why a caller may see nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It is not known who calls.
    #[error("{0}")]
    Unauthenticated(String),
    #[error("{0}")]
    Forbidden(String),
    /// The API server does not say at present.
    #[error("{0}")]
    Unavailable(String),
}

/// Decides what a caller may see. The head of its request carries its credentials.
pub trait Access: Send + Sync + 'static {
    fn visible<'a>(&'a self, head: &'a request::Parts) -> BoxFuture<'a, Result<Visible, Denied>>;
}

/// Whoever reaches the server may see everything: it listens for its own machine.
#[derive(Clone, Copy, Debug)]
pub struct Everyone;

impl Access for Everyone {
    fn visible<'a>(&'a self, _: &'a request::Parts) -> BoxFuture<'a, Result<Visible, Denied>> {
        Box::pin(async { Ok(Visible::All) })
    }
}
