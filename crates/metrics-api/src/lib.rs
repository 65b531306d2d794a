//! The aggregated API `external.metrics.k8s.io/v1beta1`: the API from which HPAs read external metrics.
//!
//! [`serve`] is the one entry point. It takes a listening socket, [`Settings`], and the [`Parts`] that the process
//! owns: the source of values ([`MetricSource`]), the reviews of callers ([`Reviewer`]), the trusted CAs ([`Trust`]), the serving
//! certificate ([`kedge_serving::ServingCertificate`]) and the readiness ([`Readiness`]).
//!
//! A request passes these modules, top to bottom:
//!
//! | module | what it holds | pure |
//! |---|---|---|
//! | [`server`] | the server: `kedge-serving` handles connections and TLS; client certificates are verified for requests, not for connections | |
//! | `parts` | the parts that the process owns | |
//! | `api` | one request: the order of the steps below, and its deadline | |
//! | `target`, `route`, `accept`, `selector` | the requested resource, and its form | yes |
//! | [`authentication`] | authenticates callers: requestheader front proxy, client certificate, bearer token, or anonymous | |
//! | `identity`, `bearer_token` | a caller, and a credential | yes |
//! | `attributes`, `authorization` | authorizes callers | |
//! | [`review`] | TokenReview and SubjectAccessReview at the API server | |
//! | [`caller_access`] | the same reviews for another server of the process | |
//! | `verdict_cache` | what was verified or reviewed, cached for a short time | |
//! | [`source`] | the trait that provides the values: this crate never queries a metric source | |
//! | `responder` | the response to an authorized request; also for callers within the process ([`InProcess`]) | |
//! | `values`, `discovery`, `openapi`, [`health`] | the responses | yes |
//! | `status`, `response` | errors as Kubernetes writes them, and the headers of all responses | yes |
//!
//! Time is tokio's, so that a paused clock works; wall time comes in with each value, and from
//! [`Settings::wall_clock`] for the validity of certificates.

mod accept;
mod api;
mod attributes;
pub mod authentication;
mod authorization;
mod bearer_token;
pub mod caller_access;
mod discovery;
pub mod group;
pub mod health;
mod identity;
mod openapi;
mod parts;
mod responder;
mod response;
pub mod review;
mod route;
mod selector;
pub mod server;
pub mod settings;
pub mod source;
mod status;
mod target;
mod values;
mod verdict_cache;

#[cfg(test)]
mod fake_cluster;

pub use authentication::{Trust, TrustConfig};
pub use caller_access::{Caller, CallerAccess, ResourceName};
pub use health::Readiness;
pub use parts::Parts;
pub use responder::InProcess;
pub use review::{KubeReviewer, Reviewer};
pub use server::serve;
pub use settings::Settings;
pub use source::{MetricError, MetricRequest, MetricSource, MetricValue};
