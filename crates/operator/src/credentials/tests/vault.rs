//! Vault, as a server on the loopback.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use kedge_core::credentials::outbound_filter::{FilterMode, VaultFilter};
use kedge_core::outbound_policy::OutboundPolicy;
use kedge_core::secret::Secret;

use super::*;
use crate::test_cluster::token;

/// Starts a server that answers `METHOD path token namespace body` by a function, and answers its address.
async fn serve(answer: impl Fn(&str) -> (u16, Value) + Send + 'static) -> (String, tokio::task::JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            let mut buffer = [0; 4096];
            while !is_complete(&text) {
                let length = connection.read(&mut buffer).await.unwrap();
                text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
            }
            let (status, body) = answer(&describe(&text));
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            connection.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    (address, serving)
}

fn headers(head: &str) -> BTreeMap<String, String> {
    let pairs = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect()
}

fn is_complete(text: &str) -> bool {
    text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
        let length = headers(head).get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        body.len() >= length
    })
}

fn describe(text: &str) -> String {
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let words: Vec<&str> = head.split_whitespace().take(2).collect();
    let headers = headers(head);
    let header = |name: &str| headers.get(name).cloned().unwrap_or_else(|| "-".to_owned());
    format!("{} {} {} {body}", words.join(" "), header("x-vault-token"), header("x-vault-namespace"))
}

fn vault(request: &str) -> (u16, Value) {
    let expiration = 4_102_444_800_u64;
    match request.trim() {
        "GET /v1/auth/token/lookup-self t0p team" => (200, json!({ "data": {} })),
        "GET /v1/auth/token/lookup-self for-pod -" => (200, json!({ "data": {} })),
        "GET /v1/secret/data/prom t0p team" => (200, json!({ "data": { "data": { "token": "hunter2" } } })),
        "GET /v1/kv/prom for-pod -" => (200, json!({ "data": { "token": "hunter3" } })),
        r#"POST /v1/pki/issue/x for-pod - {"common_name":"web"}"# => {
            (200, json!({ "data": { "certificate": "CERT", "expiration": expiration } }))
        }
        request if request.starts_with("POST /v1/auth/kubernetes/login - - ") => {
            let is_ours = request.contains(r#""jwt":"token of system:serviceaccount:shop:reader""#)
                && request.contains(r#""role":"scaler""#);
            if is_ours { (200, json!({ "auth": { "client_token": "for-pod" } })) } else { (400, json!({})) }
        }
        r#"POST /v1/pki/issue/for-ever t0p team {"common_name":"web"}"# => {
            (200, json!({ "data": { "certificate": "CERT", "expiration": u64::MAX } }))
        }
        request if request.contains("/v1/broken") => (503, json!({ "errors": ["hunter4"] })),
        request if request.contains("/v1/gone") => (404, json!({ "errors": [] })),
        _ => (403, json!({ "errors": ["hunter4"] })),
    }
}

async fn resolve(spec: Value) -> (Result<Resolved, Vec<CredentialError>>, Option<Duration>) {
    resolve_with(spec, Settings { token_policy: TokenPolicy::Legacy, ..Settings::default() }, OutboundPolicy::default())
        .await
}

async fn resolve_with(
    spec: Value,
    settings: Settings,
    outbound_policy: OutboundPolicy,
) -> (Result<Resolved, Vec<CredentialError>>, Option<Duration>) {
    let cluster = TestCluster::new();
    cluster.apply(&format!("{ACCOUNTS}/reader"), json!({}));
    cluster.apply(&format!("{AUTHS}/prom"), auth(json!({ "hashiCorpVault": spec })));
    let (credentials, _queue) = credentials_within(&cluster, settings, outbound_policy);
    let (object, target) = (object(json!({}), json!({ "name": "prom" })), target());
    let scalable = crate::scalable::Scalable::from(&object);
    let mut resolution = credentials.begin(&scalable, &target);
    let resolved = resolution.resolve(&object.spec.triggers[0]).await;
    (resolved, resolution.end().1)
}

fn one(path: &str) -> Value {
    json!([{ "parameter": "bearerToken", "path": path, "key": "token" }])
}

