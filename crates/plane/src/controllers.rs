//! Controllers in process: workloads, the kubelet stub, and the HPA controller. They are futures that the
//! caller drives; nothing is spawned here. Each reads the objects, writes only differences, and is woken by the
//! plane's revision and by tokio's clock, so that under a paused clock every run is the same run.
//!
//! | module | what it holds |
//! |---|---|
//! | [`workloads`] | Deployments, ReplicaSets and StatefulSets, and their pods |
//! | [`hpa`] | HorizontalPodAutoscalers, by the exact model of the real controller |
//! | [`nodes`] | nodes that are ready, and pods that are put on them |
//! | [`accounts`] | what every namespace is given |
//! | `client` | how a controller reads and writes |
//!
//! There are no endpoints, jobs, quotas or volumes. [`Controllers`] are those that replicas depend on; nodes and accounts are
//! for planes that serve as a cluster.

pub mod accounts;
pub(crate) mod client;
pub mod hpa;
pub mod nodes;
pub mod workloads;

use std::convert::Infallible;
use std::time::Duration;

use futures::future::join;
pub use kedge_core::hpa::model::settings::Settings as HpaSettings;

pub use accounts::Accounts;
pub use hpa::HpaController;
pub use nodes::Nodes;
pub use workloads::Workloads;

use crate::plane::Plane;

/// The settings of the controllers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// How long a pod takes from its creation until it is ready.
    pub start_up: Duration,
    /// Flags and gates of the HPA controller, its sync period among them.
    pub hpa: HpaSettings,
}

/// All controllers together.
#[derive(Debug)]
pub struct Controllers {
    workloads: Workloads,
    hpa: HpaController,
}

impl Controllers {
    pub fn new(plane: &Plane, settings: Settings) -> Self {
        Self { workloads: Workloads::new(plane, settings.start_up), hpa: HpaController::new(plane, settings.hpa) }
    }

    /// Runs until it is dropped.
    pub async fn run(self) -> Infallible {
        join(self.workloads.run(), self.hpa.run()).await.0
    }
}
