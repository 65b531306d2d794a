//! Credentials that fail in every way, with an operator that logs at level trace: they appear nowhere.

use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::{Launch, RunningOperator};
use kedge_tests::leak::{assert_nowhere, marker, places};
use kedge_tests::namespace::{TestNamespace, deployment, prometheus, scaled_object};
use kedge_tests::programs;
use serde_json::{Value, json};

/// An object whose trigger runs the query of its name, with the parameters of a Secret of its name.
struct Case {
    name: &'static str,
    modes: &'static str,
    secret: Vec<(&'static str, String)>,
    answer: SourceResponse,
}

impl Case {
    fn new(name: &'static str, modes: &'static str, secret: &[(&'static str, &str)], answer: SourceResponse) -> Self {
        let secret = secret.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        Self { name, modes, secret, answer }
    }

    fn objects(&self, url: &str) -> Vec<Value> {
        let name = self.name;
        let data: serde_json::Map<String, Value> =
            self.secret.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        let parameters: Vec<Value> =
            self.secret.iter().map(|(key, _)| json!({ "parameter": key, "name": name, "key": key })).collect();
        let mut trigger = prometheus(url, name, 10);
        trigger["metadata"]["authModes"] = json!(self.modes);
        trigger["authenticationRef"] = json!({ "name": name });
        vec![
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data }),
            authentication(name, json!({ "secretTargetRef": parameters })),
            deployment(name, 1),
            scaled_object(name, [trigger], json!({})),
        ]
    }
}

fn authentication(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": name }, "spec": spec })
}

/// Sources that refuse a credential or return it in an error, and credentials that cannot be used.
fn cases(token: &str) -> Vec<Case> {
    let bearer = |name, answer| Case::new(name, "bearer", &[("bearerToken", token)], answer);
    let bad_request = |text: String| SourceResponse::raw("400 Bad Request", text);
    let vector_of = |value: &str| {
        let vector = json!({ "status": "success", "data": { "resultType": "vector", "result": [{ "metric": {}, "value": [0, value] }] } });
        SourceResponse::raw("200 OK", vector.to_string())
    };
    let redirect = |place: String| SourceResponse::Raw {
        status: "302 Found",
        headers: vec![("location", place)],
        body: String::new(),
    };
    let pem = |kind: &str| format!("-----BEGIN {kind}-----\n{token}\n-----END {kind}-----\n");
    let refused = || SourceResponse::raw("401 Unauthorized", format!("unknown token {token}"));
    vec![
        bearer("refused", refused()),
        bearer(
            "explained",
            bad_request(json!({ "status": "error", "errorType": "auth", "error": format!("no {token}") }).to_string()),
        ),
        bearer("broken", SourceResponse::raw("500 Internal Server Error", format!("panic: {token}"))),
        bearer("prose", SourceResponse::raw("200 OK", format!("welcome, {token}"))),
        bearer("no-number", vector_of(token)),
        bearer("sent-on", redirect(format!("http://user:{token}@127.0.0.1:9/?token={token}"))),
        bearer("sent-nowhere", redirect(format!("http://[::{token}"))),
        Case::new("basic", "basic", &[("username", "me"), ("password", token)], refused()),
        Case::new("custom", "custom", &[("customAuthHeader", "X-Key"), ("customAuthValue", token)], refused()),
        Case::new(
            "no-header-name",
            "custom",
            &[("customAuthHeader", &format!("{token} {token}")), ("customAuthValue", token)],
            refused(),
        ),
        Case::new("no-header", "bearer", &[("bearerToken", &format!("{token}\nx: {token}"))], refused()),
        Case::new(
            "no-ca",
            "tls",
            &[("ca", token), ("cert", &pem("CERTIFICATE")), ("key", &pem("PRIVATE KEY"))],
            refused(),
        ),
        Case::new("no-modes", "bearer,abacus", &[("bearerToken", token)], refused()),
    ]
}

/// Objects whose credentials come from other sources, or that have another error.
fn others(url: &str, token: &str) -> Vec<Value> {
    let keyed = |mut trigger: Value| {
        trigger["metadata"]["authModes"] = json!("bearer");
        trigger["authenticationRef"] = json!({ "name": "refused" });
        trigger
    };
    let mut objects = Vec::new();
    let mut add = |name: &str, trigger: Value, spec: Value| {
        let mut target = deployment(name, 1);
        target["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{ "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "refused", "key": "bearerToken" } } }]);
        objects.extend([target, scaled_object(name, [trigger], spec)]);
    };
    let missing = json!({ "secretTargetRef": [{ "parameter": "bearerToken", "name": "refused", "key": "absent" }] });
    let mut trigger = keyed(prometheus(url, "absent", 10));
    trigger["authenticationRef"] = json!({ "name": "absent" });
    add("absent", trigger, json!({}));
    add("in-address", prometheus(&format!("http://user:{token}@127.0.0.1:9"), "q", 10), json!({}));
    add("in-bad-address", prometheus(&format!("http://user:{token}@[::1:99999"), "q", 10), json!({}));
    add("proxied", prometheus("http://prometheus.example.invalid", "q", 10), json!({}));
    let mut trigger = keyed(prometheus(url, "refused", 10));
    trigger["metadata"]["threshold"] = json!("ten");
    add("bad-threshold", trigger, json!({}));
    let mut trigger = keyed(prometheus(url, "refused", 10));
    trigger["name"] = json!("t");
    let formula = json!({ "advanced": { "scalingModifiers": { "formula": "t + unknown", "target": "5" } } });
    add("bad-formula", trigger.clone(), formula);
    let formula = json!({ "advanced": { "scalingModifiers": { "formula": "t / 0", "target": "5" } } });
    add("failing-formula", trigger, formula);
    let external =
        json!({ "type": "external", "metadata": { "scalerAddress": "127.0.0.1:9", "tokenFromEnv": "TOKEN" } });
    add("external", external, json!({}));
    let mut trigger = prometheus(url, "refused", 10);
    trigger["metadata"]["awsRegion"] = json!("eu-west-1");
    trigger["metadata"]["awsAccessKeyIDFromEnv"] = json!("TOKEN");
    add("half-a-key", trigger, json!({}));
    let mut trigger = prometheus(url, "refused", 10);
    trigger["metadata"]["credentialsFromEnv"] = json!("TOKEN");
    add("no-google-key", trigger, json!({}));
    let mut trigger = keyed(prometheus(url, "refused", 10));
    trigger["authenticationRef"] = json!({ "name": "variable" });
    add("variable", trigger.clone(), json!({}));
    trigger["authenticationRef"] = json!({ "name": "vault" });
    add("vaulted", trigger, json!({}));
    let vault = json!({ "hashiCorpVault": {
        "address": url, "authentication": "token",
        "secrets": [{ "parameter": "bearerToken", "key": "token", "path": "secret/data/x", "type": "secretV2" }],
    }});
    objects.extend([
        authentication("absent", missing),
        authentication("variable", json!({ "env": [{ "parameter": "bearerToken", "name": "TOKEN" }] })),
        authentication("vault", vault),
    ]);
    objects
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_fail_appear_nowhere() {
    let cluster = super::start(super::quick("secrets")).await;
    let token = format!("{}pw", marker());
    let proxy = format!("http://proxy-user:{token}@127.0.0.1:9");
    let environment =
        [("HTTP_PROXY", proxy.as_str()), ("HTTPS_PROXY", proxy.as_str()), ("VAULT_TOKEN", token.as_str())];
    let launch = Launch {
        name: "trace".to_owned(),
        flags: vec!["--log-level=trace".to_owned()],
        environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    };
    let operator = RunningOperator::launch(&cluster, &programs::kedge(), launch).await.unwrap();
    let namespace = TestNamespace::create(&cluster, "secrets");
    let source = HttpSource::start().await.unwrap();
    let cases = cases(&token);
    for case in &cases {
        source.set(case.name, case.answer.clone());
    }
    namespace.apply(cases.iter().flat_map(|case| case.objects(&source.url())));
    namespace.apply(others(&source.url(), &token));
    let unsettled = |namespace: &TestNamespace<'_>| -> Vec<String> {
        let all = namespace.list("so");
        let ready = |object: &Value| {
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|condition| condition["type"] == "Ready").cloned().unwrap_or_default();
            ready["status"].as_str().unwrap_or_default().to_owned()
        };
        let objects = all["items"].as_array().unwrap();
        let wrong = objects.iter().filter(|object| ready(object) != "False");
        wrong.map(|object| format!("{}: {}", object["metadata"]["name"], ready(object))).collect()
    };
    namespace.until("no object is ready", Vec::new(), unsettled).await;
    // The HPA controller queries the metric, and gets the error.
    let hpa = |namespace: &TestNamespace<'_>| namespace.condition("refused", "HPAActive").0;
    namespace.until("the HPA has the condition", "False".to_owned(), hpa).await;
    assert!(operator.log().contains("TRACE"), "the operator does not log at level trace");
    let mut more = vec![base64(format!("me:{token}")), base64(format!("proxy-user:{token}")), base64(token.clone())];
    // The operator's own token is a credential, too.
    let kubeconfig = std::fs::read(cluster.folder().join("operator/trace/kubeconfig")).unwrap();
    let kubeconfig: Value = serde_json::from_slice(&kubeconfig).unwrap();
    more.push(kubeconfig["users"][0]["user"]["token"].as_str().unwrap().to_owned());
    assert_nowhere(&namespace, &operator, &more).await;

    // The check finds a secret that is not hidden.
    let planted =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "planted" }, "data": { "x": token } });
    namespace.apply([planted]);
    let found = places(&namespace, &operator, &more).await;
    assert!(found.len() == 1 && found[0].contains("planted"), "{found:?}");
}

fn base64(text: String) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD_NO_PAD.encode(text)
}
