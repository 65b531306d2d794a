//! Credentials on a real cluster: taken from where they are, taken up when they change, named when they are missing.

use kedge_test_cluster::http_source::HttpSource;
use kedge_tests::leak::{assert_nowhere, marker};
use kedge_tests::story::{Story, deployment, prometheus, scaled_object};
use serde_json::{Value, json};

use super::{cluster, running};

fn secret(name: &str, word: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": { "token": token(word) } })
}

/// A token that is looked for where it must not be.
fn token(word: &str) -> String {
    format!("{}{word}", marker())
}

/// What a source asks for.
fn bearer(word: &str) -> String {
    format!("Bearer {}", token(word))
}

/// No token of these tests can be read anywhere.
async fn nothing_is_told(story: &Story<'_>) {
    assert_nowhere(story, &running().await.1, &[]).await;
}

fn authentication(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": name }, "spec": spec })
}

/// A bearer token from the key `token` of a Secret.
fn from_secret(name: &str, secret: &str) -> Value {
    authentication(name, json!({ "secretTargetRef": [{ "parameter": "bearerToken", "name": secret, "key": "token" }] }))
}

/// A trigger with the value of this source, which asks for a bearer token.
fn guarded(source: &HttpSource, reference: &str) -> Value {
    let mut trigger = prometheus(&source.url(), "q", 10);
    trigger["metadata"]["authModes"] = json!("bearer");
    trigger["authenticationRef"] = json!({ "name": reference });
    trigger
}

fn ready(story: &Story<'_>) -> (String, String) {
    story.condition("web", "Ready")
}

fn message(story: &Story<'_>) -> String {
    story.message("web", "Ready")
}

#[tokio::test]
async fn a_token_from_a_secret_signs_in_and_its_rotation_is_taken_up() {
    let story = Story::begin(cluster().await, "rotation");
    let source = HttpSource::start_protected(20.0, &bearer("first")).await.unwrap();
    // Looked at every minute: whatever happens sooner is because the Secret changed.
    let slow = json!({ "minReplicaCount": 1, "pollingInterval": 60 });
    story.apply([deployment("web", 1), secret("creds", "wrong"), from_secret("prom", "creds")]);
    story.apply([scaled_object("web", [guarded(&source, "prom")], slow)]);
    story.until("it is refused", "False".to_owned(), |story| ready(story).0).await;
    story.apply([secret("creds", "first")]);
    story.until("it signs in", ("True".into(), "ScaledObjectReady".into()), ready).await;
    story.until_replicas("web", 2).await;
    let hpa = |story: &Story<'_>| story.condition("web", "HPAActive").0;
    source.protect_all(&bearer("second"));
    story.until("the old token is refused", "False".to_owned(), hpa).await;
    story.apply([secret("creds", "second")]);
    story.until("the new token is used", "True".to_owned(), hpa).await;
    let auth = story.get("triggerauthentication", "prom");
    assert_eq!(auth["status"], json!({ "scaledobjects": "web" }));
    assert_eq!(auth["metadata"]["finalizers"], json!(["finalizer.keda.sh"]));
    nothing_is_told(&story).await;
}

#[tokio::test]
async fn what_is_missing_is_named_until_it_appears() {
    let story = Story::begin(cluster().await, "missing");
    let source = HttpSource::start_protected(20.0, &bearer("t")).await.unwrap();
    let slow = json!({ "minReplicaCount": 1, "pollingInterval": 60 });
    story.apply([deployment("web", 1), scaled_object("web", [guarded(&source, "prom")], slow)]);
    let says = |part: String| move |story: &Story<'_>| message(story).contains(&part);
    let namespace = &story.namespace;
    story
        .until(
            "the authentication is missed",
            true,
            says(format!("TriggerAuthentication {namespace}/prom does not exist")),
        )
        .await;
    story.apply([from_secret("prom", "creds")]);
    story.until("the Secret is missed", true, says(format!("Secret {namespace}/creds does not exist"))).await;
    story.apply([secret("creds", "t")]);
    story.until("it signs in", ("True".into(), "ScaledObjectReady".into()), ready).await;
    story.until_replicas("web", 2).await;
    story.kubectl(["delete", "secret", "creds"]);
    story.until("the Secret is missed again", true, says(format!("Secret {namespace}/creds does not exist"))).await;
    assert_eq!(story.replicas("deployment", "web"), Some(2), "no answer is no reason to scale in");
    nothing_is_told(&story).await;
}

