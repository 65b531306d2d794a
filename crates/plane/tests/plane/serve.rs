//! A plane behind a socket: who calls is known, what was asked is noted, and who is behind it is called over TLS.

mod rig;

use std::time::Duration;

use http::Request;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};

use rig::{Caller, Rig, from};

#[tokio::test]
async fn callers_are_known_by_certificate_or_token_and_others_are_refused() {
    let rig = Rig::start().await;
    let admin = rig.client(Caller::Certificate);
    let accounts: Api<ServiceAccount> = Api::default_namespaced(admin.clone());
    accounts.create(&PostParams::default(), &from(json!({ "metadata": { "name": "robot" } }))).await.unwrap();
    let given = accounts.create_token_request("robot", &PostParams::default(), &TokenRequest::default()).await.unwrap();
    let token = given.status.unwrap().token.unwrap();
    assert!(!token.contains("robot"), "a token can be guessed: {token}");

    for (caller, expected) in [
        (Caller::Certificate, Ok(())),
        (Caller::Token(&token), Ok(())),
        (Caller::Token("another"), Err(401)),
        (Caller::Anonymous, Err(403)),
    ] {
        let maps: Api<ConfigMap> = Api::default_namespaced(rig.client(caller));
        let listed = maps.list(&ListParams::default()).await.map(drop);
        assert_eq!(listed.map_err(rig::code), expected, "{caller:?}");
    }
    let ready = rig.client(Caller::Anonymous).request_text(Request::get("/readyz").body(Vec::new()).unwrap()).await;
    assert_eq!(ready.unwrap(), "ok", "whether it is ready is public");
}

#[tokio::test]
async fn what_was_asked_is_noted_with_who_and_what_came_of_it() {
    let rig = Rig::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(rig.client(Caller::Certificate));
    maps.create(&PostParams::default(), &from(json!({ "metadata": { "name": "one" } }))).await.unwrap();
    maps.get("two").await.unwrap_err();
    let _watch = maps.watch(&WatchParams::default(), "0").await.unwrap();
    let noted = rig.audited();
    let recorded = |entry: &Value| {
        let reference = &entry["objectRef"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (
            text(&entry["verb"]),
            text(&reference["resource"]),
            text(&reference["name"]),
            entry["responseStatus"]["code"].clone(),
        )
    };
    let row =
        |verb: &str, name: &str, code: i64| (verb.to_owned(), "configmaps".to_owned(), name.to_owned(), json!(code));
    let recorded: Vec<_> = noted.iter().map(recorded).collect();
    assert_eq!(recorded, [row("create", "", 201), row("get", "two", 404), row("watch", "", 200)]);
    assert_eq!(noted[1]["requestURI"], "/api/v1/namespaces/default/configmaps/two");
    assert_eq!(noted[1]["user"], json!({ "username": "admin", "groups": ["system:masters", "system:authenticated"] }));
    assert_eq!(noted[1]["objectRef"]["namespace"], "default");
    assert!(noted.iter().all(|entry| entry["stageTimestamp"].as_str() >= entry["requestReceivedTimestamp"].as_str()));
}

#[tokio::test]
async fn a_watch_goes_on_over_the_connection() {
    use futures::{StreamExt, TryStreamExt};
    let rig = Rig::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(rig.client(Caller::Certificate));
    let version = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let events = maps.watch(&WatchParams::default(), &version).await.unwrap();
    for name in ["one", "two"] {
        maps.create(&PostParams::default(), &from(json!({ "metadata": { "name": name } }))).await.unwrap();
    }
    let seen: Vec<WatchEvent<ConfigMap>> = events.take(2).try_collect().await.unwrap();
    let names = seen.iter().map(|event| match event {
        WatchEvent::Added(map) => map.metadata.name.clone().unwrap(),
        other => panic!("{other:?}"),
    });
    assert_eq!(names.collect::<Vec<_>>(), ["one", "two"]);
}

#[tokio::test]
async fn a_server_of_an_api_is_called_in_the_callers_name_while_it_is_there() {
    let rig = Rig::start().await;
    let client = rig.client(Caller::Certificate);
    let port = rig::free_port();
    rig.register_api(&client, port).await;
    let ask =
        async || client.request::<Value>(Request::get("/apis/example.com/v1/who").body(Vec::new()).unwrap()).await;
    assert_eq!(ask().await.map_err(rig::code).unwrap_err(), 503, "no backend is registered");

    let server = rig.serve_api(port).await;
    rig::until(async || ask().await.is_ok()).await;
    let answer = ask().await.unwrap();
    assert_eq!(answer["user"], "admin");
    assert_eq!(answer["groups"], json!(["system:masters", "system:authenticated"]));
    assert_eq!(rig.availability(&client).await, ("True".to_owned(), "Passed".to_owned()));

    server.abort();
    assert!(server.await.unwrap_err().is_cancelled());
    rig::until(async || ask().await.is_err_and(|error| rig::code(error) == 503)).await;
}

#[tokio::test]
async fn a_webhook_at_an_address_is_asked() {
    let rig = Rig::start().await;
    let client = rig.client(Caller::Certificate);
    let port = rig::free_port();
    let _server = rig.serve_webhook(port).await;
    rig.register_webhook(&client, port).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let create = async |name: &str| {
        let map = from(json!({ "metadata": { "name": name } }));
        maps.create(&PostParams::default(), &map).await.map(drop).map_err(|error| error.to_string())
    };
    rig::until(async || create("bad").await.is_err_and(|error| error.contains("no maps today"))).await;
}

#[tokio::test]
async fn nodes_are_ready_and_pods_are_spread_over_them() {
    let rig = Rig::start().await;
    let client = rig.client(Caller::Certificate);
    rig.create_nodes(&client, &["a", "b"]).await;
    let pods: Api<Pod> = Api::default_namespaced(client);
    for name in ["one", "two", "three", "four"] {
        let pod =
            json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "main", "image": "main" }] } });
        pods.create(&PostParams::default(), &from(pod)).await.unwrap();
    }
    let places = async || {
        let all = pods.list(&ListParams::default()).await.unwrap().items;
        let mut places: Vec<String> = all.into_iter().filter_map(|pod| pod.spec?.node_name).collect();
        places.sort();
        places
    };
    rig::until(async || places().await == ["a", "a", "b", "b"]).await;
    tokio::time::timeout(Duration::from_secs(5), rig.until_nodes_are_ready()).await.unwrap();
}
