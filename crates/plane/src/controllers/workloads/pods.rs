//! A pod from a template, and what is asked of pods.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};

use super::index::Index;
use crate::controllers::client::{ControllerClient, ObjectKey, PODS, controller_of};

/// The pods that an owner controls, whatever state they are in, by name.
pub(super) fn controlled(client: &ControllerClient, index: &Index, owner: &ObjectMeta) -> Vec<Pod> {
    let uid = owner.uid.as_deref().unwrap_or_default();
    let is_controlled = |pod: &Pod| controller_of(&pod.metadata).is_some_and(|controller| controller.uid == uid);
    let pods = index.owned(uid).filter(|(resource, _)| *resource == *PODS);
    pods.filter_map(|(_, key)| client.object(&PODS, key)).filter(is_controlled).collect()
}

/// A pod that is yet to be created.
pub(super) fn build(template: &PodTemplateSpec, namespace: &str, name: String, owner: OwnerReference) -> Pod {
    let ObjectMeta { labels, annotations, finalizers, .. } = template.metadata.clone().unwrap_or_default();
    let generate_name = Some(format!("{}-", owner.name));
    let metadata = ObjectMeta {
        name: Some(name),
        generate_name,
        namespace: Some(namespace.to_owned()),
        labels,
        annotations,
        finalizers,
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    };
    Pod { metadata, spec: template.spec.clone(), status: None }
}

/// Neither over nor on its way out.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_ending(pod) && !matches!(phase(pod), "Succeeded" | "Failed")
}

pub(super) fn is_ending(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

pub(super) fn is_ready(pod: &Pod) -> bool {
    ready_condition(pod).is_some_and(|condition| condition.status == "True")
}

/// Since when the pod is ready, or not.
pub(super) fn ready_since(pod: &Pod) -> Option<&Time> {
    ready_condition(pod).and_then(|condition| condition.last_transition_time.as_ref())
}

pub(super) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub(super) fn label<'a>(labels: Option<&'a BTreeMap<String, String>>, name: &str) -> Option<&'a str> {
    labels.and_then(|labels| labels.get(name)).map(String::as_str)
}

pub(super) fn key(pod: &Pod) -> ObjectKey {
    ObjectKey::from_meta(&pod.metadata)
}

/// A number for a status, which leaves zeros out.
pub(super) fn count<'a>(pods: impl IntoIterator<Item = &'a Pod>, counts: impl Fn(&Pod) -> bool) -> Option<i32> {
    let number = pods.into_iter().filter(|pod| counts(pod)).count();
    i32::try_from(number).ok().filter(|number| *number != 0)
}

/// The name of a template: the same for the same one, in the letters that Kubernetes uses for such names.
pub(super) fn template_hash(template: &PodTemplateSpec) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let text = serde_json::to_string(template).unwrap_or_default();
    // FNV-1a: not the sum that Kubernetes takes, but as long.
    let sum = text.bytes().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    sum.to_string().bytes().map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()])).collect()
}

fn ready_condition(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().find(|condition| condition.type_ == "Ready")
}
