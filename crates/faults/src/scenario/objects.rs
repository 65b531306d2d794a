//! The manifests that scenarios apply.

use serde_json::{Value, json};

use super::{NAME, NAMESPACE, SLOW_QUERY};

/// The target.
pub(super) fn deployment(replicas: i64) -> Value {
    deployment_named(NAME, replicas)
}

fn deployment_named(name: &str, replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "main" }] },
            },
        },
    })
}

/// The ScaledObject, polled every half minute; `spec` is merged over it.
pub(super) fn scaled_object(triggers: Value, spec: Value) -> Value {
    let mut merged = json!({
        "scaleTargetRef": { "name": NAME }, "pollingInterval": 30, "cooldownPeriod": 60, "maxReplicaCount": 10,
        "triggers": triggers,
        "advanced": { "horizontalPodAutoscalerConfig": { "behavior": { "scaleDown": { "stabilizationWindowSeconds": 0 } } } },
    });
    merge(&mut merged, spec);
    json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": { "name": NAME, "namespace": NAMESPACE }, "spec": merged,
    })
}

/// A ScaledJob of one Job for each message of the query `mail`.
pub(super) fn mail_job() -> Value {
    let pod = json!({ "containers": [{ "name": "main", "image": "main" }], "restartPolicy": "Never" });
    let mut trigger = prometheus(SLOW_QUERY);
    trigger["metadata"]["threshold"] = json!("1");
    json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": {
            "jobTargetRef": { "template": { "spec": pod } },
            "pollingInterval": 10, "maxReplicaCount": 5, "triggers": [trigger],
        },
    })
}

/// Another object and its target, on a query with a timeout that never ends.
pub(super) fn neighbour(number: usize, query: &str) -> [Value; 2] {
    let name = format!("neighbour-{number}");
    let mut trigger = prometheus(query);
    trigger["metadata"]["timeout"] = json!("10h");
    let mut object = scaled_object(json!([trigger]), json!({ "pollingInterval": 60 }));
    object["metadata"]["name"] = json!(name);
    object["spec"]["scaleTargetRef"]["name"] = json!(name);
    [deployment_named(&name, 0), object]
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            from.into_iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value));
        }
        (into, from) => *into = from,
    }
}

/// A trigger on a Prometheus query, with a threshold of ten.
pub(super) fn prometheus(query: &str) -> Value {
    json!({ "type": "prometheus", "metadata": { "serverAddress": "http://prometheus:9090", "query": query, "threshold": "10" } })
}

/// A Prometheus trigger with a name, for formulas.
pub(super) fn named(query: &str) -> Value {
    let mut trigger = prometheus(query);
    trigger["name"] = json!(query);
    trigger
}

/// A Prometheus trigger with a token from a TriggerAuthentication.
pub(super) fn guarded(query: &str) -> Value {
    let mut trigger = prometheus(query);
    trigger["metadata"]["authModes"] = json!("bearer");
    trigger["authenticationRef"] = json!({ "name": NAME });
    trigger
}

/// A trigger on a Redis list, with a password.
pub(super) fn redis(list: &str) -> Value {
    let metadata = json!({ "address": "redis:6379", "listName": list, "listLength": "10" });
    json!({ "type": "redis", "metadata": metadata, "authenticationRef": { "name": NAME } })
}

/// A trigger on the lag of a Kafka topic, with a user.
pub(super) fn kafka(topic: &str) -> Value {
    let metadata = json!({
        "bootstrapServers": "kafka:9092", "topic": topic, "consumerGroup": "workers", "lagThreshold": "10",
        // One partition is no bound for the replicas.
        "allowIdleConsumers": "true", "sasl": "plaintext",
    });
    json!({ "type": "kafka", "metadata": metadata, "authenticationRef": { "name": NAME } })
}

pub(super) fn external_push() -> Value {
    json!({ "type": "external-push", "metadata": { "scalerAddress": "scaler:9090" } })
}

/// A window between two times of day in a zone with daylight saving.
pub(super) fn cron(start: &str, end: &str, replicas: i64) -> Value {
    let metadata =
        json!({ "timezone": "Europe/Berlin", "start": start, "end": end, "desiredReplicas": replicas.to_string() });
    json!({ "type": "cron", "metadata": metadata })
}

/// A TriggerAuthentication that reads a user, and a parameter with the token, from the Secret.
pub(super) fn trigger_authentication(parameter: &str) -> Value {
    let key = |parameter: &str, key: &str| json!({ "parameter": parameter, "name": "token", "key": key });
    json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": { "secretTargetRef": [key(parameter, "token"), key("username", "user")] },
    })
}

/// A TriggerAuthentication that reads the token from Vault.
pub(super) fn vault_authentication() -> Value {
    json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication",
        "metadata": { "name": NAME, "namespace": NAMESPACE },
        "spec": { "hashiCorpVault": {
            "address": "http://vault:8200", "authentication": "token", "credential": { "token": "login" },
            "secrets": [{ "parameter": "bearerToken", "path": "secret/data/prometheus", "key": "token", "type": "secretV2" }],
        } },
    })
}

pub(super) fn secret(token: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "token", "namespace": NAMESPACE },
        "type": "Opaque", "stringData": { "token": token, "user": "kedge" },
    })
}

/// An HPA of another owner, on another target.
pub(super) fn foreign_hpa(name: &str, target: &str) -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": { "owner": "another" } },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": target },
            "minReplicas": 1, "maxReplicas": 3,
            "metrics": [{ "type": "External", "external": { "metric": { "name": "theirs" }, "target": { "type": "AverageValue", "averageValue": "1" } } }],
        },
    })
}
