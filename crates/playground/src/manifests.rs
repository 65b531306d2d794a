//! Applying manifests as `kubectl apply --server-side` does. What they take for granted, and is not there, is made up.

use kedge_plane::{Gvr, Plane};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{self, ApiResource, Scope};
use serde_json::{Value, json};

use crate::cluster::ADMINISTRATOR;

/// The field manager.
const MANAGER: &str = "kedge-playground";

/// Where objects go that name no namespace.
const NAMESPACE: &str = "default";

/// Why an object is not in the cluster.
#[derive(Debug, thiserror::Error)]
#[error("{object}: {problem}")]
pub struct NotApplied {
    pub object: String,
    pub problem: String,
}

/// Applies objects in an order that works, and returns what was made up or left out, in words. The first object that is refused ends it.
pub async fn apply(plane: &Plane, objects: &[Value]) -> Result<Vec<String>, NotApplied> {
    let client = plane.client(ADMINISTRATOR);
    let mut notices = Vec::new();
    let mut sorted: Vec<&Value> = objects.iter().collect();
    sorted.sort_by_key(|object| rank(object));
    for object in sorted {
        if object["kind"] == "CustomResourceDefinition" {
            notices.push(format!("{} is left out: Kedge's own are installed", named(object)));
            continue;
        }
        if let Some(namespace) = object["metadata"]["namespace"].as_str() {
            ensure_namespace(&client, plane, namespace).await?;
        }
        if matches!(object["kind"].as_str(), Some("ScaledObject")) {
            notices.extend(ensure_target(&client, plane, object).await?);
        }
        send(&client, object).await?;
    }
    Ok(notices)
}

/// Namespaces first, and what scales last.
fn rank(object: &Value) -> u8 {
    match object["kind"].as_str().unwrap_or_default() {
        "Namespace" => 0,
        "ServiceAccount" | "Secret" | "ConfigMap" => 1,
        "TriggerAuthentication" | "ClusterTriggerAuthentication" => 3,
        "ScaledObject" | "ScaledJob" => 4,
        _ => 2,
    }
}

fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

async fn ensure_namespace(client: &Client, plane: &Plane, name: &str) -> Result<(), NotApplied> {
    if plane.object(&Gvr::new("", "v1", "namespaces"), None, name).is_some() {
        return Ok(());
    }
    send(client, &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await
}

/// Makes up the target of a ScaledObject, if there is none and its kind is known.
async fn ensure_target(client: &Client, plane: &Plane, object: &Value) -> Result<Option<String>, NotApplied> {
    let reference = &object["spec"]["scaleTargetRef"];
    let kind = reference["kind"].as_str().unwrap_or("Deployment");
    let (Some(name), Some(resource)) = (reference["name"].as_str(), workload(kind)) else { return Ok(None) };
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or(NAMESPACE);
    if plane.object(&resource, Some(namespace), name).is_some() {
        return Ok(None);
    }
    let labels = json!({ "app": name });
    let resources = json!({ "requests": { "cpu": "100m", "memory": "128Mi" } });
    let pod = json!({ "containers": [{ "name": "main", "image": "playground", "resources": resources }] });
    let made_up = json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name, "namespace": namespace },
        "spec": {
            "replicas": 0, "serviceName": (kind == "StatefulSet").then_some(name),
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": pod },
        },
    });
    send(client, &without_nulls(made_up)).await?;
    Ok(Some(format!("{kind} {namespace}/{name} is made up: the manifests have none")))
}

/// The resource of a kind that can be made up.
pub(crate) fn workload(kind: &str) -> Option<Gvr> {
    match kind {
        "Deployment" => Some(Gvr::new("apps", "v1", "deployments")),
        "StatefulSet" => Some(Gvr::new("apps", "v1", "statefulsets")),
        _ => None,
    }
}

fn without_nulls(mut object: Value) -> Value {
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.retain(|_, value| !value.is_null());
    }
    object
}

async fn send(client: &Client, object: &Value) -> Result<(), NotApplied> {
    let failed = |problem: String| NotApplied { object: named(object), problem };
    let name = object["metadata"]["name"].as_str().ok_or_else(|| failed("it has no name".to_owned()))?;
    let (resource, scope) = find_kind(client, object).await.map_err(&failed)?;
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or(NAMESPACE);
    let api: Api<DynamicObject> = match scope {
        Scope::Namespaced => Api::namespaced_with(client.clone(), namespace, &resource),
        Scope::Cluster => Api::all_with(client.clone(), &resource),
    };
    let applied = api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(object)).await;
    applied.map(drop).map_err(|error| failed(kedge_cluster::api_error::message(&error)))
}

async fn find_kind(client: &Client, object: &Value) -> Result<(ApiResource, Scope), String> {
    let (version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
    let (Some(version), Some(kind)) = (version, kind) else { return Err("it has no apiVersion and kind".to_owned()) };
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let found = discovery::pinned_kind(client, &GroupVersionKind::gvk(group, version, kind)).await;
    let (resource, capabilities) =
        found.map_err(|_| format!("the playground has no kind {kind} in {group}/{version}; remove it"))?;
    Ok((resource, capabilities.scope))
}
