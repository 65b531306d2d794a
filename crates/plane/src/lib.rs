//! A small, honest Kubernetes API in memory, as a `tower` service over `http` requests: the transport of a `kube::Client`
//! inside a test, without sockets, and deterministic under tokio's paused clock. It knows nothing of Kedge; the one thing
//! taken from it is the exact model of the HPA controller.
//!
//! | module | what it holds |
//! |---|---|
//! | [`plane`] | the whole, and how to talk to it |
//! | [`call`] | one request, read |
//! | [`error`] | refusals, as the API server words them |
//! | [`resource`] | the kinds of objects there are |
//! | [`store`] | objects, revisions, and the log of what changed |
//! | [`patch`] | the four kinds of patches |
//! | [`selector`] | label and field selectors |
//! | [`builtin`] | what the API server fills into and checks of its own kinds |
//! | [`schema`] | what it fills into, drops from and checks of custom resources |
//! | [`controllers`] | workloads that get pods, and autoscalers |

mod admission;
mod aggregate;
mod answer;
mod backend;
pub mod builtin;
pub mod call;
pub mod controllers;
mod convert;
mod crd;
mod discovery;
pub mod error;
mod gc;
mod http;
mod meta;
mod names;
mod namespace;
mod options;
pub mod patch;
pub mod plane;
mod prepare;
mod removal;
pub mod resource;
pub mod review;
pub mod schema;
pub mod selector;
mod settle;
mod state;
pub mod store;
mod subresource;
mod transport;
mod verbs;
mod write;

pub use call::{AsOf, Call, PatchKind, Verb};
pub use error::{ApiError, FieldProblem};
pub use http::AnswerBody;
pub use plane::{Options, Plane};
pub use resource::Gvr;
pub use transport::Transport;
