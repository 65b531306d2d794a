//! Violations in triggers before they are stored, and parameters that are not reported missing because an authentication may set them.

use super::*;

fn found(kind: &str, metric_type: Option<&str>, authentication: Option<&str>, metadata: &Value) -> Vec<String> {
    let mut trigger = json!({ "type": kind, "metadata": metadata, "metricType": metric_type });
    if let Some(name) = authentication {
        trigger["authenticationRef"] = json!({ "name": name });
    }
    let object = object(json!({ "minReplicaCount": 1, "triggers": [trigger] }));
    let violations = validate(&object, &Neighbours::default());
    let wrong = violations.iter().filter(|one| one.rule.id == "invalid-trigger");
    wrong.map(|one| one.path.to_string().replace("spec.triggers[0].", "").replace("metadata.", "")).collect()
}

/// Some metadata with changes: null takes a key away.
fn changed(mut metadata: Value, changes: Value) -> Value {
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(metadata.as_object_mut().unwrap().remove(key)),
            value => metadata[key] = value.clone(),
        }
    }
    metadata
}

#[test]
fn a_trigger_that_could_not_run_does_not_get_in() {
    let cron = |changes: Value| changed(cron_json()["metadata"].clone(), changes);
    let prometheus = |changes: Value| changed(prometheus_json()["metadata"].clone(), changes);
    let api = |changes: Value| {
        changed(json!({ "url": "http://api:8080/queue", "valueLocation": "a.b", "targetValue": "5" }), changes)
    };
    let external = |changes: Value| changed(json!({ "scalerAddress": "scaler:9090" }), changes);
    let pods = |changes: Value| changed(json!({ "podSelector": "app=web", "value": "2" }), changes);
    let rows: Vec<(&str, Value, &[&str])> = vec![
        ("cron", cron(json!({})), &[]),
        ("cron", cron(json!({ "start": "every morning" })), &["start"]),
        ("cron", cron(json!({ "start": "0 25 * * *" })), &["start"]),
        ("cron", cron(json!({ "end": "0 8 * *" })), &["end"]),
        ("cron", cron(json!({ "end": "0 8 * * *" })), &["end"]),
        ("cron", cron(json!({ "timezone": "Mars/Olympus" })), &["timezone"]),
        ("cron", cron(json!({ "timezone": null })), &["timezone"]),
        ("cron", cron(json!({ "desiredReplicas": "many" })), &["desiredReplicas"]),
        ("cron", cron(json!({ "desiredReplicas": "0" })), &["desiredReplicas"]),
        ("cron", json!({}), &["timezone", "start", "end", "desiredReplicas"]),
        ("prometheus", prometheus(json!({})), &[]),
        ("prometheus", prometheus(json!({ "serverAddress": "prometheus:9090" })), &["serverAddress"]),
        ("prometheus", prometheus(json!({ "serverAddress": "ftp://prometheus" })), &["serverAddress"]),
        ("prometheus", prometheus(json!({ "serverAddress": null })), &["serverAddress"]),
        ("prometheus", prometheus(json!({ "query": null })), &["query"]),
        ("prometheus", prometheus(json!({ "query": "  " })), &["query"]),
        ("prometheus", prometheus(json!({ "threshold": "5 per pod" })), &["threshold"]),
        ("prometheus", prometheus(json!({ "threshold": null })), &["threshold"]),
        ("prometheus", prometheus(json!({ "activationThreshold": "x" })), &["activationThreshold"]),
        ("prometheus", prometheus(json!({ "ignoreNullValues": "perhaps" })), &["ignoreNullValues"]),
        ("prometheus", prometheus(json!({ "timeout": "soon" })), &["timeout"]),
        ("prometheus", prometheus(json!({ "unsafeSsl": "oui" })), &["unsafeSsl"]),
        ("prometheus", prometheus(json!({ "customHeaders": "X-A" })), &["customHeaders"]),
        ("prometheus", prometheus(json!({ "authModes": "telepathy" })), &["authModes"]),
        ("prometheus", prometheus(json!({ "authModes": "bearer,basic" })), &["authModes"]),
        ("prometheus", prometheus(json!({ "authModes": "bearer" })), &["bearerToken"]),
        ("metrics-api", api(json!({})), &[]),
        ("metrics-api", api(json!({ "url": "api/queue" })), &["url"]),
        ("metrics-api", api(json!({ "url": null })), &["url"]),
        ("metrics-api", api(json!({ "valueLocation": null })), &["valueLocation"]),
        ("metrics-api", api(json!({ "format": "csv" })), &["format"]),
        ("metrics-api", api(json!({ "targetValue": "0" })), &["targetValue"]),
        ("metrics-api", api(json!({ "targetValue": "ten" })), &["targetValue"]),
        ("metrics-api", api(json!({ "aggregationType": "guess" })), &["aggregationType"]),
        ("external", external(json!({})), &[]),
        ("external", external(json!({ "scalerAddress": null })), &["scalerAddress"]),
        ("external", external(json!({ "enableTLS": "si" })), &["enableTLS"]),
        ("external-push", json!({}), &["scalerAddress"]),
        ("kubernetes-workload", pods(json!({})), &[]),
        ("kubernetes-workload", pods(json!({ "podSelector": "app in (" })), &["podSelector"]),
        ("kubernetes-workload", pods(json!({ "podSelector": null })), &["podSelector"]),
        ("kubernetes-workload", pods(json!({ "value": "-1" })), &["value"]),
        ("kubernetes-workload", pods(json!({ "groupByNode": "x" })), &["groupByNode"]),
        ("cpu", json!({ "value": "50" }), &["metricType"]),
    ];
    assert!(rows.iter().filter(|(_, _, expected)| !expected.is_empty()).count() >= 30);
    for (kind, metadata, expected) in rows {
        assert_eq!(found(kind, None, None, &metadata), expected, "{kind} {metadata}");
    }
}

