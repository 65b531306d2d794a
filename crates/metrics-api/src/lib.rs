//! The aggregated API `external.metrics.k8s.io/v1beta1`: what HPAs ask for the values of external metrics.
//!
//! [`serve`] is the one entry point. It takes a listening socket, [`Settings`], and the [`Parts`] that the process
//! owns: where values come from ([`MetricSource`]), who judges callers ([`Reviewer`]), whom to trust ([`Trust`]), what
//! to show in the handshake ([`kedge_serving::ServingCertificate`]) and when to call itself ready ([`Readiness`]).
//!
//! A request passes these modules, top to bottom:
//!
//! | module | what it holds | pure |
//! |---|---|---|
//! | [`server`] | the server as a whole: connections and TLS are `kedge-serving`'s; any client certificate is taken, none is believed | |
//! | `api` | one request: the order of the steps below, and its deadline | |
//! | `target`, `route`, `accept`, `selector` | what is asked for, and in which form | yes |
//! | [`authentication`] | who asks: front proxy, client certificate, bearer token, or nobody | |
//! | `attributes`, `authorization` | whether they may | |
//! | [`review`] | TokenReview and SubjectAccessReview at the API server, cached | |
//! | [`source`] | the values, from whoever implements it: this crate never talks to a metric source | |
//! | `values`, `discovery`, `openapi`, [`health`] | the answers | yes |
//! | `status`, `answer` | errors as Kubernetes writes them, and what all answers share | yes |
//!
//! Time is tokio's, so that a paused clock works; wall time comes in with each value, and from
//! [`Settings::wall_clock`] for the validity of certificates.

mod accept;
mod answer;
mod api;
mod attributes;
pub mod authentication;
mod authorization;
mod discovery;
pub mod group;
pub mod health;
mod identity;
mod openapi;
pub mod review;
mod route;
mod selector;
pub mod server;
pub mod settings;
pub mod source;
mod status;
mod target;
mod values;

#[cfg(test)]
mod fake_cluster;

pub use authentication::{Trust, TrustConfig};
pub use health::Readiness;
pub use review::{KubeReviewer, Reviewer};
pub use server::{Parts, serve};
pub use settings::Settings;
pub use source::{MetricError, MetricRequest, MetricSource, MetricValue};