#[tokio::test]
async fn a_token_reads_the_secrets_of_its_namespace() {
    let (address, _serving) = serve(vault).await;
    let spec = json!({
        "address": address, "authentication": "token", "namespace": "team", "credential": { "token": "t0p" },
        "secrets": one("secret/data/prom"),
    });
    let (resolved, refresh) = resolve(spec).await;
    assert_eq!(resolved.unwrap().auth.get("bearerToken").unwrap().reveal(), "hunter2");
    assert_eq!(refresh, Some(Duration::from_secs(300)), "Vault cannot be watched");
}

#[tokio::test]
async fn a_service_account_signs_in_and_reads_secrets_and_certificates() {
    let (address, _serving) = serve(vault).await;
    let spec = json!({
        "address": format!("{address}/"), "authentication": "kubernetes", "mount": "kubernetes", "role": "scaler",
        "credential": { "serviceAccountName": "reader" },
        "secrets": [
            { "parameter": "bearerToken", "path": "kv/prom", "key": "token", "type": "secret" },
            { "parameter": "cert", "path": "pki/issue/x", "key": "certificate", "type": "pki", "pkiData": { "commonName": "web" } },
        ],
    });
    let auth = resolve(spec).await.0.unwrap().auth;
    assert_eq!(auth.get("bearerToken").unwrap().reveal(), "hunter3");
    assert_eq!(auth.get("cert").unwrap().reveal(), "CERT");
}

#[tokio::test]
async fn no_lifetime_is_too_long() {
    let (address, _serving) = serve(vault).await;
    let spec = json!({
        "address": address, "authentication": "token", "namespace": "team", "credential": { "token": "t0p" },
        "secrets": [
            { "parameter": "cert", "path": "pki/issue/for-ever", "key": "certificate", "type": "pki", "pkiData": { "commonName": "web" } },
        ],
    });
    let (resolved, refresh) = resolve(spec).await;
    assert_eq!(resolved.unwrap().auth.get("cert").unwrap().reveal(), "CERT");
    assert_eq!(refresh, Some(Duration::from_secs(24 * 60 * 60)), "an instant that far away overflowed");
}

#[tokio::test]
async fn an_error_of_vault_is_reported_without_its_text() {
    let (address, _serving) = serve(vault).await;
    let token = |token: Value, secrets: Value| json!({ "address": address, "authentication": "token", "namespace": "team", "credential": token, "secrets": secrets });
    let good = json!({ "token": "t0p" });
    let rows = [
        ("no token", token(json!({}), one("x")), "has no token to sign in with", false),
        ("a wrong token", token(json!({ "token": "hunter4" }), one("x")), "lookup-self with status 403", false),
        ("no such path", token(good.clone(), one("gone")), "asks for gone, which Vault does not have", false),
        (
            "a forbidden path",
            token(good.clone(), one("secret")),
            "is refused by Vault at secret with status 403",
            false,
        ),
        (
            "no such key",
            token(good.clone(), json!([{ "parameter": "p", "path": "secret/data/prom", "key": "x" }])),
            "finds no text under the key \"x\"",
            false,
        ),
        (
            "an address that is none",
            json!({ "address": "vault", "authentication": "token", "credential": good, "secrets": one("x") }),
            "names an address that, with ",
            false,
        ),
        ("a broken server", token(good.clone(), one("broken")), "with status 503", true),
        (
            "no mount",
            json!({ "address": address, "authentication": "kubernetes", "role": "r", "secrets": one("x") }),
            "needs mount and role",
            false,
        ),
        (
            "a file that is no token",
            json!({ "address": address, "authentication": "kubernetes", "role": "r", "mount": "m", "credential": { "serviceAccount": "/etc/hostname" }, "secrets": one("x") }),
            "signs in with the file /etc/hostname",
            false,
        ),
        (
            "no listener",
            json!({ "address": "http://127.0.0.1:1", "authentication": "token", "credential": good, "secrets": one("x") }),
            "cannot be reached",
            true,
        ),
    ];
    for (name, spec, expected, is_transient) in rows {
        let (resolved, refresh) = resolve(spec).await;
        let problems = resolved.unwrap_err();
        let text = problems[0].to_string();
        assert!(text.contains(expected) && text.contains("TriggerAuthentication shop/prom"), "{name}: {text}");
        assert!(!text.contains("hunter") && !text.contains("t0p"), "{name}: {text}");
        assert_eq!(problems[0].is_transient(), is_transient, "{name}");
        assert!(refresh.is_some(), "{name}: it is tried again");
    }
}

