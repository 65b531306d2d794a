//! The availability of APIServices: whether the backend of each answers, in its `Available` condition.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::api::meta;
use crate::api::resource::{GroupResource, service_host};
use crate::storage::replace::replace;
use crate::storage::state::{CONTROLLERS, State};
use crate::storage::store::{Change, ChangeType, Entry};

pub(crate) fn collection() -> GroupResource {
    GroupResource::new("apiregistration.k8s.io", "apiservices")
}

/// Updates the availability of a changed APIService.
pub(crate) fn on_change(state: &mut State, change: &Change, now: DateTime<Utc>) {
    if change.change_type != ChangeType::Deleted {
        refresh_availability(state, &change.after, now);
    }
}

/// Updates the availability of all APIServices after the backends changed.
pub(crate) fn refresh_all(state: &mut State, now: DateTime<Utc>) {
    for service in state.store.collection(&collection()).values().cloned().collect::<Vec<_>>() {
        refresh_availability(state, &service, now);
    }
}

fn refresh_availability(state: &mut State, service: &Arc<Value>, now: DateTime<Utc>) {
    let (status, reason, message) = availability(state, &service["spec"]["service"]);
    let before = service["status"]["conditions"]
        .as_array()
        .and_then(|all| all.iter().find(|condition| condition["type"] == "Available"));
    if before.is_some_and(|before| before["status"] == status && before["reason"] == reason) {
        return;
    }
    let same_status = before.filter(|before| before["status"] == status);
    let since = same_status
        .and_then(|before| before["lastTransitionTime"].as_str())
        .map_or_else(|| meta::stamp(now), str::to_owned);
    let mut updated = Value::clone(service);
    updated["status"]["conditions"] = json!([{ "type": "Available", "status": status, "reason": reason, "message": message, "lastTransitionTime": since }]);
    let resource = state.resource_of(&collection()).expect("API services are built in");
    let entry = Entry { resource: &resource, namespace: None, name: meta::name(service), by: CONTROLLERS, at: now };
    replace(state, entry, service, updated);
}

fn availability(state: &State, service: &Value) -> (&'static str, &'static str, String) {
    if !service.is_object() {
        return ("True", "Local", "Local APIServices are always available".to_owned());
    }
    match state.hosts.contains(&service_host(service)) {
        true => ("True", "Passed", "all checks passed".to_owned()),
        false => {
            let message = format!(
                "service/{} in {} is not present",
                service["name"].as_str().unwrap_or(""),
                service["namespace"]
            );
            ("False", "ServiceNotFound", message)
        }
    }
}
