//! A small, honest Kubernetes API in memory, as a `tower` service over `http` requests: the transport of a `kube::Client`
//! inside a test, without sockets, and deterministic under tokio's paused clock. It knows nothing of Kedge; the one thing
//! taken from it is the exact model of the HPA controller.
//!
//! | module | what it holds |
//! |---|---|
//! | [`plane`] | the whole, and how to talk to it |
//! | `http`, `transport` | requests read, answers written; the plane as a client's transport |
//! | [`call`], `answer` | one request, read; one answer, unwritten |
//! | [`error`] | refusals, as the API server words them |
//! | `verbs`, `subresource` | what each verb does, and what lies below objects |
//! | `prepare`, `newborn`, `strict`, `write`, `removal` | how an object comes in, is checked, is changed, and goes |
//! | `settle`, `gc`, `namespace`, `crd`, `service`, `aggregate` | what follows from a write without anybody asking |
//! | `admission`, `backend`, [`review`] | webhooks and other servers that are called back; reviews |
//! | `discovery` | what is served |
//! | [`resource`] | the kinds of objects there are |
//! | [`store`], `state` | objects, revisions, and the log of what changed |
//! | `convert`, `meta`, `labels` | objects in other versions; their metadata; their selectors as text |
//! | [`patch`] | the four kinds of patches |
//! | [`selector`] | label and field selectors |
//! | [`builtin`] | what the API server fills into and checks of its own kinds |
//! | [`controllers`] | workloads that get pods, and autoscalers |
//! | `serve` | a plane behind a socket (with the feature of that name) |
//!
//! A write passes through: `verbs` → `strict` and `prepare` (read, completed, what callers may not touch) → `write` (checked)
//! → `admission` (webhooks) → `store` → `settle`.
//!
//! Known to differ from a real API server: `managedFields` are not kept, and server-side apply knows all who did not apply as
//! one; garbage collection, namespaces and definitions settle within the write that causes it, without asking webhooks;
//! `matchConditions` of webhooks are not looked at; there are no mutating webhooks and admission policies, and tokens are not
//! mounted into pods; requests are not authorized; tables are answered as objects; of OpenAPI there is only what kubectl
//! needs to apply; watches
//! through other servers are not streamed. `docs/plane-differences.md` lists what scripts show beyond that.

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
mod labels;
mod meta;
mod namespace;
mod newborn;
mod openapi;
mod options;
pub mod patch;
pub mod plane;
mod prepare;
mod removal;
pub mod resource;
pub mod review;
mod revision;
pub mod selector;
#[cfg(feature = "serve")]
pub mod serve;
mod service;
mod settle;
mod state;
pub mod store;
mod strict;
mod subresource;
mod transport;
mod verbs;
mod write;

pub use backend::Backend;
pub use call::{AsOf, Call, PatchKind, Verb};
pub use error::ApiError;
pub use http::AnswerBody;
pub use plane::{Options, Plane};
pub use resource::Gvr;
pub use revision::Revision;
pub use transport::Transport;
