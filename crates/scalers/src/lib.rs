//! The trigger types: how each reads its part of a manifest, asks its source, and reads the answer.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scaler`] | what every trigger type offers: its metrics, and readings of them |
//! | [`registry`] | the trigger types by name |
//! | [`trigger`] | what a scaler is built from, and all that can be wrong with it |
//! | [`error`] | why a reading is unknown |
//! | [`metadata`] | typed parameters: where they may stand, what their text means |
//! | [`metric_name`], [`target`] | how external metrics are named and what they are compared with |
//! | [`http`] | shared clients, and the [`http::connector`] through which every connection is made |
//! | [`identity`] | signing in as somebody that a cloud knows: AWS, Azure, Google Cloud |
//! | `grpc` | shared channels, which go the same way out |
//! | `auth` | the parameters by which triggers that speak HTTP sign in |
//! | [`external`] | `external` and `external-push`, and the client by which their scalers are called |
//! | `cron`, `kubernetes_workload`, `metrics_api`, `prometheus`, `resource` | the other trigger types |
//! | [`cluster`] | what triggers may ask about the cluster, answered by the caller |
//!
//! A new trigger type is a new file and a line in [`registry`]. Everything is resolved before it comes here: secrets,
//! environment and pod identity are the caller's work, and `now` is given; deadlines follow tokio's clock.

mod auth;
pub mod cluster;
mod cron;
pub mod error;
pub mod external;
mod grpc;
pub mod http;
pub mod identity;
pub mod keda;
mod kubernetes_workload;
pub mod metadata;
pub mod metric_name;
mod metrics_api;
mod prometheus;
pub mod registry;
mod resource;
pub mod scaler;
pub mod target;
pub mod trigger;
pub mod trigger_type;

pub use auth::AUTH_MODES;
pub use cluster::{ClusterReads, NoCluster, PodCount, ServiceEndpoint};
pub use error::{Endpoint, ReadError};
pub use http::connector::Connector;
pub use http::{KeepAlive, Proxies, Settings, TlsVersion, parse_ciphers, provider, read_ca_dirs};
pub use identity::Ambient;
pub use registry::Registry;
pub use resource::CONTAINER_NAME;
pub use rustls::CipherSuite;
pub use scaler::{Activity, BoxFuture, Known, PushEvent, Scaler};
pub use trigger::{AuthParams, BuildError, Environment, FieldError, Owner, Resolution, Role, Secret, TriggerConfig};
pub use trigger_type::TriggerType;

#[cfg(test)]
mod sample;
