//! Pods, their containers and volumes.

use kedge_core::quantity::Quantity;
use serde_json::{Value, json};

use super::{Fields, has, list, object, set, text};

/// What only pods get, and not the templates of pods.
pub(super) fn pod(pod: &mut Fields) {
    let Some(spec) = object(pod, "spec") else { return };
    set(spec, "enableServiceLinks", true);
    let on_host = spec.get("hostNetwork") == Some(&json!(true));
    for kind in ["initContainers", "containers"] {
        for container in list(spec, kind) {
            request_limits(container);
            if on_host {
                list(container, "ports").for_each(open_on_host);
            }
        }
    }
    let class = quality(spec);
    if let Some(status) = object(pod, "status") {
        set(status, "phase", "Pending");
        set(status, "qosClass", class);
    }
}

/// Who limits without requesting requests the limit.
fn request_limits(container: &mut Fields) {
    let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else { return };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
    if let Some(requests) = object(resources, "requests") {
        limits.into_iter().for_each(|(name, limit)| set(requests, &name, limit));
    }
}

fn open_on_host(port: &mut Fields) {
    if let Some(number) = port.get("containerPort").cloned() {
        set(port, "hostPort", number);
    }
}

/// The class of service: by whether all, some or no containers request and limit processors and memory.
fn quality(spec: &Fields) -> &'static str {
    let kinds = ["initContainers", "containers"].into_iter();
    let containers: Vec<_> = kinds.filter_map(|kind| spec.get(kind)?.as_array()).flatten().collect();
    let amount = |container: &Value, kind: &str, name: &str| {
        let text = container.pointer(&format!("/resources/{kind}/{name}"))?.as_str()?.to_owned();
        Quantity::parse(&text).ok().filter(|amount| amount.milli_value() != 0)
    };
    let counted = || containers.iter().flat_map(|container| ["cpu", "memory"].map(|name| (*container, name)));
    let all_limited = counted().all(|(container, name)| {
        let limit = amount(container, "limits", name);
        limit.is_some()
            && limit.map(|it| it.milli_value()) == amount(container, "requests", name).map(|it| it.milli_value())
    });
    let any = counted()
        .any(|(container, name)| ["limits", "requests"].iter().any(|kind| amount(container, kind, name).is_some()));
    match (any, all_limited) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

pub(super) fn container(container: &mut Fields) {
    let policy = if is_latest(text(container, "image")) { "Always" } else { "IfNotPresent" };
    set(container, "imagePullPolicy", policy);
}

/// Whether an image is the latest: by its tag, or because it has neither tag nor digest.
fn is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let (folders, last) = name.rsplit_once('/').map_or(("", name), |(folders, last)| (folders, last));
    let (last, tag) = last.split_once(':').map_or((last, None), |(last, tag)| (last, Some(tag)));
    let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    // What is no name of an image is nothing that could be the latest.
    let is_name = !last.is_empty() && last.chars().all(of_name) && !folders.contains("//");
    is_name && (tag == Some("latest") || tag.is_none() && digest.is_none())
}

/// A volume without a source is an empty directory.
pub(super) fn volume(volume: &mut Fields) {
    if !volume.iter().any(|(name, value)| name != "name" && !value.is_null()) {
        set(volume, "emptyDir", Fields::new());
    }
    if let Some(image) =
        volume.get_mut("image").and_then(Value::as_object_mut).filter(|image| !has(image, "pullPolicy"))
    {
        let policy = if is_latest(text(image, "reference")) { "Always" } else { "IfNotPresent" };
        set(image, "pullPolicy", policy);
    }
}
