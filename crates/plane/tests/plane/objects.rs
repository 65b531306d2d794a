//! Objects through a real client: written, read, refused, watched; in virtual time.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kedge_plane::{Options, Plane};
use kube::api::{
    Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, PropagationPolicy, WatchEvent, WatchParams,
};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::Instant;

fn plane() -> (Plane, Client) {
    let plane = Plane::new(Options::default());
    let client = plane.client("tester");
    (plane, client)
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    let mut map =
        ConfigMap { data: Some(BTreeMap::from([("key".to_owned(), value.to_owned())])), ..ConfigMap::default() };
    map.metadata.name = Some(name.to_owned());
    map
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is well-formed")
}

fn deployment(name: &str, replicas: i32) -> Deployment {
    from(json!({
        "metadata": { "name": name, "labels": { "app": name } },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": { "labels": { "app": name } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } },
        },
    }))
}

/// Code, reason and message of a refusal.
fn refusal<T: std::fmt::Debug>(result: Result<T, kube::Error>) -> (u16, String, String) {
    match result.expect_err("it should be refused") {
        kube::Error::Api(status) => (status.code, status.reason.clone(), status.message.clone()),
        other => panic!("not a refusal: {other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_written_is_read_back_with_what_the_server_adds() {
    let (_, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.expect("create");
    assert_eq!(created.namespace().as_deref(), Some("default"));
    assert!(created.uid().is_some() && created.creation_timestamp().is_some());
    let read = api.get("a").await.expect("get");
    assert_eq!(read, created);
    let listed = api.list(&ListParams::default()).await.expect("list");
    assert_eq!(listed.items.len(), 1);
    assert_eq!(listed.metadata.resource_version, created.resource_version());
}

#[tokio::test(start_paused = true)]
async fn refusals_are_worded_as_the_api_server_words_them() {
    let (_, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.expect("create");
    let mut stale = created.clone();
    stale.data = Some(BTreeMap::new());
    stale.metadata.resource_version = Some("1".to_owned());
    let elsewhere: Api<ConfigMap> = Api::namespaced(client.clone(), "nowhere");
    let post = PostParams::default();
    let rows = [
        (refusal(api.get("b").await), 404, "NotFound", "configmaps \"b\" not found"),
        (
            refusal(api.create(&post, &config_map("a", "1")).await),
            409,
            "AlreadyExists",
            "configmaps \"a\" already exists",
        ),
        (
            refusal(elsewhere.create(&post, &config_map("a", "1")).await),
            404,
            "NotFound",
            "namespaces \"nowhere\" not found",
        ),
        (
            refusal(api.replace("a", &post, &stale).await),
            409,
            "Conflict",
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again",
        ),
        (
            refusal(api.create(&post, &config_map("A", "1")).await),
            422,
            "Invalid",
            "ConfigMap \"A\" is invalid: metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ),
        (
            refusal(Api::<Namespace>::all(client).delete("default", &DeleteParams::default()).await),
            403,
            "Forbidden",
            "namespaces \"default\" is forbidden: this namespace may not be deleted",
        ),
    ];
    for ((code, reason, message), expected_code, expected_reason, expected_message) in rows {
        assert_eq!((code, reason.as_str(), message.as_str()), (expected_code, expected_reason, expected_message));
    }
}

#[tokio::test(start_paused = true)]
async fn writes_that_change_nothing_take_no_revision() {
    let (plane, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.expect("create");
    let before = plane.revision().see();
    api.replace("a", &PostParams::default(), &created).await.expect("replace");
    let merge = Patch::Merge(json!({ "data": { "key": "1" } }));
    let patched = api.patch("a", &PatchParams::default(), &merge).await.expect("patch");
    assert_eq!(patched, created);
    assert_eq!(plane.revision().see(), before);
}

#[tokio::test(start_paused = true)]
async fn generations_count_specs_and_statuses_are_their_own() {
    let (_, client) = plane();
    let api: Api<Deployment> = Api::default_namespaced(client);
    let created = api.create(&PostParams::default(), &deployment("d", 1)).await.expect("create");
    assert_eq!(created.metadata.generation, Some(1));
    let both = Patch::Merge(json!({ "spec": { "replicas": 2 }, "status": { "replicas": 7 } }));
    let main = api.patch("d", &PatchParams::default(), &both).await.expect("patch");
    assert_eq!((main.metadata.generation, main.status.and_then(|s| s.replicas)), (Some(2), None));
    let status = Patch::Merge(json!({ "spec": { "replicas": 3 }, "status": { "replicas": 7 } }));
    let status = api.patch_status("d", &PatchParams::default(), &status).await.expect("patch status");
    assert_eq!(status.metadata.generation, Some(2));
    assert_eq!(status.spec.and_then(|s| s.replicas), Some(2));
    assert_eq!(status.status.and_then(|s| s.replicas), Some(7));
}

#[tokio::test(start_paused = true)]
async fn a_scale_is_a_view_of_its_object() {
    let (_, client) = plane();
    let api: Api<Deployment> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &deployment("d", 1)).await.expect("create");
    let scale = api.get_scale("d").await.expect("get scale");
    assert_eq!(scale.spec.as_ref().and_then(|s| s.replicas), Some(1));
    assert_eq!(scale.status.and_then(|s| s.selector).as_deref(), Some("app=d"));
    let patch = Patch::Merge(json!({ "spec": { "replicas": 5 } }));
    let scaled = api.patch_scale("d", &PatchParams::default(), &patch).await.expect("patch scale");
    assert_eq!(scaled.spec.and_then(|s| s.replicas), Some(5));
    let read = api.get("d").await.expect("get");
    assert_eq!((read.metadata.generation, read.spec.and_then(|s| s.replicas)), (Some(2), Some(5)));
    let negative = Patch::Merge(json!({ "spec": { "replicas": -1 } }));
    let refused = refusal(api.patch_scale("d", &PatchParams::default(), &negative).await);
    assert_eq!(
        refused.2,
        "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    );
}

#[tokio::test(start_paused = true)]
async fn finalizers_keep_what_is_deleted() {
    let (_, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let mut held = config_map("a", "1");
    held.metadata.finalizers = Some(vec!["example.com/held".to_owned()]);
    api.create(&PostParams::default(), &held).await.expect("create");
    let answer = api.delete("a", &DeleteParams::default()).await.expect("delete");
    assert!(answer.left().expect("the object").metadata.deletion_timestamp.is_some());
    let released = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    api.patch("a", &PatchParams::default(), &released).await.expect("patch");
    assert_eq!(refusal(api.get("a").await).0, 404);
}

#[tokio::test(start_paused = true)]
async fn pages_are_of_one_revision() {
    let (plane, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for name in ["a", "b", "c"] {
        api.create(&PostParams::default(), &config_map(name, "1")).await.expect("create");
    }
    let first = api.list(&ListParams::default().limit(2)).await.expect("list");
    assert_eq!((first.items.len(), first.metadata.remaining_item_count), (2, Some(1)));
    api.delete("c", &DeleteParams::default()).await.expect("delete");
    let token = first.metadata.continue_.clone().expect("more");
    let second = api.list(&ListParams::default().limit(2).continue_token(&token)).await.expect("list");
    assert_eq!(second.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["c"]);
    plane.compact();
    let refused = refusal(api.list(&ListParams::default().limit(2).continue_token(&token)).await);
    assert_eq!((refused.0, refused.1.as_str()), (410, "Expired"));
}

/// What a watch said: kind of event and name.
fn said(event: WatchEvent<ConfigMap>) -> String {
    match event {
        WatchEvent::Added(map) => format!("added {}", map.name_any()),
        WatchEvent::Modified(map) => format!("modified {}", map.name_any()),
        WatchEvent::Deleted(map) => format!("deleted {}", map.name_any()),
        WatchEvent::Bookmark(_) => "bookmark".to_owned(),
        WatchEvent::Error(status) => format!("error {} {}", status.code, status.message),
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_everything_after_its_version() {
    let (_, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let first = api.create(&PostParams::default(), &config_map("a", "1")).await.expect("create");
    let version = first.resource_version().expect("a version");
    let stream = api.watch(&WatchParams::default().disable_bookmarks().timeout(5), &version).await.expect("watch");
    api.create(&PostParams::default(), &config_map("b", "1")).await.expect("create");
    api.patch("b", &PatchParams::default(), &Patch::Merge(json!({ "data": { "key": "2" } }))).await.expect("patch");
    api.delete("a", &DeleteParams::default()).await.expect("delete");
    let events: Vec<_> = stream.map_ok(said).try_collect().await.expect("events");
    assert_eq!(events, ["added b", "modified b", "deleted a"]);
}

#[tokio::test(start_paused = true)]
async fn a_selecting_watch_hears_of_objects_that_come_and_go() {
    let (_, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let stream =
        api.watch(&WatchParams::default().labels("seen=yes").disable_bookmarks().timeout(5), "0").await.expect("watch");
    api.create(&PostParams::default(), &config_map("a", "1")).await.expect("create");
    for label in [json!("yes"), json!("no"), json!("yes"), json!(null)] {
        let labels = Patch::Merge(json!({ "metadata": { "labels": { "seen": label } } }));
        api.patch("a", &PatchParams::default(), &labels).await.expect("patch");
    }
    let events: Vec<_> = stream.map_ok(said).try_collect().await.expect("events");
    assert_eq!(events, ["added a", "deleted a", "added a", "deleted a"]);
}

#[tokio::test(start_paused = true)]
async fn quiet_watches_hear_bookmarks_and_end_in_time() {
    let (_, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let started = Instant::now();
    let stream = api.watch(&WatchParams::default().timeout(150), "0").await.expect("watch");
    let events: Vec<_> = stream.map_ok(said).try_collect().await.expect("events");
    assert_eq!(events, ["bookmark", "bookmark", "bookmark"]);
    assert_eq!(started.elapsed(), Duration::from_secs(150));
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_an_expired_revision_gets_an_error() {
    let (plane, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("a", "1")).await.expect("create");
    plane.compact();
    let stream = api.watch(&WatchParams::default(), "2").await.expect("watch");
    let events: Vec<_> = stream.map_ok(said).try_collect().await.expect("events");
    assert_eq!(events, ["error 410 too old resource version: 2 (6)"]);
}

#[tokio::test(start_paused = true)]
async fn dependents_follow_their_owner() {
    let (_, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let owner = api.create(&PostParams::default(), &config_map("owner", "1")).await.expect("create");
    let mut dependent = config_map("dependent", "1");
    dependent.metadata.owner_references = Some(vec![from(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid(), "blockOwnerDeletion": true,
    }))]);
    for (policy, is_kept) in [
        (PropagationPolicy::Background, false),
        (PropagationPolicy::Foreground, false),
        (PropagationPolicy::Orphan, true),
    ] {
        let owner = match api.get_opt("owner").await.expect("get") {
            Some(owner) => owner,
            None => api.create(&PostParams::default(), &config_map("owner", "1")).await.expect("create"),
        };
        dependent.metadata.owner_references.as_mut().expect("set above")[0].uid = owner.uid().expect("a uid");
        api.create(&PostParams::default(), &dependent).await.expect("create");
        let manner = DeleteParams { propagation_policy: Some(policy.clone()), ..DeleteParams::default() };
        api.delete("owner", &manner).await.expect("delete");
        assert!(api.get_opt("owner").await.expect("get").is_none(), "{policy:?}");
        let left = api.get_opt("dependent").await.expect("get");
        assert_eq!(left.is_some(), is_kept, "{policy:?}");
        assert!(left.is_none_or(|left| left.owner_references().is_empty()), "{policy:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_with_its_content() {
    let (_, client) = plane();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &from(json!({ "metadata": { "name": "n" } }))).await.expect("create");
    let api: Api<ConfigMap> = Api::namespaced(client, "n");
    let mut held = config_map("held", "1");
    held.metadata.finalizers = Some(vec!["example.com/held".to_owned()]);
    api.create(&PostParams::default(), &held).await.expect("create");
    api.create(&PostParams::default(), &config_map("free", "1")).await.expect("create");
    namespaces.delete("n", &DeleteParams::default()).await.expect("delete");
    assert_eq!(refusal(api.get("free").await).0, 404);
    let refused = refusal(api.create(&PostParams::default(), &config_map("late", "1")).await);
    assert_eq!(
        refused.2,
        "configmaps \"late\" is forbidden: unable to create new content in namespace n because it is being terminated"
    );
    let phase = namespaces.get("n").await.expect("get").status.and_then(|status| status.phase);
    assert_eq!(phase.as_deref(), Some("Terminating"));
    api.patch("held", &PatchParams::default(), &Patch::Merge(json!({ "metadata": { "finalizers": [] } })))
        .await
        .expect("patch");
    assert_eq!(refusal(namespaces.get("n").await).0, 404);
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_can_be_asked_for() {
    let (_, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("a", "1")).await.expect("create");
    let listed = api.list_metadata(&ListParams::default()).await.expect("list");
    assert_eq!(listed.items[0].name_any(), "a");
    assert_eq!(api.get_metadata("a").await.expect("get").name_any(), "a");
    let mut events = api.watch_metadata(&WatchParams::default().timeout(1), "0").await.expect("watch").boxed();
    let Some(Ok(WatchEvent::Added(seen))) = events.next().await else { panic!("it was there") };
    assert_eq!(seen.name_any(), "a");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_stored_by_a_dry_run() {
    let (plane, client) = plane();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let before = plane.revision().see();
    api.create(&dry, &config_map("a", "1")).await.expect("create");
    assert_eq!(plane.revision().see(), before);
    assert_eq!(refusal(api.get("a").await).0, 404);
}

#[tokio::test(start_paused = true)]
async fn generated_names_differ_and_are_the_same_in_every_run() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let (_, client) = plane();
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        let nameless: ConfigMap = from(json!({ "metadata": { "generateName": "x-" } }));
        let mut names = Vec::new();
        for _ in 0..3 {
            names.push(api.create(&PostParams::default(), &nameless).await.expect("create").name_any());
        }
        runs.push(names);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0][0] != runs[0][1] && runs[0].iter().all(|name| name.len() == 7));
}
