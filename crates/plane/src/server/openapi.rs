//! `/openapi/v3`: what kubectl needs before it applies, which is that the server validates unknown fields itself; and the schemas that
//! `kubectl explain` prints. The operations name no strategic merge patches: kubectl knows how to patch built-in kinds without them.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Method, Response};
use serde_json::{Map, Value, json};

use crate::api::resource::{Gvr, Resource};
use crate::builtin::{schemas, types};
use crate::plane::Plane;
use crate::server::response::{ResponseBody, json};

/// Handles the paths of OpenAPI; none for all others.
pub(crate) fn handle(plane: &Plane, method: &Method, path: &str) -> Option<Response<ResponseBody>> {
    if method != Method::GET {
        return None;
    }
    let below = path.strip_prefix("/openapi/v3")?.trim_matches('/');
    let described = described(plane);
    match below {
        "" => Some(json(200, &index(&described))),
        _ => described.get(below).map(|paths| {
            let info = json!({ "title": "Kubernetes", "version": "v1.36.3" });
            let mut schemas = built_in_schemas(plane, below);
            schemas.append(&mut custom_schemas(plane, below));
            let components = json!({ "schemas": schemas });
            json(200, &json!({ "openapi": "3.0.0", "info": info, "paths": paths, "components": components }))
        }),
    }
}

/// The paths of each version of each group.
fn described(plane: &Plane) -> BTreeMap<String, Map<String, Value>> {
    let mut described: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for resource in plane.state().resources() {
        let root = root(&resource.gvr);
        let place = if resource.is_namespaced() { "/namespaces/{namespace}" } else { "" };
        let path = format!("/{root}{place}/{}/{{name}}", resource.gvr.plural);
        described.entry(root).or_default().insert(path, operations(resource));
    }
    described
}

/// The schemas of the server's own kinds in a version of a group.
fn built_in_schemas(plane: &Plane, below: &str) -> Map<String, Value> {
    let resources: Vec<_> =
        plane.state().resources().filter(|resource| root(&resource.gvr) == below).cloned().collect();
    let kind = |resource: &Arc<Resource>| {
        Some((schemas::definition_of(types::for_resource(&resource.gvr)?)?, resource.clone()))
    };
    let kinds: Vec<(&str, Arc<Resource>)> = resources.iter().filter_map(kind).collect();
    let mut published = schemas::published(kinds.iter().map(|(name, _)| *name));
    for (name, resource) in kinds {
        let Gvr { group, version, .. } = &resource.gvr;
        let named = [json!({ "group": group, "version": version, "kind": resource.kind })];
        let schema = &mut published[name];
        schema["x-kubernetes-group-version-kind"] = json!(named);
        // The API server takes objects without metadata for objects with an empty one.
        if let Some(required) = schema["required"].as_array_mut() {
            required.retain(|field| field != "metadata");
        }
    }
    published
}

/// The schemas of the custom resources of a version of a group.
fn custom_schemas(plane: &Plane, below: &str) -> Map<String, Value> {
    let definitions = Gvr::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let mut schemas = Map::new();
    for definition in plane.objects(&definitions, None) {
        let spec = &definition["spec"];
        let (group, kind) =
            (spec["group"].as_str().unwrap_or_default(), spec["names"]["kind"].as_str().unwrap_or_default());
        for version in spec["versions"].as_array().into_iter().flatten() {
            let name = version["name"].as_str().unwrap_or_default();
            if version["served"] == true && root(&Gvr::new(group, name, "")) == below {
                let reversed = group.rsplit('.').collect::<Vec<_>>().join(".");
                let mut schema = version["schema"]["openAPIV3Schema"].clone();
                let named = [json!({ "group": group, "version": name, "kind": kind })];
                schema["x-kubernetes-group-version-kind"] = json!(named);
                schemas.insert(format!("{reversed}.{name}.{kind}"), schema);
            }
        }
    }
    schemas
}

fn root(gvr: &Gvr) -> String {
    match gvr.group.as_str() {
        "" => format!("api/{}", gvr.version),
        group => format!("apis/{group}/{}", gvr.version),
    }
}

fn index(described: &BTreeMap<String, Map<String, Value>>) -> Value {
    let entry = |root: &String| (root.clone(), json!({ "serverRelativeURL": format!("/openapi/v3/{root}") }));
    json!({ "paths": described.keys().map(entry).collect::<Map<_, _>>() })
}

fn operations(resource: &Resource) -> Value {
    let Gvr { group, version, .. } = &resource.gvr;
    json!({ "patch": {
        "parameters": [{ "name": "fieldValidation", "in": "query", "schema": { "type": "string", "uniqueItems": true } }],
        "responses": { "200": { "description": "OK" } },
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": { "group": group, "version": version, "kind": resource.kind },
    }})
}
