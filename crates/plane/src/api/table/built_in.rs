//! The columns of built-in kinds, as kube-apiserver prints them. Kinds that are not listed show their name and when they were created.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{Column, age as short};
use crate::api::meta;

type Show = fn(&Value, DateTime<Utc>) -> Value;

pub(super) fn name() -> Column {
    Column::built_in("Name", "string", 0, |object, _| json!(meta::name(object)))
}

pub(super) fn age() -> Column {
    Column::built_in("Age", "string", 0, |object, now| {
        json!(short::since(&object["metadata"]["creationTimestamp"], now))
    })
}

fn text(name: &str, show: Show) -> Column {
    Column::built_in(name, "string", 0, show)
}

fn wide(name: &str, show: Show) -> Column {
    Column::built_in(name, "string", 1, show)
}

fn integer(name: &str, show: Show) -> Column {
    Column::built_in(name, "integer", 0, show)
}

pub(super) fn columns(group: &str, plural: &str) -> Vec<Column> {
    let (containers, images) = (
        wide("Containers", |object, _| joined(pod_containers(object), "name")),
        wide("Images", |object, _| joined(pod_containers(object), "image")),
    );
    let selector = wide("Selector", |object, _| json!(selector(&object["spec"]["selector"])));
    match (group, plural) {
        ("apps", "deployments") => vec![
            name(),
            text("Ready", |object, _| ready_of(object)),
            text("Up-to-date", |object, _| count(&object["status"]["updatedReplicas"])),
            text("Available", |object, _| count(&object["status"]["availableReplicas"])),
            age(),
            containers,
            images,
            selector,
        ],
        ("apps", "replicasets") => vec![
            name(),
            integer("Desired", |object, _| count(&object["spec"]["replicas"])),
            integer("Current", |object, _| count(&object["status"]["replicas"])),
            integer("Ready", |object, _| count(&object["status"]["readyReplicas"])),
            age(),
            containers,
            images,
            selector,
        ],
        ("apps", "statefulsets") => {
            vec![name(), text("Ready", |object, _| ready_of(object)), age(), containers, images]
        }
        ("", "pods") => vec![
            name(),
            text("Ready", |pod, _| {
                json!(format!("{}/{}", ready_containers(pod), statuses(pod).len().max(declared(pod))))
            }),
            text("Status", |pod, _| json!(pod_status(pod))),
            text("Restarts", |pod, _| json!(restarts(pod).to_string())),
            age(),
            wide("IP", |pod, _| or_none(&pod["status"]["podIP"])),
            wide("Node", |pod, _| or_none(&pod["spec"]["nodeName"])),
            wide("Nominated Node", |pod, _| or_none(&pod["status"]["nominatedNodeName"])),
            wide("Readiness Gates", |_, _| json!("<none>")),
        ],
        ("autoscaling", "horizontalpodautoscalers") => vec![
            name(),
            text("Reference", |hpa, _| {
                let target = &hpa["spec"]["scaleTargetRef"];
                json!(format!("{}/{}", as_text(&target["kind"]), as_text(&target["name"])))
            }),
            text("Targets", |hpa, _| json!(hpa_targets(hpa))),
            text("MinPods", |hpa, _| {
                json!(hpa["spec"]["minReplicas"].as_i64().map_or("<unset>".to_owned(), |min| min.to_string()))
            }),
            integer("MaxPods", |hpa, _| count(&hpa["spec"]["maxReplicas"])),
            integer("Replicas", |hpa, _| count(&hpa["status"]["currentReplicas"])),
            age(),
        ],
        ("" | "events.k8s.io", "events") => events(),
        ("", "namespaces") => vec![name(), text("Status", |object, _| object["status"]["phase"].clone()), age()],
        ("", "nodes") => vec![
            name(),
            text("Status", |node, _| json!(if is_true(node, "Ready") { "Ready" } else { "NotReady" })),
            text("Roles", |_, _| json!("<none>")),
            age(),
            text("Version", |node, _| json!(as_text(&node["status"]["nodeInfo"]["kubeletVersion"]))),
        ],
        ("", "configmaps") => vec![
            name(),
            text("Data", |object, _| json!(entries(&object["data"]) + entries(&object["binaryData"]))),
            age(),
        ],
        ("", "secrets") => vec![
            name(),
            text("Type", |object, _| object["type"].clone()),
            text("Data", |object, _| json!(entries(&object["data"]))),
            age(),
        ],
        ("", "serviceaccounts") => vec![name(), age()],
        ("", "services") => services(),
        ("coordination.k8s.io", "leases") => {
            vec![name(), text("Holder", |lease, _| json!(as_text(&lease["spec"]["holderIdentity"]))), age()]
        }
        ("apiregistration.k8s.io", "apiservices") => vec![
            name(),
            text("Service", |api, _| match &api["spec"]["service"] {
                Value::Null => json!("Local"),
                service => json!(format!("{}/{}", as_text(&service["namespace"]), as_text(&service["name"]))),
            }),
            text("Available", |api, _| {
                json!(if is_true(api, "Available") { "True".to_owned() } else { unavailable(api) })
            }),
            age(),
        ],
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => {
            vec![
                name(),
                integer("Webhooks", |object, _| json!(object["webhooks"].as_array().map_or(0, Vec::len))),
                age(),
            ]
        }
        _ => vec![
            name(),
            Column::built_in("Created At", "date", 0, |object, _| object["metadata"]["creationTimestamp"].clone()),
        ],
    }
}

