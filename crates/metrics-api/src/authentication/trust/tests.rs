//! Watching the ConfigMap on a scripted API server, in virtual time.

use std::collections::VecDeque;
use std::sync::Mutex;

use bytes::Bytes;
use futures::stream;
use http::Response;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::fake_cluster;

/// One response: a code and a body, or a body that never arrives.
type Reply = (u16, Option<String>);

/// An API server that gives these responses in turn, and then hangs.
#[derive(Clone, Default)]
struct Script {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    /// Every requested path, and the time since the start.
    asked: Arc<Mutex<Vec<(String, Duration)>>>,
}

impl Script {
    fn client(&self) -> kube::Client {
        let (script, started_at) = (self.clone(), Instant::now());
        fake_cluster::client(move |request| {
            let asked = (request.uri().to_string(), started_at.elapsed());
            script.asked.lock().expect("not poisoned").push(asked);
            let reply = script.replies.lock().expect("not poisoned").pop_front();
            async move {
                let Some((code, body)) = reply else { return std::future::pending().await };
                let body = match body {
                    Some(text) => Full::new(Bytes::from(text)).boxed_unsync(),
                    None => StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>()).boxed_unsync(),
                };
                Response::builder().status(code).body(body).expect("a response")
            }
        })
    }

    fn reply(self, code: u16, body: impl ToString) -> Self {
        self.replies.lock().expect("not poisoned").push_back((code, Some(body.to_string())));
        self
    }

    fn silence(self) -> Self {
        self.replies.lock().expect("not poisoned").push_back((200, None));
        self
    }

    fn events(self, events: impl IntoIterator<Item = Value>) -> Self {
        self.reply(200, events.into_iter().map(|event| format!("{event}\n")).collect::<String>())
    }
}

/// A configuration that its allowed name identifies.
fn data(name: &str) -> Value {
    json!({"requestheader-client-ca-file": ca_pem(), "requestheader-allowed-names": format!("[{name:?}]")})
}

fn ca_pem() -> &'static str {
    static PEM: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
        let mut params = rcgen::CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.self_signed(&rcgen::KeyPair::generate().expect("a key")).expect("a certificate").pem()
    });
    &PEM
}

fn map(name: &str, version: &str) -> Value {
    let metadata = json!({"name": CONFIG_MAP, "namespace": CONFIG_NAMESPACE, "resourceVersion": version});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data(name)})
}

/// A list of it, at a version of its own.
fn list(name: &str, version: &str) -> Value {
    let items = [map(name, "1")];
    json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": version}, "items": items})
}

fn failure(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": "no", "code": code})
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

fn allowed(trust: &Trust) -> Vec<String> {
    trust.current().front_proxy.as_ref().expect("a front proxy").names.clone()
}

/// Watches until the front proxy has this name.
async fn watch_until(trust: &Trust, client: kube::Client, name: &str) {
    let mut changes = trust.0.subscribe();
    let arrived = changes.wait_for(|config| config.front_proxy.as_ref().is_some_and(|proxy| proxy.names == [name]));
    tokio::select! {
        never = trust.watch(client) => match never {},
        arrived = arrived => drop(arrived.expect("the sender lives")),
    }
}

#[tokio::test(start_paused = true)]
async fn the_configuration_is_read_at_start() {
    let script = Script::default().reply(200, map("first", "1"));
    let trust = Trust::fetch(&script.client()).await.expect("a configuration");
    assert_eq!(allowed(&trust), ["first"]);
    let asked = script.asked.lock().expect("not poisoned");
    assert_eq!(asked[0].0, "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication");
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_configuration_at_start_is_an_error() {
    let forbidden = Script::default().reply(403, failure(403));
    assert!(matches!(Trust::fetch(&forbidden.client()).await, Err(TrustError::Fetch(_))));
    let mut broken = map("x", "1");
    broken["data"]["client-ca-file"] = json!("rubbish");
    let broken = Script::default().reply(200, broken);
    assert!(matches!(Trust::fetch(&broken.client()).await, Err(TrustError::Config(_))));
}

#[tokio::test(start_paused = true)]
async fn valid_changes_take_effect_and_invalid_ones_do_not() {
    let mut broken = map("broken", "3");
    broken["data"]["requestheader-allowed-names"] = json!("not JSON");
    let script = Script::default().reply(200, list("first", "7")).events([
        event("MODIFIED", &map("second", "2")),
        event("MODIFIED", &broken),
        event("DELETED", &map("second", "4")),
        event("ADDED", &map("third", "5")),
    ]);
    let trust = Trust::new(TrustConfig::default());
    let mut seen = Vec::new();
    let mut changes = trust.0.subscribe();
    let client = script.client();
    let mut watching = pin!(trust.watch(client));
    while seen.last().is_none_or(|names: &Vec<String>| names != &["third"]) {
        tokio::select! {
            biased;
            changed = changes.changed() => changed.expect("the sender lives"),
            never = &mut watching => match never {},
        }
        seen.push(allowed(&trust));
    }
    assert!(!seen.contains(&vec!["broken".to_owned()]), "{seen:?}");
    let asked = script.asked.lock().expect("not poisoned");
    assert!(asked[1].0.contains("watch=true") && asked[1].0.contains("resourceVersion=7"), "{asked:?}");
    let only_ours = "fieldSelector=metadata.name%3Dextension-apiserver-authentication";
    assert!(asked.iter().all(|(path, _)| path.contains(only_ours)), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lost_watch_is_reopened_with_backoff() {
    let script = Script::default()
        .reply(200, list("first", "1"))
        .events([event("ERROR", &failure(410))])
        .reply(503, failure(503))
        .reply(500, failure(500))
        .reply(200, list("first", "2"))
        .events([])
        .reply(200, list("last", "3"));
    let trust = Trust::new(TrustConfig::default());
    watch_until(&trust, script.client(), "last").await;
    let asked = script.asked.lock().expect("not poisoned");
    let reads: Vec<u64> =
        asked.iter().filter(|(path, _)| !path.contains("watch=true")).map(|(_, at)| at.as_secs()).collect();
    // 1, 2 and 4 seconds after failures; after a watch that ended as watches do, 1 second again.
    assert_eq!(reads, [0, 1, 3, 7, 8]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_counts_as_a_lost_connection() {
    let read = || Script::default().reply(200, list("first", "1"));
    let rows = [
        ("a read without a response", Script::default(), RESPONSE_LIMIT),
        ("a watch without a response", read(), RESPONSE_LIMIT),
        ("a watch without an end", read().silence(), SILENCE_MAX),
    ];
    for (name, script, limit) in rows {
        let (client, trust) = (script.client(), Trust::new(TrustConfig::default()));
        let expected = limit + BACKOFF_MIN;
        tokio::select! {
            never = trust.watch(client) => match never {},
            () = sleep(expected + Duration::from_secs(1)) => {}
        }
        let asked = script.asked.lock().expect("not poisoned");
        assert_eq!(asked.last().map(|(_, at)| *at), Some(expected), "{name}: {asked:?}");
    }
}
