//! The controller of ScaledJobs. Every reconcile starts from what is observed now; the next one repairs a reconcile that was interrupted
//! anywhere.
//!
//! | module | what it holds |
//! |---|---|
//! | `reconcile` | the steps of one reconcile, and when the next is due |
//! | `scalers` | the scalers of the object, and the events about them |
//! | `poll` | polling the triggers: readings, demand, decision |
//! | `create` | creating Jobs |
//! | `cleanup` | deleting Jobs: those of an older spec, and finished ones beyond the limits |
//! | `status` | writing the status, and the events about its changes |
//! | `finalizer` | the finalizer, and the deletion of the object |
//! | [`watches`] | the watches that fill the cache of ScaledJobs |
//! | `state` | what is kept between two reconciles |
//! | [`unsupported`] | reporting ScaledJobs where they are not run |

mod cleanup;
mod create;
mod finalizer;
mod poll;
mod reconcile;
mod scalers;
mod state;
mod status;
pub mod unsupported;
pub mod watches;

use std::sync::Arc;

use kedge_cluster::api_error::{self, is_conflict};
use kedge_cluster::{Clock, EventPublisher};
use kube::Client;

use crate::job_cache::JobCache;
use crate::readings::Readings;
use crate::telemetry::Telemetry;
pub use state::JobReconcileState;
use watches::JobWatches;

/// Reconciles ScaledJobs.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct JobReconciler {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) cache: Arc<JobCache>,
    pub(crate) watches: Arc<JobWatches>,
    pub(crate) readings: Arc<Readings>,
    pub(crate) events: Arc<EventPublisher>,
    pub(crate) telemetry: Arc<Telemetry>,
    /// The version that Jobs are labelled with.
    pub(crate) version: String,
}

/// Why a reconcile did not finish. It is retried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobReconcileError {
    #[error("{what}: {}", api_error::message(source))]
    Api { what: &'static str, source: Box<kube::Error> },
    /// The wait for sources was given up, and the object is due again.
    #[error("the wait for sources was interrupted")]
    Interrupted,
}

impl JobReconcileError {
    fn api(what: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |error| Self::Api { what, source: Box::new(error) }
    }

    /// Whether another client wrote first: the object is read again, and the decision made again.
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Api { source, .. } if is_conflict(source))
    }
}

#[cfg(test)]
mod tests;
