//! The visible state of a case, read from the cluster in its normal form.

use serde_json::{Map, Value, json};

use crate::api::path_of;
use crate::normal;
use crate::play::CaseRun;

/// Captures what can be read without side effects: ScaledObjects, HPAs, replicas of targets, events, TriggerAuthentications.
pub(crate) async fn take(run: &CaseRun<'_>) -> anyhow::Result<Value> {
    let items = async |kind| run.environment.kube.items(&path_of(kind, &run.namespace)).await;
    let mut targets = Map::new();
    for kind in ["Deployment", "StatefulSet"].into_iter().chain(run.case.widgets.then_some("Widget")) {
        let replicas = |target: &Value| (format!("{kind}/{}", name(target)), target["spec"]["replicas"].clone());
        targets.extend(items(kind).await?.iter().map(replicas));
    }
    let mut seen = json!({
        "scaledObjects": by_name(&items("ScaledObject").await?, normal::scaled_object),
        "hpas": by_name(&items("HorizontalPodAutoscaler").await?, normal::hpa),
        "targets": targets,
        "events": events(&items("Event").await?),
    });
    let authentications = items("TriggerAuthentication").await?;
    if !authentications.is_empty() {
        seen["triggerAuthentications"] = by_name(&authentications, authentication);
    }
    Ok(run.replacements().normal(&seen))
}

/// Captures the responses of the external metrics API for every external metric of every HPA, and for the queries of the case.
///
/// Reading a failing metric counts as one more failure, so this is done once, after everything else.
pub(crate) async fn metrics(run: &CaseRun<'_>, seen: &Value) -> anyhow::Result<Value> {
    let mut answers = Map::new();
    let queries = run.case.queries.iter().map(|query| ("so".to_owned(), query.metric.clone()));
    for (owner, metric) in external_metrics(seen).into_iter().chain(queries) {
        let path = format!(
            "/apis/external.metrics.k8s.io/v1beta1/namespaces/{}/{}?labelSelector=scaledobject.keda.sh%2Fname%3D{owner}",
            run.namespace,
            metric.replace("${NS}", &run.namespace),
        );
        let answer = run.environment.kube.get_once(&path).await?;
        let item = |item: &Value| {
            let value = normal::quantity(item["value"].as_str().unwrap_or_default());
            json!({ "metricName": item["metricName"], "metricLabels": item["metricLabels"], "value": value })
        };
        let response = match answer.body["items"].as_array() {
            Some(items) => json!({ "code": answer.code.as_u16(), "items": items.iter().map(item).collect::<Vec<_>>() }),
            None => {
                let (reason, message) = (&answer.body["reason"], &answer.body["message"]);
                json!({ "code": answer.code.as_u16(), "reason": reason, "message": message })
            }
        };
        answers.insert(format!("{owner}/{metric}"), response);
    }
    Ok(run.replacements().normal(&Value::Object(answers)))
}

/// The external metrics of all HPAs, each with the ScaledObject that owns the HPA.
fn external_metrics(seen: &Value) -> Vec<(String, String)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for (_, hpa) in seen["hpas"].as_object().into_iter().flatten() {
        for owner in list(&hpa["ownerReferences"]) {
            let metrics = list(&hpa["spec"]["metrics"]);
            let external = metrics.iter().filter_map(|metric| metric["external"]["metric"]["name"].as_str());
            found.extend(external.map(|metric| (text(&owner["name"]), metric.to_owned())));
        }
    }
    found
}

fn authentication(object: &Value) -> Value {
    let or_empty = |value: &Value, empty: Value| if value.is_null() { empty } else { value.clone() };
    json!({ "finalizers": or_empty(&object["metadata"]["finalizers"], json!([])), "status": or_empty(&object["status"], json!({})) })
}

/// The events about our kinds, each once.
fn events(items: &[Value]) -> Vec<Value> {
    let ours = |event: &&Value| {
        let kind = &event["regarding"]["kind"];
        kind == "ScaledObject" || kind == "TriggerAuthentication"
    };
    let mut events: Vec<Value> = Vec::new();
    for event in items.iter().filter(ours).filter_map(normal::event) {
        if !events.contains(&event) {
            events.push(event);
        }
    }
    let key = |event: &Value| ["on", "type", "reason", "note"].map(|key| text(&event[key]));
    events.sort_by_key(key);
    events
}

fn by_name(items: &[Value], normal: impl Fn(&Value) -> Value) -> Value {
    Value::Object(items.iter().map(|item| (name(item), normal(item))).collect())
}

fn name(object: &Value) -> String {
    text(&object["metadata"]["name"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_sorted_and_listed_once() {
        let event = |kind: &str, reason: &str| json!({ "regarding": { "kind": kind, "name": "x" }, "type": "Normal", "reason": reason, "note": "n" });
        let items =
            [event("ScaledObject", "B"), event("Pod", "A"), event("ScaledObject", "B"), event("ScaledObject", "A")];
        let reasons: Vec<Value> = events(&items).iter().map(|event| event["reason"].clone()).collect();
        assert_eq!(reasons, ["A", "B"]);
    }

    #[test]
    fn only_external_metrics_are_queried() {
        let metrics = json!([{ "type": "Resource", "resource": {} }, { "type": "External", "external": { "metric": { "name": "s0-x" } } }]);
        let seen =
            json!({ "hpas": { "h": { "ownerReferences": [{ "name": "so" }], "spec": { "metrics": metrics } } } });
        assert_eq!(external_metrics(&seen), [("so".to_owned(), "s0-x".to_owned())]);
    }
}
