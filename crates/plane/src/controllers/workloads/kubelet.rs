//! The kubelet stub: all pods become ready after the start-up time, and end as soon as they are deleted.
//! There is no node and nothing is run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateWaiting, ContainerStatus, Pod, PodCondition, PodIP,
    PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;
use tokio::time::Instant;

use crate::api::error::ApiError;
use crate::controllers::client::{ControllerClient, Grace, ObjectKey, PODS, Part, RETRY_PAUSE};

#[derive(Debug)]
pub(super) struct Kubelet {
    client: ControllerClient,
    start_up: Duration,
    /// Pods that were not processed yet.
    new: BTreeSet<ObjectKey>,
    /// Pods that start, by when they are ready.
    starting: BTreeMap<ObjectKey, Start>,
    /// Pods that are being deleted.
    ending: BTreeSet<ObjectKey>,
    retry_at: Option<Instant>,
    /// How many addresses were given away.
    addresses: u32,
}

/// One pod on its way up.
#[derive(Debug)]
struct Start {
    uid: String,
    ready_at: Instant,
}

impl Kubelet {
    pub(super) fn new(client: ControllerClient, start_up: Duration) -> Self {
        let (new, ending) = (BTreeSet::new(), BTreeSet::new());
        Self { client, start_up, new, starting: BTreeMap::new(), ending, retry_at: None, addresses: 0 }
    }

    /// Learns of a pod as it is now, if it is.
    pub(super) fn note(&mut self, key: &ObjectKey, pod: Option<&Value>) {
        self.new.remove(key);
        self.ending.remove(key);
        let Some(pod) = pod else {
            self.starting.remove(key);
            return;
        };
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            self.starting.remove(key);
            self.ending.insert(key.clone());
        } else if !matches!(pod["status"]["phase"].as_str(), None | Some("Pending")) {
            self.starting.remove(key);
        } else if self.starting.get(key).is_none_or(|start| start.uid != uid) {
            self.new.insert(key.clone());
        }
    }

    pub(super) async fn act(&mut self) {
        self.retry_at = None;
        for key in std::mem::take(&mut self.ending) {
            if self.end(&key).await.is_err() {
                self.ending.insert(key);
                self.retry_at = Some(Instant::now() + RETRY_PAUSE);
            }
        }
        for key in std::mem::take(&mut self.new) {
            self.begin(key).await;
        }
        let now = Instant::now();
        let due: Vec<ObjectKey> =
            self.starting.iter().filter(|(_, start)| start.ready_at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.finish(key).await;
        }
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.starting.values().map(|start| start.ready_at).chain(self.retry_at).min()
    }

    /// A pod that others still hold on to waits for them.
    async fn end(&self, key: &ObjectKey) -> Result<(), ApiError> {
        match self.client.object::<Pod>(&PODS, key) {
            Some(pod) if pod.metadata.finalizers.as_ref().is_none_or(Vec::is_empty) => {
                self.client.delete(&PODS, key, Grace::None).await
            }
            _ => Ok(()),
        }
    }

    /// Takes the pod up. One that is ready at once is spared the way there.
    async fn begin(&mut self, key: ObjectKey) {
        let Some(pod) = self.client.object::<Pod>(&PODS, &key) else { return };
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        self.starting.insert(key.clone(), Start { uid, ready_at: Instant::now() + self.start_up });
        if !self.start_up.is_zero() {
            // Nothing depends on it: a error only means that the pod is not seen starting.
            let _ = self.write(&key, pod, Stage::Starting).await;
        }
    }

    async fn finish(&mut self, key: ObjectKey) {
        let Some(pod) = self.client.object::<Pod>(&PODS, &key) else {
            self.starting.remove(&key);
            return;
        };
        self.addresses += 1;
        let address = address(self.addresses);
        match self.write(&key, pod, Stage::Running { address }).await {
            Ok(()) => drop(self.starting.remove(&key)),
            Err(error) => {
                tracing::debug!(%error, %key, "a pod is tried again");
                if let Some(start) = self.starting.get_mut(&key) {
                    start.ready_at = Instant::now() + RETRY_PAUSE;
                }
            }
        }
    }

    async fn write(&self, key: &ObjectKey, pod: Pod, stage: Stage) -> Result<(), ApiError> {
        let status = status(&pod, &stage, &self.client.time());
        self.client.update(&PODS, key, Part::Status, &Pod { status: Some(status), ..pod }).await
    }
}

/// How far a pod is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    Running { address: String },
}

fn address(number: u32) -> String {
    format!("10.{}.{}.{}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff)
}

fn status(pod: &Pod, stage: &Stage, now: &Time) -> PodStatus {
    let old = pod.status.clone().unwrap_or_default();
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let (phase, pod_ip) = match stage {
        Stage::Starting => ("Pending", None),
        Stage::Running { address } => ("Running", Some(address.clone())),
    };
    PodStatus {
        conditions: Some(conditions(&old, stage, now, containers)),
        container_statuses: Some(containers.iter().map(|container| container_status(container, stage, now)).collect()),
        phase: Some(phase.to_owned()),
        pod_ips: pod_ip.clone().map(|ip| vec![PodIP { ip }]),
        pod_ip,
        start_time: Some(old.start_time.clone().unwrap_or_else(|| now.clone())),
        ..old
    }
}

fn conditions(old: &PodStatus, stage: &Stage, now: &Time, containers: &[Container]) -> Vec<PodCondition> {
    let names: Vec<&str> = containers.iter().map(|container| container.name.as_str()).collect();
    let why = format!("containers with unready status: [{}]", names.join(" "));
    let condition = |type_: &str| {
        let is_true = matches!(stage, Stage::Running { .. }) || matches!(type_, "Initialized" | "PodScheduled");
        let status = if is_true { "True" } else { "False" };
        let known = old.conditions.iter().flatten().find(|known| known.type_ == type_ && known.status == status);
        PodCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            last_transition_time: known
                .and_then(|known| known.last_transition_time.clone())
                .or_else(|| Some(now.clone())),
            reason: (!is_true).then(|| "ContainersNotReady".to_owned()),
            message: (!is_true).then(|| why.clone()),
            ..PodCondition::default()
        }
    };
    ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition).to_vec()
}

fn container_status(container: &Container, stage: &Stage, now: &Time) -> ContainerStatus {
    let is_running = matches!(stage, Stage::Running { .. });
    let waiting = ContainerStateWaiting { reason: Some("ContainerCreating".to_owned()), message: None };
    let state = ContainerState {
        running: is_running.then(|| ContainerStateRunning { started_at: Some(now.clone()) }),
        waiting: (!is_running).then_some(waiting),
        terminated: None,
    };
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        ready: is_running,
        started: Some(is_running),
        state: Some(state),
        ..ContainerStatus::default()
    }
}
