//! Resource, ContainerResource and Pods metrics: an amount per pod.

use k8s_openapi::api::autoscaling::v2::{
    ContainerResourceMetricSource, MetricTarget, MetricValueStatus, PodsMetricSource, ResourceMetricSource,
};

use super::{
    FailureReason, MetricContext, MetricFailure, MetricProposal, MetricReading, not_read, read_target, report,
};
use crate::hpa::model::per_pod::{PerPodInput, Resource, propose_by_usage, propose_by_utilisation};
use crate::hpa::model::samples::PodSamples;

/// What a resource metric comes to: replicas, name, and the current amount of the status.
type ResourceProposal = (i32, String, MetricValueStatus);

pub(super) fn propose_resource(
    source: &ResourceMetricSource,
    reading: Option<&MetricReading>,
    context: &MetricContext<'_>,
) -> Result<MetricProposal, MetricFailure> {
    let resource = Resource { name: &source.name, container: None };
    let fail = |cause: String| MetricFailure {
        reason: FailureReason::Resource,
        error: format!("failed to get {} resource metric value: {cause}", source.name),
        cause,
    };
    let (replicas, name, current) = answer(resource, &source.target, reading, context).map_err(fail)?;
    Ok(MetricProposal { replicas, name, status: report::resource(source, current) })
}

pub(super) fn propose_container_resource(
    source: &ContainerResourceMetricSource,
    reading: Option<&MetricReading>,
    context: &MetricContext<'_>,
) -> Result<MetricProposal, MetricFailure> {
    let resource = Resource { name: &source.name, container: Some(&source.container) };
    let fail = |cause: String| MetricFailure {
        reason: FailureReason::ContainerResource,
        error: format!("failed to get {} container metric value: {cause}", source.container),
        cause,
    };
    let (replicas, name, current) = answer(resource, &source.target, reading, context).map_err(fail)?;
    Ok(MetricProposal { replicas, name, status: report::container_resource(source, current) })
}

fn answer(
    resource: Resource<'_>,
    target: &MetricTarget,
    reading: Option<&MetricReading>,
    context: &MetricContext<'_>,
) -> Result<ResourceProposal, String> {
    let fetched = read_samples(reading);
    let fetched = fetched.map_err(|error| format!("unable to get metrics for resource {}: {error}", resource.name));
    match (&target.average_value, target.average_utilization) {
        (Some(target), _) => {
            let proposal = read_target(target).and_then(|target| {
                let proposal = propose_by_usage(seen(fetched?, context), Some(resource.name), target);
                proposal.map_err(|problem| problem.to_string())
            });
            let proposal = proposal.map_err(|cause| format!("failed to get {} usage: {cause}", resource.name))?;
            let current = report::resource_average(resource.name, proposal.reported, None);
            // HPA: a container's resource has the same name here as a pod's.
            Ok((proposal.replicas, format!("{} resource", resource.name), current))
        }
        (None, Some(percent)) => {
            let proposal = fetched.and_then(|samples| {
                let proposal = propose_by_utilisation(seen(samples, context), resource, percent);
                proposal.map_err(|problem| problem.to_string())
            });
            let proposal = proposal.map_err(|cause| format!("failed to get {} utilization: {cause}", resource.name))?;
            let (average, percent) = (proposal.reported_average, Some(proposal.reported_percent));
            let kind = if resource.container.is_some() { "container resource" } else { "resource" };
            let name = format!("{} {kind} utilization (percentage of request)", resource.name);
            Ok((proposal.replicas, name, report::resource_average(resource.name, average, percent)))
        }
        (None, None) => {
            Err(no_target("resource", "neither an average utilization target nor an average value (usage) target"))
        }
    }
}

pub(super) fn propose_pods(
    source: &PodsMetricSource,
    reading: Option<&MetricReading>,
    context: &MetricContext<'_>,
) -> Result<MetricProposal, MetricFailure> {
    let metric = &source.metric.name;
    let propose = || {
        let target =
            source.target.average_value.as_ref().ok_or_else(|| no_target("pods", "no average value target"))?;
        let target = read_target(target)?;
        let samples = read_samples(reading).map_err(|error| format!("unable to get metric {metric}: {error}"))?;
        propose_by_usage(seen(samples, context), None, target).map_err(|problem| problem.to_string())
    };
    let fail = |cause: String| MetricFailure {
        reason: FailureReason::Pods,
        error: format!("failed to get pods metric value: {cause}"),
        cause,
    };
    let proposal = propose().map_err(fail)?;
    let status = report::pods(source, report::average(proposal.reported));
    Ok(MetricProposal { replicas: proposal.replicas, name: format!("pods metric {metric}"), status })
}

fn read_samples(reading: Option<&MetricReading>) -> Result<&PodSamples, String> {
    match reading {
        Some(MetricReading::Pods(samples)) => samples.as_ref().map_err(Clone::clone),
        _ => not_read(),
    }
}

fn seen<'a>(samples: &'a PodSamples, context: &MetricContext<'a>) -> PerPodInput<'a> {
    let MetricContext { current, pods, tolerances, settings, now, .. } = *context;
    PerPodInput { pods, samples, current, tolerances, settings, now }
}

fn no_target(kind: &str, missing: &str) -> String {
    format!("invalid {kind} metric source: {missing} was set")
}
