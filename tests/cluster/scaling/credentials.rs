//! Credentials on a real cluster: read from their sources, read again when they change, reported when they are missing.

use kedge_test_cluster::http_source::HttpSource;
use kedge_tests::leak::{assert_nowhere, marker};
use kedge_tests::namespace::{TestNamespace, deployment, prometheus, scaled_object};
use serde_json::{Value, json};

use super::{cluster, running};

fn secret(name: &str, word: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": { "token": token(word) } })
}

/// A token with the marker that the leak check searches for.
fn token(word: &str) -> String {
    format!("{}{word}", marker())
}

/// The authorization that a source requires.
fn bearer(word: &str) -> String {
    format!("Bearer {}", token(word))
}

/// No token of these tests can be read anywhere.
async fn no_secret_leaks(namespace: &TestNamespace<'_>) {
    assert_nowhere(namespace, &running().await.1, &[]).await;
}

fn authentication(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": name }, "spec": spec })
}

/// A bearer token from the key `token` of a Secret.
fn from_secret(name: &str, secret: &str) -> Value {
    authentication(name, json!({ "secretTargetRef": [{ "parameter": "bearerToken", "name": secret, "key": "token" }] }))
}

/// A trigger with the value of this source, which requires a bearer token.
fn guarded(source: &HttpSource, reference: &str) -> Value {
    let mut trigger = prometheus(&source.url(), "q", 10);
    trigger["metadata"]["authModes"] = json!("bearer");
    trigger["authenticationRef"] = json!({ "name": reference });
    trigger
}

fn ready(namespace: &TestNamespace<'_>) -> (String, String) {
    namespace.condition("web", "Ready")
}

fn message(namespace: &TestNamespace<'_>) -> String {
    namespace.message("web", "Ready")
}

#[tokio::test]
async fn a_token_from_a_secret_is_used_and_its_rotation_is_noticed() {
    let namespace = TestNamespace::create(cluster().await, "rotation");
    let source = HttpSource::start_protected(20.0, &bearer("first")).await.unwrap();
    // Polled every minute: what happens sooner is caused by the change of the Secret.
    let slow = json!({ "minReplicaCount": 1, "pollingInterval": 60 });
    namespace.apply([deployment("web", 1), secret("creds", "wrong"), from_secret("prom", "creds")]);
    namespace.apply([scaled_object("web", [guarded(&source, "prom")], slow)]);
    namespace.until("the token is refused", "False".to_owned(), |namespace| ready(namespace).0).await;
    namespace.apply([secret("creds", "first")]);
    namespace.until("the token is accepted", ("True".into(), "ScaledObjectReady".into()), ready).await;
    namespace.until_replicas("web", 2).await;
    let hpa = |namespace: &TestNamespace<'_>| namespace.condition("web", "HPAActive").0;
    source.protect_all(&bearer("second"));
    namespace.until("the old token is refused", "False".to_owned(), hpa).await;
    namespace.apply([secret("creds", "second")]);
    namespace.until("the new token is used", "True".to_owned(), hpa).await;
    let auth = namespace.get("triggerauthentication", "prom");
    assert_eq!(auth["status"], json!({ "scaledobjects": "web" }));
    assert_eq!(auth["metadata"]["finalizers"], json!(["finalizer.keda.sh"]));
    no_secret_leaks(&namespace).await;
}

#[tokio::test]
async fn missing_references_are_reported_until_they_exist() {
    let namespace = TestNamespace::create(cluster().await, "missing");
    let source = HttpSource::start_protected(20.0, &bearer("t")).await.unwrap();
    let slow = json!({ "minReplicaCount": 1, "pollingInterval": 60 });
    namespace.apply([deployment("web", 1), scaled_object("web", [guarded(&source, "prom")], slow)]);
    let reports = |part: String| move |namespace: &TestNamespace<'_>| message(namespace).contains(&part);
    let name = &namespace.name;
    namespace
        .until(
            "the missing authentication is reported",
            true,
            reports(format!("TriggerAuthentication {name}/prom does not exist")),
        )
        .await;
    namespace.apply([from_secret("prom", "creds")]);
    namespace
        .until("the missing Secret is reported", true, reports(format!("Secret {name}/creds does not exist")))
        .await;
    namespace.apply([secret("creds", "t")]);
    namespace.until("the token is accepted", ("True".into(), "ScaledObjectReady".into()), ready).await;
    namespace.until_replicas("web", 2).await;
    namespace.kubectl(["delete", "secret", "creds"]);
    namespace
        .until("the missing Secret is reported again", true, reports(format!("Secret {name}/creds does not exist")))
        .await;
    assert_eq!(namespace.replicas("deployment", "web"), Some(2), "an unknown value does not scale in");
    no_secret_leaks(&namespace).await;
}

