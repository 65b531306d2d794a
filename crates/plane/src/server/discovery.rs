//! Discovery: `/api`, `/apis` and below, aggregated or not, and `/version`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::api::resource::table::BUILT_IN;
use crate::api::resource::{Persistence, Resource, group_version};
use crate::plane::Plane;
use crate::server::accept::Wants;
use crate::server::aggregation;
use crate::server::response::{ResponseBody, json, response};

/// Groups in order, each with its versions in order, each with its resources.
type Served = BTreeMap<String, BTreeMap<String, Vec<Arc<Resource>>>>;

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Custom resources list them in another order.
const CUSTOM_VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

/// Whether the API server itself serves the group.
pub(crate) fn is_built_in(group: &str) -> bool {
    BUILT_IN.keys().any(|gvr| gvr.group == group)
}

/// Handles the paths of discovery; none for all others.
pub(crate) async fn handle(plane: &Plane, method: &Method, path: &str, wants: Wants) -> Option<Response<ResponseBody>> {
    if method != Method::GET {
        return None;
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match (parts.as_slice(), wants) {
        (["version"], _) => Some(json(200, &version())),
        (["api"], Wants::AggregatedDiscovery) => Some(aggregated(vec![core_group(plane)])),
        (["apis"], Wants::AggregatedDiscovery) => Some(aggregated(named_groups(plane).await)),
        (["api"], _) => Some(json(200, &core_versions())),
        (["apis"], _) => Some(json(200, &groups(plane))),
        (["apis", group], _) => one_group(plane, group).map(|group| json(200, &group)),
        (["api", version], _) => resources(plane, "", version).map(|list| json(200, &list)),
        (["apis", group, version], _) => resources(plane, group, version).map(|list| json(200, &list)),
        _ => None,
    }
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "gc", "platform": "linux/amd64",
        "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
    })
}

fn served(plane: &Plane) -> Served {
    let mut served = Served::new();
    for resource in plane.state().resources() {
        let versions = served.entry(resource.gvr.group.clone()).or_default();
        versions.entry(resource.gvr.version.clone()).or_default().push(resource.clone());
    }
    served
}

fn core_versions() -> Value {
    let addresses = json!([{ "clientCIDR": "0.0.0.0/0", "serverAddress": "plane:443" }]);
    json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses })
}

/// The versions of each group but the core one, best first.
fn named(plane: &Plane) -> BTreeMap<String, Vec<String>> {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let own = served(plane)
        .into_iter()
        .flat_map(|(group, versions)| versions.into_keys().map(move |version| (group.clone(), version)));
    for (group, version) in own.chain(aggregation::group_versions(plane)) {
        named.entry(group).or_default().push(version);
    }
    named.remove("");
    named.values_mut().for_each(|versions| versions.sort_by_key(|version| std::cmp::Reverse(rank(version))));
    named
}

/// Stable before beta before alpha, then the higher number.
fn rank(version: &str) -> (u8, u64, u64) {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let major = digits(version.trim_start_matches('v'));
    let rest = version.trim_start_matches('v').trim_start_matches(|c: char| c.is_ascii_digit());
    let minor = |prefix: &str| rest.strip_prefix(prefix).and_then(|rest| rest.parse().ok()).unwrap_or(0);
    let stability = match rest {
        "" => 3,
        _ if rest.starts_with("beta") => 2,
        _ if rest.starts_with("alpha") => 1,
        _ => 0,
    };
    (stability, major.parse().unwrap_or(0), minor("beta").max(minor("alpha")))
}

fn groups(plane: &Plane) -> Value {
    let groups: Vec<Value> = named(plane).iter().map(|(group, versions)| described(group, versions)).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

fn described(group: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| json!({ "groupVersion": group_version(group, version), "version": version }))
        .collect();
    json!({ "name": group, "versions": versions, "preferredVersion": versions.first() })
}

fn one_group(plane: &Plane, group: &str) -> Option<Value> {
    let mut described = described(group, named(plane).get(group)?);
    described["kind"] = json!("APIGroup");
    described["apiVersion"] = json!("v1");
    Some(described)
}

/// The resources of one version; none if it is not served here.
fn resources(plane: &Plane, group: &str, version: &str) -> Option<Value> {
    let served = served(plane);
    let resources = served.get(group)?.get(version)?;
    let listed: Vec<Value> = resources.iter().flat_map(|resource| rows(resource)).collect();
    let mut list =
        json!({ "kind": "APIResourceList", "groupVersion": group_version(group, version), "resources": listed });
    // The core group's list does not say.
    if !group.is_empty() {
        list["apiVersion"] = json!("v1");
    }
    Some(list)
}

fn verbs(resource: &Resource) -> Vec<&'static str> {
    match resource.persistence {
        Persistence::Virtual => vec!["create"],
        Persistence::Stored if resource.is("", "namespaces") => {
            VERBS.into_iter().filter(|verb| *verb != "deletecollection").collect()
        }
        Persistence::Stored if resource.is_custom() => CUSTOM_VERBS.to_vec(),
        Persistence::Stored => VERBS.to_vec(),
    }
}

/// The hash of the storage version.
fn storage_hash(resource: &Resource) -> String {
    let named = format!("{}/{}/{}", resource.stored.group, resource.stored.version, resource.kind);
    STANDARD.encode(&Sha256::digest(named.as_bytes())[..8])
}

