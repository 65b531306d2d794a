//! What the controller knows of a pod: whether it counts, and what it requests. Amounts measured of pods are in
//! [`samples`](super::samples); what follows from both is in [`per_pod`](super::per_pod).

mod classify;
mod observe;
mod requests;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::milli::Milli;

pub(super) use classify::{Classes, classify};
pub(super) use requests::requests_of;

/// Amounts by the name of their resource.
pub type Requests = BTreeMap<String, Milli>;

/// A pod that the target's selector matches: the fields that the algorithm reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPod {
    pub name: String,
    pub phase: Phase,
    pub is_deleting: bool,
    pub started_at: Option<DateTime<Utc>>,
    /// The Ready condition; absent in a pod that no kubelet has seen yet.
    pub readiness: Option<Readiness>,
    /// Pod-level requests, where they are set.
    pub own_requests: Option<Requests>,
    /// Its containers, then those init containers that keep running beside them.
    pub containers: Vec<Container>,
}

/// `Unknown` is every other phase, and an absent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    pub state: ReadyState,
    /// The condition's last transition.
    pub since: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyState {
    Ready,
    Unready,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub name: String,
    pub requests: Requests,
}

/// Why the pods allow no proposal. The texts are the controller's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PodsError {
    #[error("no pods returned by selector while calculating replica count")]
    NoPods,
    #[error("unable to calculate ready pods: {0}")]
    ReadyPods(Box<PodsError>),
    #[error("did not receive metrics for targeted pods (pods might be unready)")]
    NoSamples,
    #[error("no metrics returned matched known pods")]
    NothingMatched,
    #[error("missing pod-level request for {resource} in Pod {pod}")]
    NoOwnRequest { resource: String, pod: String },
    #[error("missing request for {resource} in container {container} of Pod {pod}")]
    NoRequest { resource: String, container: String, pod: String },
    #[error("container {container} not found in Pod {pod}")]
    NoContainer { container: String, pod: String },
}

impl ObservedPod {
    fn ready_state(&self) -> Option<ReadyState> {
        self.readiness.map(|readiness| readiness.state)
    }
}

/// How many of the pods run and are ready. Terminating pods count while they are ready.
pub(super) fn count_ready(pods: &[ObservedPod]) -> Result<usize, PodsError> {
    if pods.is_empty() {
        return Err(PodsError::NoPods);
    }
    let serves = |pod: &&ObservedPod| pod.phase == Phase::Running && pod.ready_state() == Some(ReadyState::Ready);
    Ok(pods.iter().filter(serves).count())
}