#[tokio::test]
async fn a_variable_of_the_target_is_used_as_a_token() {
    let namespace = TestNamespace::create(cluster().await, "variable");
    let source = HttpSource::start_protected(20.0, &bearer("from-env")).await.unwrap();
    let mut web = deployment("web", 1);
    web["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "creds", "key": "token" } } }]);
    let env = authentication("prom", json!({ "env": [{ "parameter": "bearerToken", "name": "TOKEN" }] }));
    namespace.apply([secret("creds", "from-env"), web, env]);
    namespace.apply([scaled_object("web", [guarded(&source, "prom")], json!({ "minReplicaCount": 1 }))]);
    namespace.until_replicas("web", 2).await;
    no_secret_leaks(&namespace).await;
}

#[tokio::test]
async fn the_status_lists_the_users_and_the_object_can_be_deleted() {
    let namespace = TestNamespace::create(cluster().await, "users");
    let source = HttpSource::start_protected(0.0, &bearer("t")).await.unwrap();
    namespace.apply([
        deployment("web", 1),
        secret("creds", "t"),
        from_secret("one", "creds"),
        from_secret("two", "creds"),
    ]);
    let users = |name: &'static str| {
        move |namespace: &TestNamespace<'_>| namespace.get("triggerauthentication", name)["status"].clone()
    };
    namespace.apply([scaled_object("web", [guarded(&source, "one")], json!({}))]);
    namespace.until("one is used", json!({ "scaledobjects": "web" }), users("one")).await;
    namespace.apply([scaled_object("web", [guarded(&source, "two")], json!({}))]);
    namespace.until("two is used", json!({ "scaledobjects": "web" }), users("two")).await;
    namespace.until("one is not used any more", json!({}), users("one")).await;
    namespace.kubectl(["delete", "scaledobject", "web"]);
    namespace.until("nothing uses two", json!({}), users("two")).await;
    namespace.kubectl(["delete", "triggerauthentication", "one", "two"]);
    let added = |namespace: &TestNamespace<'_>| namespace.events("TriggerAuthenticationAdded").len();
    namespace.until("both events are published", 2, added).await;
    no_secret_leaks(&namespace).await;
}

#[tokio::test]
async fn a_rotation_under_load_scales_nothing() {
    let namespace = TestNamespace::create(cluster().await, "turns");
    let source = HttpSource::start_protected(20.0, &bearer("turn-0")).await.unwrap();
    let names: Vec<String> = (0..12).map(|index| format!("web-{index}")).collect();
    namespace.apply([secret("creds", "turn-0"), from_secret("prom", "creds")]);
    namespace.apply(names.iter().map(|name| deployment(name, 0)));
    namespace.apply(
        names.iter().map(|name| scaled_object(name, [guarded(&source, "prom")], json!({ "cooldownPeriod": 1 }))),
    );
    let all = |kind: &str, path: &str| {
        let output = format!("jsonpath={{.items[*]{path}}}");
        namespace.kubectl(["get", kind, "--output", &output]).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let scaled_out = vec!["2".to_owned(); names.len()];
    namespace.until("all are scaled out", scaled_out.clone(), |_| all("deployments", ".spec.replicas")).await;
    for turn in 1..=5 {
        // For a moment the Secret still holds the old token.
        source.protect_all(&bearer(&format!("turn-{turn}")));
        namespace.apply([secret("creds", &format!("turn-{turn}"))]);
        let ready = ".status.conditions[?(@.type==\"Ready\")].status";
        let wanted = vec!["True".to_owned(); names.len()];
        namespace.until("all are ready again", wanted, |_| all("scaledobjects", ready)).await;
        assert_eq!(all("deployments", ".spec.replicas"), scaled_out, "turn {turn}");
    }
    no_secret_leaks(&namespace).await;
}