/// A resource and its subresources.
fn rows(resource: &Resource) -> Vec<Value> {
    let namespaced = resource.is_namespaced();
    let mut row = json!({
        "name": resource.gvr.plural, "singularName": resource.singular, "namespaced": namespaced, "kind": resource.kind, "verbs": verbs(resource),
    });
    if resource.persistence == Persistence::Stored {
        row["storageVersionHash"] = json!(storage_hash(resource));
    }
    for (field, texts) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !texts.is_empty() {
            row[field] = json!(texts);
        }
    }
    let below = resource.subresources().into_iter().map(|name| {
        let part = Subresource::named(resource, name);
        let mut row = json!({
            "name": format!("{}/{name}", resource.gvr.plural), "singularName": "", "namespaced": namespaced, "kind": part.kind, "verbs": part.verbs,
        });
        if let Some((group, version)) = part.foreign {
            row["group"] = json!(group);
            row["version"] = json!(version);
        }
        row
    });
    [row].into_iter().chain(below).collect()
}

/// What a subresource is read and written as.
struct Subresource<'a> {
    kind: &'a str,
    verbs: Vec<&'static str>,
    /// Another group than the resource's.
    foreign: Option<(&'static str, &'static str)>,
}

impl<'a> Subresource<'a> {
    fn named(resource: &'a Resource, name: &str) -> Self {
        match name {
            "scale" => Self { kind: "Scale", verbs: PART_VERBS.to_vec(), foreign: Some(("autoscaling", "v1")) },
            "binding" => Self { kind: "Binding", verbs: vec!["create"], foreign: None },
            "token" => {
                Self { kind: "TokenRequest", verbs: vec!["create"], foreign: Some(("authentication.k8s.io", "v1")) }
            }
            "finalize" => Self { kind: &resource.kind, verbs: vec!["update"], foreign: None },
            _ => Self { kind: &resource.kind, verbs: PART_VERBS.to_vec(), foreign: None },
        }
    }
}

fn aggregated(groups: Vec<Value>) -> Response<ResponseBody> {
    let list = json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": groups });
    let content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    response(200, content_type, serde_json::to_vec(&list).expect("JSON can be written"))
}

fn core_group(plane: &Plane) -> Value {
    discovered("", vec![discovered_version(plane, "", "v1")])
}

async fn named_groups(plane: &Plane) -> Vec<Value> {
    let mut groups = Vec::new();
    for (group, versions) in named(plane) {
        let mut found = Vec::new();
        for version in versions {
            found.push(match aggregation::is_remote(plane, &group, &version) {
                true => remote_version(plane, &group, &version).await,
                false => discovered_version(plane, &group, &version),
            });
        }
        groups.push(discovered(&group, found));
    }
    groups
}

fn discovered(group: &str, versions: Vec<Value>) -> Value {
    let metadata = if group.is_empty() {
        json!({ "creationTimestamp": null })
    } else {
        json!({ "name": group, "creationTimestamp": null })
    };
    json!({ "metadata": metadata, "versions": versions })
}

fn discovered_version(plane: &Plane, group: &str, version: &str) -> Value {
    let served = served(plane);
    let resources = served.get(group).and_then(|versions| versions.get(version)).map_or(&[][..], Vec::as_slice);
    let resources: Vec<Value> = resources.iter().map(|resource| discovered_resource(resource)).collect();
    json!({ "version": version, "resources": resources, "freshness": "Current" })
}

fn discovered_resource(resource: &Resource) -> Value {
    let kind = |group: &str, version: &str, kind: &str| json!({ "group": group, "version": version, "kind": kind });
    // Built-in kinds say it only where it is another group.
    let (group, version) = match resource.is_custom() {
        true => (resource.gvr.group.as_str(), resource.gvr.version.as_str()),
        false => ("", ""),
    };
    let below: Vec<Value> = resource
        .subresources()
        .into_iter()
        .map(|name| {
            let part = Subresource::named(resource, name);
            let (group, version) = part.foreign.unwrap_or((group, version));
            json!({ "subresource": name, "responseKind": kind(group, version, part.kind), "verbs": part.verbs })
        })
        .collect();
    let mut found = json!({
        "resource": resource.gvr.plural,
        "responseKind": kind(group, version, &resource.kind),
        "scope": if resource.is_namespaced() { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs(resource),
    });
    let optional = [
        ("shortNames", json!(resource.short_names)),
        ("categories", json!(resource.categories)),
        ("subresources", json!(below)),
    ];
    for (field, value) in
        optional.into_iter().filter(|(_, value)| value.as_array().is_some_and(|list| !list.is_empty()))
    {
        found[field] = value;
    }
    found
}

/// The resources of an aggregated API server; none, and stale, if it is not available.
async fn remote_version(plane: &Plane, group: &str, version: &str) -> Value {
    let Some(list) = aggregation::resource_list(plane, group, version).await else {
        return json!({ "version": version, "resources": [], "freshness": "Stale" });
    };
    let rows = list["resources"].as_array().cloned().unwrap_or_default();
    let rows = rows.iter().filter(|row| !row["name"].as_str().unwrap_or("").contains('/'));
    let resources: Vec<Value> = rows.map(|row| remote_resource(group, version, row)).collect();
    json!({ "version": version, "resources": resources, "freshness": "Current" })
}

fn remote_resource(group: &str, version: &str, row: &Value) -> Value {
    json!({
        "resource": row["name"],
        "responseKind": { "group": group, "version": version, "kind": row["kind"] },
        "scope": if row["namespaced"] == true { "Namespaced" } else { "Cluster" },
        "singularResource": row["singularName"],
        "verbs": row["verbs"],
    })
}