fn events() -> Vec<Column> {
    vec![
        text("Last Seen", |event, now| json!(short::since(last_seen(event), now))),
        text("Type", |event, _| event["type"].clone()),
        text("Reason", |event, _| event["reason"].clone()),
        text("Object", |event, _| {
            let object = if event["regarding"].is_null() { &event["involvedObject"] } else { &event["regarding"] };
            json!(format!("{}/{}", as_text(&object["kind"]).to_lowercase(), as_text(&object["name"])))
        }),
        wide("Subobject", |event, _| json!(as_text(&event["involvedObject"]["fieldPath"]))),
        wide("Source", |event, _| json!(as_text(first(event, "source", "component", "reportingComponent")))),
        text("Message", |event, _| {
            let message = if event["note"].is_null() { &event["message"] } else { &event["note"] };
            json!(as_text(message).trim())
        }),
        wide("First Seen", |event, now| {
            let first = &event["firstTimestamp"];
            json!(short::since(if first.is_null() { &event["eventTime"] } else { first }, now))
        }),
        wide("Count", |event, _| json!(event["count"].as_i64().unwrap_or(1).to_string())),
        wide("Name", |event, _| json!(meta::name(event))),
    ]
}

fn services() -> Vec<Column> {
    vec![
        name(),
        text("Type", |service, _| service["spec"]["type"].clone()),
        text("Cluster-IP", |service, _| or_none(&service["spec"]["clusterIP"])),
        text("External-IP", |service, _| or_none(&service["spec"]["externalName"])),
        text("Port(s)", |service, _| {
            let ports = service["spec"]["ports"].as_array().into_iter().flatten();
            let all: Vec<String> =
                ports.map(|port| format!("{}/{}", port["port"], port["protocol"].as_str().unwrap_or("TCP"))).collect();
            json!(if all.is_empty() { "<none>".to_owned() } else { all.join(",") })
        }),
        age(),
        wide("Selector", |service, _| {
            json!(labels(&service["spec"]["selector"]).unwrap_or_else(|| "<none>".to_owned()))
        }),
    ]
}

fn as_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn or_none(value: &Value) -> Value {
    json!(value.as_str().filter(|text| !text.is_empty()).unwrap_or("<none>"))
}

fn count(value: &Value) -> Value {
    json!(value.as_i64().unwrap_or(0))
}

fn entries(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

/// One of two places of a text.
fn first<'a>(object: &'a Value, outer: &str, inner: &str, other: &str) -> &'a Value {
    let found = &object[outer][inner];
    if found.as_str().is_some_and(|text| !text.is_empty()) { found } else { &object[other] }
}

fn is_true(object: &Value, condition: &str) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == condition && one["status"] == "True")
}

fn unavailable(api: &Value) -> String {
    let mut conditions = api["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.find(|one| one["type"] == "Available");
    found.map_or_else(
        || "Unknown".to_owned(),
        |one| format!("{} ({})", as_text(&one["status"]), as_text(&one["reason"])),
    )
}

/// Ready of desired.
fn ready_of(object: &Value) -> Value {
    let ready = object["status"]["readyReplicas"].as_i64().unwrap_or(0);
    json!(format!("{ready}/{}", object["spec"]["replicas"].as_i64().unwrap_or(1)))
}

fn pod_containers(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]["containers"]
}

fn joined(items: &Value, field: &str) -> Value {
    let all: Vec<&str> = items.as_array().into_iter().flatten().map(|item| as_text(&item[field])).collect();
    json!(all.join(","))
}

fn labels(labels: &Value) -> Option<String> {
    let labels = labels.as_object().filter(|labels| !labels.is_empty())?;
    Some(labels.iter().map(|(key, value)| format!("{key}={}", as_text(value))).collect::<Vec<_>>().join(","))
}

fn selector(selector: &Value) -> String {
    labels(&selector["matchLabels"]).unwrap_or_else(|| "<none>".to_owned())
}

fn statuses(pod: &Value) -> &[Value] {
    pod["status"]["containerStatuses"].as_array().map_or(&[], Vec::as_slice)
}

fn declared(pod: &Value) -> usize {
    pod["spec"]["containers"].as_array().map_or(0, Vec::len)
}

fn ready_containers(pod: &Value) -> usize {
    statuses(pod).iter().filter(|status| status["ready"] == true).count()
}

