//! Custom resources and discovery through a real client.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kedge_plane::{Options, Plane};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use kube::{Client, Discovery, ResourceExt};
use serde_json::{Value, json};

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is well-formed")
}

fn definition() -> CustomResourceDefinition {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": { "replicas": { "type": "integer" }, "color": { "type": "string" } } },
            "status": { "type": "object", "properties": { "replicas": { "type": "integer" }, "selector": { "type": "string" } } },
        },
    });
    let scale = json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector" });
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {}, "scale": scale },
        })
    };
    from(json!({
        "metadata": { "name": "boxes.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "boxes", "singular": "box", "kind": "Box", "shortNames": ["bx"], "categories": ["all"] },
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    }))
}

async fn with_boxes() -> (Client, Api<DynamicObject>) {
    let client = Plane::new(Options::default()).client("tester");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &definition()).await.expect("create");
    let boxes = Api::default_namespaced_with(client.clone(), &resource("v1"));
    (client, boxes)
}

fn resource(version: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", version, "Box"), "boxes")
}

fn a_box(name: &str) -> DynamicObject {
    from(
        json!({ "apiVersion": "example.com/v1", "kind": "Box", "metadata": { "name": name }, "spec": { "replicas": 1 } }),
    )
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_served_at_once() {
    let (client, boxes) = with_boxes().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let read = definitions.get("boxes.example.com").await.expect("get");
    let conditions: Vec<_> = read
        .status
        .and_then(|status| status.conditions)
        .unwrap_or_default()
        .into_iter()
        .map(|c| (c.type_, c.status))
        .collect();
    assert_eq!(
        conditions,
        [("NamesAccepted".to_owned(), "True".to_owned()), ("Established".to_owned(), "True".to_owned())]
    );
    let created = boxes.create(&PostParams::default(), &a_box("b")).await.expect("create");
    assert_eq!(created.metadata.generation, Some(1));
    let discovery = Discovery::new(client).run().await.expect("discovery");
    let group = discovery.get("example.com").expect("the group");
    assert_eq!(group.recommended_kind("Box").expect("the kind").0.version, "v1");
}

#[tokio::test(start_paused = true)]
async fn versions_differ_in_their_name_only() {
    let (client, boxes) = with_boxes().await;
    boxes.create(&PostParams::default(), &a_box("b")).await.expect("create");
    let old: Api<DynamicObject> = Api::default_namespaced_with(client, &resource("v1beta1"));
    let read = old.get("b").await.expect("get");
    assert_eq!(read.types.expect("types").api_version, "example.com/v1beta1");
    assert_eq!(read.data["spec"]["replicas"], 1);
    let patch = Patch::Merge(json!({ "spec": { "replicas": 2 } }));
    old.patch("b", &PatchParams::default(), &patch).await.expect("patch");
    assert_eq!(boxes.get("b").await.expect("get").data["spec"]["replicas"], 2);
}

#[tokio::test(start_paused = true)]
async fn status_and_scale_are_their_own() {
    let (_, boxes) = with_boxes().await;
    boxes.create(&PostParams::default(), &a_box("b")).await.expect("create");
    let status = Patch::Merge(
        json!({ "metadata": { "labels": { "x": "y" } }, "spec": { "replicas": 9 }, "status": { "replicas": 3, "selector": "a=b" } }),
    );
    let patched = boxes.patch_status("b", &PatchParams::default(), &status).await.expect("patch");
    assert_eq!(
        (patched.data["spec"]["replicas"].clone(), patched.labels().len(), patched.metadata.generation),
        (json!(1), 0, Some(1))
    );
    let scale = boxes.get_scale("b").await.expect("scale");
    let status = scale.status.expect("a status");
    assert_eq!((status.replicas, status.selector.as_deref()), (3, Some("a=b")));
    let patch = Patch::Merge(json!({ "spec": { "replicas": 4 } }));
    boxes.patch_scale("b", &PatchParams::default(), &patch).await.expect("patch scale");
    let read = boxes.get("b").await.expect("get");
    assert_eq!((read.data["spec"]["replicas"].clone(), read.metadata.generation), (json!(4), Some(2)));
}

#[tokio::test(start_paused = true)]
async fn a_put_must_say_which_version_it_replaces() {
    let (_, boxes) = with_boxes().await;
    boxes.create(&PostParams::default(), &a_box("b")).await.expect("create");
    let refused = boxes.replace("b", &PostParams::default(), &a_box("b")).await.expect_err("refused");
    assert!(refused.to_string().contains("boxes.example.com \"b\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn objects_go_with_their_definition() {
    let (client, boxes) = with_boxes().await;
    boxes.create(&PostParams::default(), &a_box("b")).await.expect("create");
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    definitions.delete("boxes.example.com", &DeleteParams::default()).await.expect("delete");
    assert!(definitions.get_opt("boxes.example.com").await.expect("get").is_none());
    assert!(boxes.list(&ListParams::default()).await.is_err());
    definitions.create(&PostParams::default(), &definition()).await.expect("create");
    assert_eq!(boxes.list(&ListParams::default()).await.expect("list").items.len(), 0);
}