/// A server that notes every request, and the specification of an object that signs in there by kubernetes.
async fn noting_vault(credential: Value) -> (Value, Arc<Mutex<Vec<String>>>, tokio::task::JoinSet<()>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let noted = requests.clone();
    let (address, serving) = serve(move |request| {
        noted.lock().unwrap().push(request.to_owned());
        (403, json!({}))
    })
    .await;
    let spec = json!({
        "address": address, "authentication": "kubernetes", "mount": "m", "role": "r", "credential": credential,
        "secrets": one("x"),
    });
    (spec, requests, serving)
}

#[tokio::test]
async fn the_operators_tokens_reach_no_vault_that_the_administrator_does_not_allow() {
    let own = std::env::temp_dir().join(format!("kedge-own-token-{}", std::process::id()));
    let write = |audience: &str| {
        std::fs::write(&own, token("system:serviceaccount:keda:operator", &[audience.to_owned()])).unwrap();
    };
    let settings = || Settings {
        token_policy: policy_for("vault", "other"),
        vault_token_file: own.clone(),
        ..Settings::default()
    };
    let listed = |mode, endpoint: &str| OutboundFilter {
        hashi_corp_vault: VaultFilter { mode, allowed_endpoints: vec![endpoint.to_owned()] },
    };
    let granted = |namespace: &str| -> OutboundPolicy {
        let grant = json!({ "provider": "vault", "namespaces": [namespace], "hosts": ["127.0.0.1"] });
        serde_json::from_value(json!({ "identities": [grant] })).unwrap()
    };
    let filtered = |mode| Settings { outbound_filter: listed(mode, "https://vault.example"), ..settings() };
    let with_variable = Settings {
        vault: super::super::vault::Settings { token: Some(Secret::new("t0p")), ..Default::default() },
        ..settings()
    };
    let open = OutboundPolicy::default;
    let account = json!({ "serviceAccountName": "reader" });
    let own_file = Value::Null;
    let rows = [
        ("an approved audience", "vault", own_file.clone(), settings(), open(), None),
        ("the API server's audience", "kubernetes", own_file.clone(), settings(), open(), Some("is not approved")),
        (
            "no audiences",
            "vault",
            own_file.clone(),
            Settings { token_policy: TokenPolicy::default(), ..settings() },
            open(),
            Some("no approved"),
        ),
        ("an account that is not listed", "vault", account, settings(), open(), Some("no configured token audience")),
        (
            "a server that is not listed",
            "vault",
            own_file.clone(),
            filtered(FilterMode::Enforce),
            open(),
            Some("is not in the configured allowlist"),
        ),
        ("only a warning", "vault", own_file.clone(), filtered(FilterMode::Warn), open(), None),
        (
            "another namespace",
            "vault",
            own_file.clone(),
            settings(),
            granted("bank"),
            Some("may not be used by namespace shop"),
        ),
        ("a granted namespace", "vault", own_file, settings(), granted("shop"), None),
    ];
    for (name, audience, credential, settings, policy, expected) in rows {
        write(audience);
        let (spec, requests, _serving) = noting_vault(credential).await;
        let text = resolve_with(spec, settings, policy).await.0.unwrap_err()[0].to_string();
        let requests = requests.lock().unwrap().clone();
        match expected {
            Some(part) => assert!(text.contains(part) && requests.is_empty(), "{name}: {text} {requests:?}"),
            None => assert!(requests[0].starts_with("POST /v1/auth/m/login"), "{name}: {text} {requests:?}"),
        }
    }
    std::fs::remove_file(&own).unwrap();
    let (mut spec, requests, _serving) = noting_vault(Value::Null).await;
    spec["authentication"] = json!("token");
    let text = resolve_with(spec, with_variable, granted("bank")).await.0.unwrap_err()[0].to_string();
    assert!(text.contains("may not be used by namespace shop") && requests.lock().unwrap().is_empty(), "{text}");
}
