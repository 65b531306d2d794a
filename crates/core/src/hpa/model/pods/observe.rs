//! Conversion from pods of the API.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::api::resource;

use super::{Container, ObservedPod, Phase, Readiness, ReadyState, Requests};
use crate::milli::Milli;
use crate::quantity::Quantity;
use kedge_api::time::from_time;

impl From<&v1::Pod> for ObservedPod {
    fn from(pod: &v1::Pod) -> Self {
        let status = pod.status.as_ref();
        let spec = pod.spec.as_ref();
        Self {
            name: pod.metadata.name.clone().unwrap_or_default(),
            phase: status.and_then(|status| status.phase.as_deref()).map_or(Phase::Unknown, phase),
            is_deleting: pod.metadata.deletion_timestamp.is_some(),
            started_at: status.and_then(|status| status.start_time.as_ref()).map(from_time),
            readiness: status.and_then(readiness),
            own_requests: spec
                .and_then(|spec| spec.resources.as_ref())
                .and_then(|resources| resources.requests.as_ref())
                .map(requests),
            containers: spec.map(containers).unwrap_or_default(),
        }
    }
}

fn phase(text: &str) -> Phase {
    match text {
        "Pending" => Phase::Pending,
        "Running" => Phase::Running,
        "Succeeded" => Phase::Succeeded,
        "Failed" => Phase::Failed,
        _ => Phase::Unknown,
    }
}

fn readiness(status: &v1::PodStatus) -> Option<Readiness> {
    let condition = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready")?;
    let state = match condition.status.as_str() {
        "True" => ReadyState::Ready,
        "False" => ReadyState::Unready,
        _ => ReadyState::Unknown,
    };
    // Go's zero time, which an absent transition is read as, lies before every time that matters.
    let since = condition.last_transition_time.as_ref().map_or(chrono::DateTime::<chrono::Utc>::MIN_UTC, from_time);
    Some(Readiness { state, since })
}

fn containers(spec: &v1::PodSpec) -> Vec<Container> {
    let keeps_running = |container: &&v1::Container| container.restart_policy.as_deref() == Some("Always");
    let beside = spec.init_containers.iter().flatten().filter(keeps_running);
    spec.containers.iter().chain(beside).map(container).collect()
}

fn container(container: &v1::Container) -> Container {
    let requested = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    Container { name: container.name.clone(), requests: requested.map(requests).unwrap_or_default() }
}

/// Requests that are no quantities are left out; the API server rejects them.
fn requests(requests: &BTreeMap<String, resource::Quantity>) -> Requests {
    let read = |(name, text): (&String, &resource::Quantity)| {
        Some((name.clone(), Milli(Quantity::parse(&text.0).ok()?.milli_value())))
    };
    requests.iter().filter_map(read).collect()
}