#[test]
fn resources_are_amounts_or_percentages() {
    let rows: [(&str, &str, Value, &[&str]); 7] = [
        ("cpu", "Utilization", json!({ "value": "50" }), &[]),
        ("cpu", "Utilization", json!({ "value": "50%" }), &["value"]),
        ("cpu", "Utilization", json!({}), &["value"]),
        ("memory", "AverageValue", json!({ "value": "200Mi" }), &[]),
        ("memory", "AverageValue", json!({ "value": "200MB" }), &["value"]),
        ("memory", "Value", json!({ "value": "200Mi" }), &["metricType"]),
        ("cpu", "Utilization", json!({ "value": "50", "type": "Utilization" }), &["type"]),
    ];
    for (kind, metric_type, metadata, expected) in rows {
        assert_eq!(found(kind, Some(metric_type), None, &metadata), expected, "{kind} {metric_type} {metadata}");
    }
    let metadata = prometheus_json()["metadata"].clone();
    assert_eq!(found("prometheus", Some("Utilization"), None, &metadata), ["metricType"]);
    assert_eq!(found("prometheus", Some("Sum"), None, &metadata), ["metricType"]);
}

#[test]
fn a_parameter_that_authentication_may_give_is_not_called_missing() {
    let prometheus = |changes: Value| changed(prometheus_json()["metadata"].clone(), changes);
    let api = json!({ "url": "http://api", "valueLocation": "a", "targetValue": "5", "authMode": "apiKey" });
    let rows: [(&str, Value, Option<&str>, &[&str]); 8] = [
        ("prometheus", prometheus(json!({ "authModes": "bearer" })), Some("creds"), &[]),
        ("prometheus", prometheus(json!({ "authModes": "basic,tls,custom" })), Some("creds"), &[]),
        ("prometheus", prometheus(json!({ "authModes": "oauth" })), Some("creds"), &[]),
        ("prometheus", prometheus(json!({ "authModes": "bearer", "threshold": "x" })), Some("creds"), &["threshold"]),
        ("metrics-api", api.clone(), Some("creds"), &[]),
        ("metrics-api", api, None, &["apiKey"]),
        (
            "prometheus",
            prometheus(json!({ "awsAccessKeyIDFromEnv": "ID", "awsSecretAccessKeyFromEnv": "KEY" })),
            None,
            &[],
        ),
        ("prometheus", prometheus(json!({ "credentialsFromEnv": "GOOGLE" })), None, &[]),
    ];
    for (kind, metadata, authentication, expected) in rows {
        assert_eq!(found(kind, None, authentication, &metadata), expected, "{kind} {metadata}");
    }
}

#[test]
fn a_formula_brings_its_own_target() {
    let trigger = json!({ "type": "kubernetes-workload", "name": "pods", "metadata": { "podSelector": "app=web" } });
    let spec =
        json!({ "triggers": [trigger], "advanced": { "scalingModifiers": { "formula": "pods", "target": "2" } } });
    assert_eq!(ids(&validate(&object(spec), &Neighbours::default())), [""; 0]);
}

#[test]
fn a_trigger_that_was_stored_before_may_stay_as_it_is() {
    let bad: Trigger = serde_json::from_value(json!({ "type": "cron", "metadata": {} })).unwrap();
    let worse: Trigger = serde_json::from_value(json!({ "type": "cron", "metadata": { "start": "x" } })).unwrap();
    let violations_of = |triggers: &[Trigger], before: &[Trigger]| {
        let owner = Owner { namespace: "n", name: "so", role: Role::Metric };
        let violations = crate::rules::parameters::check(&registry(), owner, triggers, before);
        violations.iter().map(|one| one.path.to_string()).filter(|path| path.ends_with("start")).collect::<Vec<_>>()
    };
    assert_eq!(violations_of(std::slice::from_ref(&bad), &[]), ["spec.triggers[0].metadata.start"]);
    assert_eq!(violations_of(std::slice::from_ref(&bad), std::slice::from_ref(&bad)), [""; 0]);
    assert_eq!(violations_of(&[cron(), bad.clone()], std::slice::from_ref(&bad)), [""; 0], "it moved");
    assert_eq!(violations_of(&[bad.clone(), worse], &[bad]), ["spec.triggers[1].metadata.start"], "one is new");
}
