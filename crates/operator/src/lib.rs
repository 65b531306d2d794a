//! The operator: it watches ScaledObjects and reconciles them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`operator`] | wiring, leader election, start and stop |
//! | `workers` | the reconciles in progress |
//! | `slots` | how many of them work on the cluster at once |
//! | `panics` | confining a panic to one object |
//! | [`work_queue`] | which object is due when |
//! | [`scaled_object`] | the controller of ScaledObjects: reconcile, poll, HPA, status, pause, finalizer |
//! | [`scaled_job`] | the controller of ScaledJobs: reconcile, poll, Jobs, status, finalizer |
//! | `poll_schedule` | when the triggers of an object are polled |
//! | [`readings`] | the readings service, which the reconciler and the metrics API share |
//! | [`scalers_cache`] | the scalers of every object and their newest readings; queries of sources |
//! | `seen_active` | the active readings that the metrics API served between two polls |
//! | [`query_limits`] | how many queries may be in flight |
//! | [`scalers_builder`] | building the scalers of an object |
//! | [`scalable`] | the kind-neutral view of an object with triggers |
//! | [`compact`] | values that are kept for every object and rarely read |
//! | `unreadable` | objects that our types cannot read |
//! | `validation` | the check of a spec before it is used |
//! | [`metrics_source`] | serving the metrics API from the readings service |
//! | [`credentials`] | the credentials of triggers, and noticing their changes |
//! | [`push_listener`] | push sources |
//! | [`cluster_cache`], [`cluster_watches`] | what is cached of the cluster, and the watches that fill the cache |
//! | [`job_cache`] | what is cached of ScaledJobs, their Jobs and the pods of those |
//! | [`cluster_reads`] | what scalers read from the cluster |
//! | [`history`] | what happened to each object lately, where a dashboard is served |
//! | [`leadership`] | leader or standby, and which objects the leader has reconciled |
//! | `retries` | when a reconcile that did not finish is retried |
//! | `write_budget` | how often an object may cause writes |
//! | `condition_events` | the events for changes of conditions |
//! | [`telemetry`] | the operator's own metrics |
//!
//! Scaling rules are in `kedge-core`; what the operator shares with other clients of Kubernetes is in `kedge-cluster`.

pub mod cluster_cache;
pub mod cluster_reads;
pub mod cluster_watches;
pub mod compact;
mod condition_events;
pub mod credentials;
pub mod history;
pub mod job_cache;
pub mod leadership;
pub mod metrics_source;
pub mod operator;
mod panics;
mod poll_schedule;
pub mod push_listener;
pub mod query_limits;
pub mod readings;
mod retries;
pub mod scalable;
pub mod scaled_job;
pub mod scaled_object;
pub mod scalers_builder;
pub mod scalers_cache;
mod seen_active;
mod slots;
pub mod telemetry;
mod unreadable;
mod validation;
pub mod work_queue;
mod workers;
mod write_budget;

pub use cluster_reads::KubeReads;
pub use history::{HistorySettings, OperatorView};
pub use metrics_source::ReadingsSource;
pub use operator::{Operator, Settings};
pub use telemetry::Telemetry;

#[cfg(test)]
mod test_cluster;
