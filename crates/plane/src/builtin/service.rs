//! Services: the addresses that the API server gives them.

use kedge_schema::FieldError;
use serde_json::{Value, json};

use crate::api::meta;

/// The first of the addresses, of which there are as many as fit into the last two numbers.
const RANGE: &str = "10.96";

/// Sets the addresses of a new service.
pub(crate) fn prepare(object: &mut Value, number: u64) {
    let spec = &mut object["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    if spec["clusterIP"].as_str().is_none_or(str::is_empty) {
        spec["clusterIP"] = json!(format!("{RANGE}.{}.{}", number / 254 % 256, number % 254 + 1));
    }
    spec["clusterIPs"] = json!([spec["clusterIP"]]);
    let lacks_selector = spec["selector"].as_object().is_none_or(|selector| selector.is_empty());
    let is_open = spec["clusterIP"] == "None" && lacks_selector;
    let default =
        if is_open { (json!(["IPv4", "IPv6"]), "RequireDualStack") } else { (json!(["IPv4"]), "SingleStack") };
    fill(spec, "ipFamilies", default.0);
    fill(spec, "ipFamilyPolicy", json!(default.1));
}

fn fill(spec: &mut Value, field: &str, default: Value) {
    if spec[field].is_null() {
        spec[field] = default;
    }
}

/// Addresses that an update leaves out stay; the first of several is the one.
pub(crate) fn update(object: &mut Value, old: &Value) {
    let spec = &mut object["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    if spec["clusterIP"].as_str().is_none_or(str::is_empty) {
        spec["clusterIP"] = old["spec"]["clusterIP"].clone();
    }
    if spec["clusterIP"] != old["spec"]["clusterIP"] && spec["clusterIPs"] == old["spec"]["clusterIPs"] {
        spec["clusterIPs"] = json!([spec["clusterIP"]]);
    }
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        fill(spec, field, old["spec"][field].clone());
    }
}

/// An address that was given stays.
pub(crate) fn check_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let (given, had) = (&new["spec"]["clusterIPs"], meta::texts(&old["spec"]["clusterIPs"]).next());
    let stays = had.is_none() || new["spec"]["type"] == "ExternalName" || meta::texts(given).next() == had;
    match stays {
        true => Vec::new(),
        false => vec![FieldError::invalid("spec.clusterIPs[0]", given, "may not change once set")],
    }
}
