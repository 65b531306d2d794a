//! What the pods request of a resource, to compare their usage with.

use std::collections::BTreeMap;

use super::{ObservedPod, PodsError, Requests};
use crate::hpa::model::settings::Gate;
use crate::milli::Milli;

/// The requests of every pod by its name, or of one container of every pod. One pod without requests is an error for all.
pub(in crate::hpa::model) fn requests_of<'a>(
    pods: &'a [ObservedPod],
    resource: &str,
    container: Option<&str>,
    pod_level_resources: Gate,
) -> Result<BTreeMap<&'a str, i64>, PodsError> {
    let request = |pod: &'a ObservedPod| match (&pod.own_requests, container) {
        (Some(own), None) if pod_level_resources.is_on() => Ok((pod.name.as_str(), own_request(pod, own, resource)?)),
        _ => Ok((pod.name.as_str(), sum_of_containers(pod, resource, container)?)),
    };
    pods.iter().map(request).collect()
}

fn own_request(pod: &ObservedPod, own: &Requests, resource: &str) -> Result<i64, PodsError> {
    let missing = || PodsError::NoOwnRequest { resource: resource.to_owned(), pod: pod.name.clone() };
    own.get(resource).map(|Milli(request)| *request).ok_or_else(missing)
}

fn sum_of_containers(pod: &ObservedPod, resource: &str, container: Option<&str>) -> Result<i64, PodsError> {
    let asked = |name: &str| container.is_none_or(|container| container == name);
    let mut sum = 0_i64;
    for part in pod.containers.iter().filter(|part| asked(&part.name)) {
        let Some(Milli(request)) = part.requests.get(resource) else {
            let (resource, container) = (resource.to_owned(), part.name.clone());
            return Err(PodsError::NoRequest { resource, container, pod: pod.name.clone() });
        };
        sum = sum.wrapping_add(*request);
    }
    match container {
        Some(name) if !pod.containers.iter().any(|part| part.name == name) => {
            Err(PodsError::NoContainer { container: name.to_owned(), pod: pod.name.clone() })
        }
        _ => Ok(sum),
    }
}
