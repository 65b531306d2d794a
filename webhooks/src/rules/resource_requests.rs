//! cpu and memory triggers: the HPA compares usage with the requests of the target's containers.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_api::trigger::Trigger;
use kedge_core::trigger_class::Resource;

use super::trigger::{resource_of, trigger_path};
use crate::neighbours::{Container, KindName, Neighbours, PodResources, Workload, WorkloadKind};
use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static MISSING_TARGET: Rule = Rule {
    id: "missing-target",
    severity: Severity::Error,
    about: "there is a cpu or memory trigger, but the target does not exist",
    counted_as: None,
};

pub static MISSING_RESOURCE_REQUEST: Rule = Rule {
    id: "missing-resource-request",
    severity: Severity::Error,
    about: "there is a cpu or memory trigger, but neither the pod nor a container requests that resource, and no LimitRange sets a default",
    counted_as: Some("missing-requests"),
};

pub static UNSUPPORTED_SCALE_TO_ZERO: Rule = Rule {
    id: "unsupported-scale-to-zero",
    severity: Severity::Error,
    about: "all triggers are cpu or memory, which cannot scale from zero, but minReplicaCount is 0",
    counted_as: Some("scale-to-zero-requirements-not-met"),
};

/// The kind of the target, if the rules need its containers.
pub fn workload_to_check(spec: &ScaledObjectSpec) -> Option<WorkloadKind> {
    // KEDA: applies these rules to no other kind.
    let kind = KindName::for_target(spec).workload()?;
    spec.triggers.iter().any(|trigger| resource_of(trigger).is_some()).then_some(kind)
}

pub fn check(spec: &ScaledObjectSpec, neighbours: &Neighbours) -> Vec<Violation> {
    let Some(kind) = workload_to_check(spec) else { return Vec::new() };
    let mut violations = match &neighbours.workload {
        Workload::Unknown => Vec::new(),
        Workload::Missing => return vec![missing_target(spec, kind)],
        Workload::Found(resources) => check_requests(spec, resources, neighbours),
    };
    let min = spec.min_replica_count.unwrap_or(0);
    if min <= 0 && spec.triggers.iter().all(|trigger| resource_of(trigger).is_some()) {
        violations.push(Violation::new(
            &UNSUPPORTED_SCALE_TO_ZERO,
            FieldPath::new("spec.minReplicaCount"),
            "scaledobject has only cpu/memory triggers AND minReplica is 0 (scale to zero doesn't work in this case)",
            "set minReplicaCount to 1 or more, or add a trigger of another type",
        ));
    }
    violations
}

fn missing_target(spec: &ScaledObjectSpec, kind: WorkloadKind) -> Violation {
    let problem = format!("{}.apps {:?} not found", kind.name(), spec.scale_target_ref.name);
    let remedy = "create the target first: its requests are what cpu and memory are compared with";
    Violation::new(&MISSING_TARGET, FieldPath::new("spec.scaleTargetRef.name"), problem, remedy)
}

fn check_requests(spec: &ScaledObjectSpec, resources: &PodResources, neighbours: &Neighbours) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, trigger) in spec.triggers.iter().enumerate() {
        let Some(resource) = resource_of(trigger) else { continue };
        // KEDA: a metric of one container needs that container's own request.
        if container_name(trigger).is_none() && resources.pod.has(resource) {
            continue;
        }
        let lacks = |container: &&Container| !container.requests.has(resource) && !neighbours.defaults.has(resource);
        let lacking = resources.containers.iter().filter(|container| measures(trigger, container)).filter(lacks);
        violations.extend(lacking.map(|container| missing_request(index, resource, container)));
    }
    violations
}

/// Whether a trigger measures a container.
// KEDA: admits a containerName that no container has.
fn measures(trigger: &Trigger, container: &Container) -> bool {
    container_name(trigger).is_none_or(|name| *name == *container.name)
}

/// The container that a trigger names.
fn container_name(trigger: &Trigger) -> Option<&str> {
    let named = trigger.metadata.get(kedge_scalers::CONTAINER_NAME.name).filter(|name| !name.is_empty());
    named.map(String::as_str)
}

fn missing_request(index: usize, resource: Resource, container: &Container) -> Violation {
    let (resource, name) = (resource.name(), &container.name);
    let problem = format!(
        "the scaledobject has a {resource} trigger but the container {name} doesn't have the {resource} request defined"
    );
    let remedy = format!(
        "set resources.requests.{resource} of that container, or name another one in the trigger's containerName"
    );
    Violation::new(&MISSING_RESOURCE_REQUEST, trigger_path(index), problem, remedy)
}
