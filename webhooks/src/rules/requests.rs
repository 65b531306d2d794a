//! cpu and memory triggers: the HPA compares them with what the target's containers request.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_api::trigger::Trigger;
use kedge_core::trigger_class::Resource;

use super::{resource_of, trigger_path};
use crate::finding::{FieldPath, Finding, Rule, Severity};
use crate::neighbours::{Container, KindWord, Neighbours, Workload, WorkloadKind};

pub static TARGET_MISSING: Rule = Rule {
    id: "target-missing",
    severity: Severity::Error,
    about: "there is a cpu or memory trigger, but the target does not exist",
    counted_as: None,
};

pub static REQUEST_MISSING: Rule = Rule {
    id: "request-missing",
    severity: Severity::Error,
    about: "there is a cpu or memory trigger, but a container requests none of it, nor has it by default",
    counted_as: Some("missing-requests"),
};

pub static ONLY_RESOURCES_TO_ZERO: Rule = Rule {
    id: "only-resources-to-zero",
    severity: Severity::Error,
    about: "there are only cpu and memory triggers, which cannot wake a target from 0, but minReplicaCount is 0",
    counted_as: Some("scale-to-zero-requirements-not-met"),
};

/// The workload whose containers matter, if they do.
pub fn wanted(spec: &ScaledObjectSpec) -> Option<WorkloadKind> {
    // KEDA: other kinds are not looked into, and so not held to these rules at all.
    let kind = KindWord::of_target(spec).workload()?;
    spec.triggers.iter().any(|trigger| resource_of(trigger).is_some()).then_some(kind)
}

pub fn check(spec: &ScaledObjectSpec, neighbours: &Neighbours) -> Vec<Finding> {
    let Some(kind) = wanted(spec) else { return Vec::new() };
    let mut findings = match &neighbours.workload {
        Workload::Unknown => Vec::new(),
        Workload::Missing => return vec![missing(spec, kind)],
        Workload::Containers(containers) => check_containers(spec, containers, neighbours),
    };
    let min = spec.min_replica_count.unwrap_or(0);
    if min <= 0 && spec.triggers.iter().all(|trigger| resource_of(trigger).is_some()) {
        findings.push(Finding::new(
            &ONLY_RESOURCES_TO_ZERO,
            FieldPath::of("spec.minReplicaCount"),
            "scaledobject has only cpu/memory triggers AND minReplica is 0 (scale to zero doesn't work in this case)",
            "set minReplicaCount to 1 or more, or add a trigger of another type",
        ));
    }
    findings
}

fn missing(spec: &ScaledObjectSpec, kind: WorkloadKind) -> Finding {
    let problem = format!("{}.apps {:?} not found", kind.name(), spec.scale_target_ref.name);
    let remedy = "create the target first: its requests are what cpu and memory are compared with";
    Finding::new(&TARGET_MISSING, FieldPath::of("spec.scaleTargetRef.name"), problem, remedy)
}

fn check_containers(spec: &ScaledObjectSpec, containers: &[Container], neighbours: &Neighbours) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, trigger) in spec.triggers.iter().enumerate() {
        let Some(resource) = resource_of(trigger) else { continue };
        let lacks = |container: &&Container| !container.requests.has(resource) && !neighbours.defaults.has(resource);
        let bare = containers.iter().filter(|container| counts(trigger, container)).filter(lacks);
        findings.extend(bare.map(|container| bare_container(index, resource, container)));
    }
    findings
}

/// Whether a trigger is about a container.
// KEDA: a containerName that no container has passes.
fn counts(trigger: &Trigger, container: &Container) -> bool {
    let named = trigger.metadata.get(kedge_scalers::CONTAINER_NAME.name).filter(|name| !name.is_empty());
    named.is_none_or(|name| **name == *container.name)
}

fn bare_container(index: usize, resource: Resource, container: &Container) -> Finding {
    let (resource, name) = (resource.name(), &container.name);
    let problem = format!(
        "the scaledobject has a {resource} trigger but the container {name} doesn't have the {resource} request defined"
    );
    let remedy = format!(
        "set resources.requests.{resource} of that container, or name another one in the trigger's containerName"
    );
    Finding::new(&REQUEST_MISSING, trigger_path(index), problem, remedy)
}
