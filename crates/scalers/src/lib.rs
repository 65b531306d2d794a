//! The trigger types: the description of each, its typed configuration, its client, and its readings.
//!
//! | module | what it holds |
//! |---|---|
//! | [`trigger_type`] | the descriptor of a type: class, parameters, activation, RBAC needs |
//! | [`field`] | the description of one parameter |
//! | [`registry`] | the descriptors of all types; builds scalers |
//! | [`scaler`] | the interface of a built trigger: its metrics, and readings of them |
//! | `one_metric` | a scaler with one metric, made from a source of one number |
//! | [`trigger`] | what a scaler is built from, and the errors in it |
//! | [`error`] | why a reading is unknown |
//! | [`metadata`] | reads parameters from their sources, and converts them |
//! | [`metric_name`], [`target`] | the names and targets of external metrics |
//! | [`http`] | shared clients, and the [`http::connector`] that opens every connection |
//! | `shared` | what scalers share: clients, connections, signers |
//! | [`cloud_environment`] | the environment variables by which clouds identify this process |
//! | [`identity`] | cloud identities and their credentials: AWS, Azure, Google Cloud |
//! | `grpc` | shared gRPC channels over the same connector |
//! | `dial`, `sessions`, `amqp_session`, `kafka_cluster`, `mysql_session`, `postgres_session`, `redis_session` | connections that triggers share, for protocols of `kedge-wire` |
//! | `document` | numbers in JSON and YAML, by paths |
//! | `host_port` | the address of a server |
//! | `percent` | percent escapes in addresses |
//! | `sql` | the one number that a query gives |
//! | `auth` | the authentication parameters that HTTP triggers share |
//! | `oauth` | the tokens of OAuth 2.0 clients |
//! | [`external`] | `external` and `external-push`, and the client of their servers |
//! | `aws_json` | requests to AWS services that speak JSON |
//! | `aws_cloudwatch`, `aws_sqs`, `cron`, `kafka`, `kubernetes_resource`, `kubernetes_workload`, `metrics_api`, `mysql`, `nats_jetstream`, `postgresql`, `prometheus`, `rabbitmq`, `redis`, `resource` | the other trigger types |
//! | [`cluster`] | what triggers read of the cluster, implemented by the caller |
//! | [`keda`] | the trigger types and credentials that KEDA has beyond these |
//!
//! Everything is resolved before it comes here: the caller resolves secrets, environment and pod identity, and gives `now`;
//! deadlines follow tokio's clock.
//!
//! # Add a trigger type
//!
//! 1. Write a module with the parameters as `const` [`Field`](field::Field)s, a `static TRIGGER:` [`TriggerType`] that
//!    lists them, and a scaler that reads them with [`metadata::Reader`] by the same constants.
//! 2. Add `&module::TRIGGER` to [`registry::TRIGGER_TYPES`].
//! 3. Write its page in `docs/scalers`, which the descriptor names.
//! 4. Run `cargo xtask generate`, which adds the type to `docs/reference/triggers.md`.
//!
//! Lint, admission, simulate, telemetry and `kedge rbac` read the descriptor. A test fails while the parameters that the
//! scaler reads and the ones that the descriptor lists differ.

mod amqp_session;
mod auth;
mod aws_cloudwatch;
mod aws_json;
mod aws_sqs;
pub mod cloud_environment;
pub mod cluster;
pub mod credential_file;
mod cron;
mod dial;
mod document;
pub mod error;
pub mod external;
pub mod field;
mod grpc;
mod host_port;
pub mod http;
pub mod identity;
mod kafka;
mod kafka_cluster;
pub mod keda;
mod kubernetes_resource;
mod kubernetes_workload;
pub mod metadata;
pub mod metric_name;
mod metrics_api;
mod mysql;
mod mysql_session;
mod nats_jetstream;
mod oauth;
pub mod observer;
mod one_metric;
mod percent;
mod postgres_session;
mod postgresql;
mod prometheus;
mod rabbitmq;
mod redis;
mod redis_session;
pub mod registry;
mod resource;
pub mod scaler;
mod sessions;
mod shared;
mod sql;
pub mod target;
pub mod trigger;
pub mod trigger_type;

pub use auth::AUTH_MODES;
pub use cloud_environment::CloudEnvironment;
pub use cluster::{ClusterReads, NoCluster, PodCount, ServiceEndpoint};
pub use error::{Endpoint, ReadError};
pub use http::connector::Connector;
pub use http::{KeepAlive, Proxies, Settings, TlsVersion, parse_ciphers, provider, read_ca_dirs};
pub use registry::{Registry, Substitute, UnexpectedParameters};
pub use resource::CONTAINER_NAME;
pub use rustls::CipherSuite;
pub use scaler::{Activity, BoxFuture, Known, PushEvent, Scaler};
pub use trigger::{AuthParams, BuildError, Environment, FieldError, Owner, Resolution, Role, Secret, TriggerConfig};
pub use trigger_type::TriggerType;

#[cfg(test)]
mod damaged;
#[cfg(test)]
mod recorded_server;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod scram_server;
