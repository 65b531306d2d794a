//! Cloud identities: the requests to token servers, and the credentials that Prometheus gets.

mod aws;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::TimeDelta;
use kedge_api::authentication::PodIdentityProvider;
use kedge_scalers::CloudEnvironment;
use kedge_scalers::http::connector::BoxStream;

use super::server::ReceivedRequest;
use super::*;

const KEY: &str = include_str!("unused_rsa_key.pem");

/// A pod identity with a provider and nothing else.
pub(crate) fn of(provider: PodIdentityProvider) -> PodIdentity {
    PodIdentity {
        provider,
        identity_id: None,
        identity_tenant_id: None,
        identity_authority_host: None,
        role_arn: None,
        external_id: None,
        identity_owner: None,
    }
}

fn registry_in(variables: &[(&str, &str)]) -> Registry {
    let cloud_environment: CloudEnvironment = variables.iter().copied().collect();
    Registry::new(Settings { cloud_environment, ..Settings::default() }, Connector::tcp(), Arc::new(NoCluster))
}

/// A file that lasts as long as what is returned.
fn file(content: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, content).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

fn form(request: &ReceivedRequest) -> BTreeMap<String, String> {
    form_urlencoded::parse(request.body.as_bytes()).into_owned().collect()
}

/// Gives `token-1`, `token-2` and so on, each for an hour.
async fn token_server() -> Server {
    let count = AtomicUsize::new(0);
    Server::plain(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        Reply::body(&format!(r#"{{"access_token":"token-{number}","expires_in":3600,"token_type":"Bearer"}}"#))
    })
    .await
}

fn service_account(token_uri: &str) -> String {
    let key = serde_json::Value::from(KEY);
    format!(
        r#"{{"type":"service_account","client_email":"kedge@project.iam","private_key":{key},"token_uri":"{token_uri}"}}"#
    )
}

/// Reads once, and returns the authorization that Prometheus received.
async fn shown(query: &Query, registry: &Registry, prometheus: &Server) -> Option<String> {
    query.read_with(registry).await.unwrap_or_else(|error| panic!("{error}"));
    prometheus.requests().last().unwrap().header("authorization").map(str::to_owned)
}

#[tokio::test]
async fn azure_exchanges_the_federated_token() {
    let (tokens, prometheus) = (token_server().await, Server::plain(|_| Reply::value("1")).await);
    let (_folder, path) = file("federated\n");
    let authority = format!("http://{}/", tokens.address);
    let registry = registry_in(&[
        ("AZURE_CLIENT_ID", "client"),
        ("AZURE_TENANT_ID", "tenant"),
        ("AZURE_FEDERATED_TOKEN_FILE", &path),
        ("AZURE_AUTHORITY_HOST", &authority),
    ]);
    let own = of(PodIdentityProvider::AzureWorkload);
    let query = Query::of(&prometheus).identity(own.clone());
    assert_eq!(shown(&query, &registry, &prometheus).await.as_deref(), Some("Bearer token-1"));
    let request = tokens.requests().pop().unwrap();
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/tenant/oauth2/v2.0/token"));
    let form = form(&request);
    assert_eq!(form["grant_type"], "client_credentials");
    assert_eq!((form["client_id"].as_str(), form["client_assertion"].as_str()), ("client", "federated"));
    assert_eq!(form["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    assert_eq!(form["scope"], "https://prometheus.monitor.azure.com/.default");
    let other = PodIdentity { identity_tenant_id: Some("abroad".to_owned()), ..own };
    assert_eq!(shown(&query.identity(other), &registry, &prometheus).await.as_deref(), Some("Bearer token-2"));
    assert_eq!(tokens.requests().pop().unwrap().target, "/abroad/oauth2/v2.0/token");
}

#[tokio::test]
async fn a_machine_of_google_gives_its_token() {
    let (tokens, prometheus) = (token_server().await, Server::plain(|_| Reply::value("1")).await);
    let registry = registry_in(&[("GCE_METADATA_HOST", &tokens.address.to_string())]);
    let query = Query::of(&prometheus).identity(of(PodIdentityProvider::Gcp));
    assert_eq!(shown(&query, &registry, &prometheus).await.as_deref(), Some("Bearer token-1"));
    let request = tokens.requests().pop().unwrap();
    assert_eq!(request.header("metadata-flavor"), Some("Google"));
    let expected = "/computeMetadata/v1/instance/service-accounts/default/token\
                    ?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fmonitoring.read";
    assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", expected));
}

#[tokio::test]
async fn the_key_of_a_service_account_signs_in_from_wherever_it_is() {
    let prometheus = Server::plain(|_| Reply::value("1")).await;
    let plain = || Query::of(&prometheus);
    for way in ["auth", "variable", "file", "operator"] {
        let tokens = token_server().await;
        let key = service_account(&format!("http://{}/token", tokens.address));
        let (_folder, path) = file(&key);
        let (query, registry) = match way {
            "auth" => (plain().auth("GoogleApplicationCredentials", &key), registry_in(&[])),
            "variable" => (plain().with("credentialsFromEnv", "KEY").environment("KEY", &key), registry_in(&[])),
            "file" => (plain().with("credentialsFromEnvFile", "PATH").environment("PATH", &path), registry_in(&[])),
            _ => {
                let registry = registry_in(&[("GOOGLE_APPLICATION_CREDENTIALS", &path)]);
                (plain().identity(of(PodIdentityProvider::Gcp)), registry)
            }
        };
        assert_eq!(shown(&query, &registry, &prometheus).await.as_deref(), Some("Bearer token-1"), "{way}");
        let request = tokens.requests().pop().unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/token"), "{way}");
        let form = form(&request);
        assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer", "{way}");
        assert_eq!(form["assertion"].split('.').count(), 3, "{way}");
    }
}

#[tokio::test]
async fn a_token_is_shared_and_renewed_before_it_ends() {
    let (tokens, prometheus) = (token_server().await, Server::plain(|_| Reply::value("1")).await);
    let registry = registry_in(&[("GCE_METADATA_HOST", &tokens.address.to_string())]);
    let query = Query::of(&prometheus).identity(of(PodIdentityProvider::Gcp));
    let one = query.build(&registry).unwrap();
    let other = query.with("query", "other").build(&registry.clone()).unwrap();
    for (minutes, expected) in [(0, "Bearer token-1"), (54, "Bearer token-1"), (55, "Bearer token-2")] {
        for scaler in [&one, &other] {
            scaler.read("s0-prometheus", now() + TimeDelta::minutes(minutes)).await.unwrap();
            let request = prometheus.requests().pop().unwrap();
            assert_eq!(request.header("authorization"), Some(expected), "after {minutes} minutes");
        }
    }
    assert_eq!(tokens.requests().len(), 2);
}

#[tokio::test]
async fn an_old_token_is_used_while_it_lasts_if_there_is_no_new_one() {
    let replies = Mutex::new(vec![
        Reply::status(503),
        Reply::status(503),
        Reply::body(r#"{"access_token":"t","expires_in":3600}"#),
    ]);
    let tokens = Server::plain(move |_| replies.lock().unwrap().pop().unwrap()).await;
    let prometheus = Server::plain(|_| Reply::value("1")).await;
    let registry = registry_in(&[("GCE_METADATA_HOST", &tokens.address.to_string())]);
    let scaler = Query::of(&prometheus).identity(of(PodIdentityProvider::Gcp)).build(&registry).unwrap();
    for (minutes, works) in [(0, true), (59, true), (60, false)] {
        let outcome = scaler.read("s0-prometheus", now() + TimeDelta::minutes(minutes)).await;
        assert_eq!(outcome.is_ok(), works, "after {minutes} minutes: {outcome:?}");
    }
    assert_eq!(prometheus.requests().len(), 2, "no query is sent without a token");
}

#[tokio::test]
async fn without_credentials_no_request_is_sent_and_no_secret_is_shown() {
    type Script = fn() -> Reply;
    let rows: [(&str, Script, &str); 5] = [
        ("refused", || Reply::status(401), "answered with status 401"),
        ("not JSON", || Reply::body("hunter2"), "is not JSON"),
        ("no token", || Reply::body(r#"{"error":"hunter2"}"#), "has no access_token"),
        ("no header", || Reply::body(r#"{"access_token":"hunter2\n","expires_in":60}"#), "no header can have"),
        ("moved", || Reply::redirect("http://elsewhere/"), "answered with status 302"),
    ];
    for (name, reply, expected) in rows {
        let tokens = Server::plain(move |_| reply()).await;
        let prometheus = Server::plain(|_| Reply::value("1")).await;
        let (_folder, path) = file("hunter2");
        let registry = registry_in(&[
            ("AZURE_CLIENT_ID", "client"),
            ("AZURE_TENANT_ID", "tenant"),
            ("AZURE_FEDERATED_TOKEN_FILE", &path),
            ("AZURE_AUTHORITY_HOST", &format!("http://{}", tokens.address)),
        ]);
        let query = Query::of(&prometheus).identity(of(PodIdentityProvider::AzureWorkload));
        let error = query.read_with(&registry).await.expect_err(name);
        assert_eq!(error.reason(), "NoCredentials", "{name}: {error}");
        let text = error.to_string();
        assert!(text.starts_with("cannot sign in as azure-workload: "), "{name}: {text}");
        assert!(text.contains(expected) && !text.contains("hunter2"), "{name}: {text}");
        assert_eq!(prometheus.requests().len(), 0, "{name}");
    }
}

#[tokio::test]
async fn the_metadata_server_is_queried_without_a_proxy() {
    let wanted = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&wanted);
    let connect = move |uri: http::Uri| -> kedge_scalers::BoxFuture<'static, std::io::Result<BoxStream>> {
        received.lock().unwrap().push(uri.authority().unwrap().to_string());
        Box::pin(async { Err(std::io::Error::other("no server is there")) })
    };
    let proxies = Proxies::parse(Some("proxy:3128"), Some("proxy:3128"), None).unwrap();
    let registry =
        Registry::new(Settings { proxies, ..Settings::default() }, Connector::new(connect), Arc::new(NoCluster));
    let plain = Query::at("http://prometheus.example").with("awsRegion", "r");
    let key = service_account("https://tokens.example/");
    let rows = [
        (plain.clone().identity(of(PodIdentityProvider::Gcp)), "169.254.169.254"),
        (plain.clone().identity(of(PodIdentityProvider::Aws)), "169.254.169.254"),
        (plain.auth("GoogleApplicationCredentials", &key), "proxy:3128"),
    ];
    for (query, expected) in rows {
        let error = query.read_with(&registry).await.unwrap_err();
        assert!(error.to_string().contains("no server is there"), "{error}");
        assert_eq!(wanted.lock().unwrap().pop().as_deref(), Some(expected));
    }
}