fn restarts(pod: &Value) -> i64 {
    statuses(pod).iter().filter_map(|status| status["restartCount"].as_i64()).sum()
}

fn pod_status(pod: &Value) -> String {
    if meta::is_deleting(pod) {
        return "Terminating".to_owned();
    }
    let waiting = statuses(pod).iter().rev().find_map(|status| status["state"]["waiting"]["reason"].as_str());
    let reason = pod["status"]["reason"].as_str();
    waiting.or(reason).or(pod["status"]["phase"].as_str()).unwrap_or_default().to_owned()
}

fn last_seen(event: &Value) -> &Value {
    let places = [
        &event["series"]["lastObservedTime"],
        &event["lastTimestamp"],
        &event["deprecatedLastTimestamp"],
        &event["eventTime"],
    ];
    places.into_iter().find(|place| !place.is_null()).unwrap_or(&Value::Null)
}

/// Current and target of each metric; two of them at most.
fn hpa_targets(hpa: &Value) -> String {
    const SHOWN_MAX: usize = 2;
    let specs = hpa["spec"]["metrics"].as_array().map_or(&[][..], Vec::as_slice);
    if specs.is_empty() {
        return "<none>".to_owned();
    }
    let current = hpa["status"]["currentMetrics"].as_array().map_or(&[][..], Vec::as_slice);
    let all: Vec<String> = specs
        .iter()
        .enumerate()
        .map(|(index, spec)| hpa_target(spec, current.get(index).unwrap_or(&Value::Null)))
        .collect();
    let shown = all.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > SHOWN_MAX { format!("{shown} + {} more...", all.len() - SHOWN_MAX) } else { shown }
}

fn hpa_target(spec: &Value, current: &Value) -> String {
    let known = |value: &Value| value.as_str().map_or_else(|| "<unknown>".to_owned(), str::to_owned);
    match as_text(&spec["type"]) {
        "External" => {
            let (target, now) = (&spec["external"]["target"], &current["external"]["current"]);
            match target["averageValue"].as_str() {
                Some(average) => format!("{}/{average} (avg)", known(&now["averageValue"])),
                None => format!("{}/{}", known(&now["value"]), as_text(&target["value"])),
            }
        }
        kind @ ("Resource" | "ContainerResource") => {
            let field = if kind == "Resource" { "resource" } else { "containerResource" };
            let (target, now) = (&spec[field]["target"], &current[field]["current"]);
            let name = as_text(&spec[field]["name"]);
            match target["averageUtilization"].as_i64() {
                Some(percent) => {
                    let now = now["averageUtilization"].as_i64();
                    let now = now.map_or_else(|| "<unknown>".to_owned(), |now| format!("{now}%"));
                    format!("{name}: {now}/{percent}%")
                }
                None => format!("{name}: {}/{}", known(&now["averageValue"]), as_text(&target["averageValue"])),
            }
        }
        _ => "<unknown type>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(resource: (&str, &str), object: Value) -> Vec<(String, Value)> {
        let now = "2026-06-01T12:05:00Z".parse().unwrap();
        let columns = columns(resource.0, resource.1);
        columns.iter().map(|column| (column.name.clone(), column.show(&object, now))).collect()
    }

    fn cell(resource: (&str, &str), column: &str, object: Value) -> Value {
        shown(resource, object).into_iter().find(|(name, _)| name == column).unwrap().1
    }

    #[test]
    fn columns_show_what_kubectl_users_expect() {
        let deployment = json!({ "spec": { "replicas": 3 }, "status": { "readyReplicas": 1 } });
        assert_eq!(cell(("apps", "deployments"), "Ready", deployment), "1/3");
        let starting = json!({ "spec": { "containers": [{}] }, "status": { "phase": "Pending", "containerStatuses": [{ "ready": false, "state": { "waiting": { "reason": "ContainerCreating" } } }] } });
        assert_eq!(cell(("", "pods"), "Status", starting.clone()), "ContainerCreating");
        assert_eq!(cell(("", "pods"), "Ready", starting), "0/1");
        let external = |current: Value| {
            json!({
                "spec": { "metrics": [{ "type": "External", "external": { "target": { "type": "AverageValue", "averageValue": "20" } } }] },
                "status": { "currentMetrics": [{ "type": "External", "external": { "current": current } }] },
            })
        };
        let targets = |current| cell(("autoscaling", "horizontalpodautoscalers"), "Targets", external(current));
        assert_eq!(targets(json!({ "averageValue": "18500m" })), "18500m/20 (avg)");
        assert_eq!(targets(json!({})), "<unknown>/20 (avg)");
        let event = json!({ "regarding": { "kind": "ScaledObject", "name": "web" }, "eventTime": "2026-06-01T12:04:30.000000Z" });
        assert_eq!(cell(("events.k8s.io", "events"), "Object", event.clone()), "scaledobject/web");
        assert_eq!(cell(("events.k8s.io", "events"), "Last Seen", event), "30s");
    }
}
