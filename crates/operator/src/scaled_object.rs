//! The controller of ScaledObjects. Every reconcile starts from what is observed now; the next one repairs a reconcile that was
//! interrupted anywhere.
//!
//! | module | what it holds |
//! |---|---|
//! | [`reconcile`] | the steps of one reconcile, and when the next is due |
//! | `target` | finding the target |
//! | `scalers` | the scalers of the object, and the events about them |
//! | `subject` | what the following work on: the object, its target, its scalers, its HPA |
//! | `poll` | polling the triggers: readings, activity, decision |
//! | `push` | acting on a push |
//! | `scale` | the step between zero and the minimum that was decided |
//! | `hpa` | the HPA of the object |
//! | `status` | writing the status, and the events about its changes |
//! | `pause` | a full pause |
//! | `finalizer` | the finalizer and the label, and the deletion of the object |
//! | `state` | what is kept between two reconciles |

mod finalizer;
mod hpa;
mod pause;
mod poll;
mod push;
pub mod reconcile;
mod scale;
mod scalers;
mod state;
mod status;
mod subject;
mod target;

use std::sync::Arc;

use kedge_cluster::api_error::{self, is_conflict, is_denied};
use kedge_cluster::{Clock, EventPublisher, ScaleTargets, TargetError};
use kedge_core::selector::names::check_value;
use kube::Client;

use crate::cluster_cache::ClusterCache;
use crate::cluster_watches::ClusterWatches;
use crate::history::Histories;
use crate::readings::Readings;
use crate::telemetry::Telemetry;
pub use state::ReconcileState;

/// Reconciles ScaledObjects.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Reconciler {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) cluster: Arc<ClusterCache>,
    pub(crate) targets: Arc<ScaleTargets>,
    pub(crate) readings: Arc<Readings>,
    pub(crate) events: Arc<EventPublisher>,
    pub(crate) watches: Arc<ClusterWatches>,
    pub(crate) telemetry: Arc<Telemetry>,
    /// Where a dashboard is served.
    pub(crate) histories: Option<Arc<Histories>>,
    /// The version that HPAs are labelled with.
    pub(crate) version: String,
}

/// Whether a label can hold the name of an object.
fn can_be_label_value(name: &str) -> bool {
    check_value(name).is_empty()
}

/// Why a reconcile did not finish. It is retried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("{what}: {}", api_error::message(source))]
    Api { what: &'static str, source: Box<kube::Error> },
    #[error("the ScaledObject was changed during the reconcile")]
    Changed,
    /// The readings became too old to scale in on them.
    #[error("the API server answered too late for the readings")]
    Late,
    /// The HPA was created; the object is due again at once.
    #[error("the HPA was created")]
    Begun,
    /// The wait for sources was given up, and the object is due again.
    #[error("the wait for sources was interrupted")]
    Interrupted,
}

impl ReconcileError {
    /// Whether another client wrote first, or time has passed: the object is read again, and the decision made again.
    fn is_conflict(&self) -> bool {
        match self {
            Self::Changed | Self::Late => true,
            Self::Target(TargetError::Write { source, .. }) | Self::Api { source, .. } => is_conflict(source),
            Self::Target(_) | Self::Begun | Self::Interrupted => false,
        }
    }

    /// Whether the reconcile begins again: what it found is outdated, and not reported.
    fn is_outdated(&self) -> bool {
        matches!(self, Self::Begun | Self::Interrupted) || self.is_conflict()
    }

    /// Whether the API server denies what was tried.
    fn is_denied(&self) -> bool {
        match self {
            Self::Target(
                TargetError::Read { source, .. }
                | TargetError::Write { source, .. }
                | TargetError::Discovery { source, .. },
            )
            | Self::Api { source, .. } => is_denied(source),
            Self::Target(_) | Self::Changed | Self::Late | Self::Begun | Self::Interrupted => false,
        }
    }

    fn api(what: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |error| Self::Api { what, source: Box::new(error) }
    }
}

#[cfg(test)]
mod tests;
