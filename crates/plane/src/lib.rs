//! A Kubernetes API server in memory, as a `tower` service over `http` requests: the transport of a `kube::Client` inside a
//! test, without sockets, and deterministic under tokio's paused clock. It knows nothing of Kedge; the one thing taken from
//! it is the exact model of the HPA controller.
//!
//! | module | what it holds |
//! |---|---|
//! | `api` | requests, responses, errors, resources, users, selectors, object metadata |
//! | `builtin` | built-in kinds: types, decoding, defaulting, validation |
//! | `patch` | JSON patch, merge patch, strategic merge patch |
//! | `storage` | objects, revisions, the log of changes; how objects are replaced and deleted |
//! | `apiextensions` | custom resources: what definitions serve, conversion between versions |
//! | `lifecycle` | what follows from a write: garbage collection, terminating namespaces, the availability of API services |
//! | `plane` | [`Plane`], its options, and the backends that it calls |
//! | `admission` | validating webhooks, the NamespaceLifecycle plugin |
//! | `registry` | the verbs and subresources: strategies, strict decoding, server-side apply, lists and watches |
//! | [`controllers`] | workloads, the kubelet stub, the HPA controller, nodes, service accounts |
//! | `server` | HTTP, discovery, OpenAPI, the aggregation layer, the transport; [`serve`]: a plane behind a socket |
//!
//! Each module uses only modules above it in the table. A write passes through `server` (parsed), `registry` (decoded,
//! defaulted, validated), `admission` (webhooks), `storage` and `lifecycle`.
//!
//! Differences from a real API server: `managedFields` are not kept, and server-side apply treats all managers that did not
//! apply as one; garbage collection, namespaces and definitions are reconciled within the write that causes it, without
//! calling webhooks; `matchConditions` of webhooks are ignored; there are no mutating webhooks and admission policies, and
//! tokens are not mounted into pods; requests are not authorized; OpenAPI holds what kubectl
//! needs to apply, and the schemas of custom resources; watches through aggregated API servers are not streamed. `docs/plane-differences.md` lists what
//! the conformance scripts show beyond that.

mod admission;
mod api;
mod apiextensions;
mod builtin;
pub mod controllers;
mod lifecycle;
mod patch;
mod plane;
mod registry;
mod server;
mod storage;

pub use api::error::ApiError;
pub use api::identity::{Access, Identity};
pub use api::request::{AsOf, Call, PatchKind, Verb};
pub use api::resource::{GroupResource, Gvr};
pub use plane::{Authenticate, Authorize, Backend, Issue, Observe, Options, Plane, Wall};
pub use server::response::ResponseBody;
#[cfg(feature = "serve")]
pub use server::serve;
pub use server::transport::Transport;
pub use storage::revision::Revision;
pub use storage::store::{Change, ChangeType};
