//! Services and their ports.

use serde_json::{Value, json};

use super::{Fields, has, set, text};

pub(super) fn spec(spec: &mut Fields) {
    set(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" if !has_timeout(spec) => {
            let three_hours = json!({ "clientIP": { "timeoutSeconds": 10800 } });
            spec.insert("sessionAffinityConfig".to_owned(), three_hours);
        }
        _ => {}
    }
    set(spec, "type", "ClusterIP");
    let kind = text(spec, "type").to_owned();
    let balanced = kind == "LoadBalancer";
    let addresses = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|addresses| !addresses.is_empty());
    if balanced || kind == "NodePort" || kind == "ClusterIP" && addresses {
        set(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        set(spec, "internalTrafficPolicy", "Cluster");
    }
    if balanced {
        set(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn has_timeout(spec: &Fields) -> bool {
    let config = spec.get("sessionAffinityConfig");
    config.and_then(|config| config.pointer("/clientIP/timeoutSeconds")).is_some_and(Value::is_number)
}

pub(super) fn port(port: &mut Fields) {
    set(port, "protocol", "TCP");
    if port.get("targetPort").is_some_and(|target| *target == json!(0) || *target == json!("")) {
        port.remove("targetPort");
    }
    if has(port, "port") {
        let number = port["port"].clone();
        set(port, "targetPort", number);
    }
}