#[tokio::test]
async fn a_variable_of_the_target_signs_in() {
    let story = Story::begin(cluster().await, "variable");
    let source = HttpSource::start_protected(20.0, &bearer("from-env")).await.unwrap();
    let mut web = deployment("web", 1);
    web["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "creds", "key": "token" } } }]);
    let env = authentication("prom", json!({ "env": [{ "parameter": "bearerToken", "name": "TOKEN" }] }));
    story.apply([secret("creds", "from-env"), web, env]);
    story.apply([scaled_object("web", [guarded(&source, "prom")], json!({ "minReplicaCount": 1 }))]);
    story.until_replicas("web", 2).await;
    nothing_is_told(&story).await;
}

#[tokio::test]
async fn the_list_of_users_follows_them_and_the_object_can_go() {
    let story = Story::begin(cluster().await, "users");
    let source = HttpSource::start_protected(0.0, &bearer("t")).await.unwrap();
    story.apply([deployment("web", 1), secret("creds", "t"), from_secret("one", "creds"), from_secret("two", "creds")]);
    let users =
        |name: &'static str| move |story: &Story<'_>| story.get("triggerauthentication", name)["status"].clone();
    story.apply([scaled_object("web", [guarded(&source, "one")], json!({}))]);
    story.until("one is used", json!({ "scaledobjects": "web" }), users("one")).await;
    story.apply([scaled_object("web", [guarded(&source, "two")], json!({}))]);
    story.until("two is used", json!({ "scaledobjects": "web" }), users("two")).await;
    story.until("one is not used any more", json!({}), users("one")).await;
    story.kubectl(["delete", "scaledobject", "web"]);
    story.until("nobody uses two", json!({}), users("two")).await;
    story.kubectl(["delete", "triggerauthentication", "one", "two"]);
    assert_eq!(story.events("TriggerAuthenticationAdded").len(), 2);
    nothing_is_told(&story).await;
}

#[tokio::test]
async fn a_rotation_under_load_moves_nobody() {
    let story = Story::begin(cluster().await, "turns");
    let source = HttpSource::start_protected(20.0, &bearer("turn-0")).await.unwrap();
    let names: Vec<String> = (0..12).map(|index| format!("web-{index}")).collect();
    story.apply([secret("creds", "turn-0"), from_secret("prom", "creds")]);
    story.apply(names.iter().map(|name| deployment(name, 0)));
    story.apply(
        names.iter().map(|name| scaled_object(name, [guarded(&source, "prom")], json!({ "cooldownPeriod": 1 }))),
    );
    let all = |kind: &str, path: &str| {
        let output = format!("jsonpath={{.items[*]{path}}}");
        story.kubectl(["get", kind, "--output", &output]).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let awake = vec!["2".to_owned(); names.len()];
    story.until("all are awake", awake.clone(), |_| all("deployments", ".spec.replicas")).await;
    for turn in 1..=5 {
        // For a moment the Secret is behind the source, as it is in life.
        source.protect_all(&bearer(&format!("turn-{turn}")));
        story.apply([secret("creds", &format!("turn-{turn}"))]);
        let ready = ".status.conditions[?(@.type==\"Ready\")].status";
        let wanted = vec!["True".to_owned(); names.len()];
        story.until("all sign in again", wanted, |_| all("scaledobjects", ready)).await;
        assert_eq!(all("deployments", ".spec.replicas"), awake, "turn {turn}");
    }
    nothing_is_told(&story).await;
}
