//! The visible state of a namespace: its ScaledObjects, HPAs and Deployments, without what differs from run to run (times,
//! versions, uids).

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use serde_json::{Map, Value, json};

use crate::compare::{self, Difference};

/// ScaledObjects.
pub fn scaled_objects() -> ApiResource {
    resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")
}

/// HorizontalPodAutoscalers.
pub fn hpas() -> ApiResource {
    resource("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
}

/// Deployments.
pub fn deployments() -> ApiResource {
    resource("apps", "v1", "Deployment", "deployments")
}

fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// Reads a namespace.
pub async fn snapshot(client: &Client, namespace: &str) -> Result<Value, kube::Error> {
    let list = async |resource: ApiResource, normal: fn(&Value) -> Value| {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        let found = api.list(&ListParams::default()).await?.items;
        let named = found.iter().map(|object| {
            let value = serde_json::to_value(object).expect("an object is JSON");
            (object.metadata.name.clone().unwrap_or_default(), normal(&value))
        });
        Ok::<_, kube::Error>(Value::Object(named.collect::<Map<_, _>>()))
    };
    let mut seen = json!({
        "scaledObjects": list(scaled_objects(), scaled_object).await?,
        "hpas": list(hpas(), hpa).await?,
        "replicas": list(deployments(), |object| object["spec"]["replicas"].clone()).await?,
    });
    remove_stale_hpa_conditions(&mut seen);
    Ok(seen)
}

/// Removes HPAActive where there is no HPA, as in a pause: it repeats the last state of the deleted HPA, which depends on timing.
fn remove_stale_hpa_conditions(seen: &mut Value) {
    let hpas = seen["hpas"].as_object().cloned().unwrap_or_default();
    for object in seen["scaledObjects"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        let status = &mut object["status"];
        let is_there = status["hpaName"].as_str().is_some_and(|name| hpas.contains_key(name));
        if let Some(conditions) = status["conditions"].as_object_mut().filter(|_| !is_there) {
            conditions.remove("HPAActive");
        }
    }
}

fn scaled_object(object: &Value) -> Value {
    let mut status = object["status"].clone();
    if let Some(last) = status.get_mut("lastActiveTime") {
        *last = json!("<set>");
    }
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let word = |condition: &Value| {
        let kind = condition["type"].as_str().unwrap_or_default().to_owned();
        (kind, json!([condition["status"], condition["reason"]]))
    };
    status["conditions"] = Value::Object(conditions.iter().map(word).collect());
    json!({
        "finalizers": object["metadata"]["finalizers"],
        "isBeingDeleted": object["metadata"].get("deletionTimestamp").is_some(),
        "status": status,
    })
}

fn hpa(object: &Value) -> Value {
    let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    let names: Vec<&Value> = owners.iter().map(|owner| &owner["name"]).collect();
    json!({ "spec": object["spec"], "owners": names, "labels": object["metadata"]["labels"] })
}

/// The differences between two snapshots, one line each.
pub fn differences(wanted: &Value, seen: &Value) -> Vec<String> {
    let text = |value: &Option<Value>| value.as_ref().map_or("(absent)".to_owned(), Value::to_string);
    let line = |difference: Difference| {
        format!("{}: {}, not {}", difference.path, text(&difference.found), text(&difference.expected))
    };
    compare::differences(wanted, seen).into_iter().map(line).collect()
}
