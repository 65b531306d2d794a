//! A tenant who writes ScaledObjects and TriggerAuthentications against the operator and its credentials, with servers of his own.
//! The operator has a cloud identity and a token for Vault. Nothing reaches his servers that is not his, and no other object notices.

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kedge_test_cluster::http::{get, is_ok};
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::{Cluster, Launch, RunningOperator};
use kedge_tests::namespace::{
    TestNamespace, authentication, deployment, prometheus, scaled_object, with_authentication,
};
use kedge_tests::programs;
use kedge_tests::recording_server::RecordingServer;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{quick, start};

/// An address that the administrator denies.
const DENIED: &str = "127.0.0.3";
/// The same address as one number, which is looked up like a name.
const DENIED_AS_NUMBER: &str = "2130706435";

/// More than a listener keeps of one client.
const IDLE_CONNECTIONS: usize = 200;

/// What a token of a service account for this audience looks like; the signature is its receiver's affair.
fn token(audience: &str) -> String {
    let claims =
        json!({ "sub": "system:serviceaccount:keda:keda-operator", "aud": [audience], "exp": 4_102_444_800_u64 });
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// An operator with an identity at AWS and at Vault, and a policy.
async fn operator_with_identities(cluster: &Cluster, policy: &Value) -> RunningOperator {
    let write = |name: &str, text: String| {
        let path = cluster.folder().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let environment = [
        ("KEDGE_OUTBOUND_POLICY", policy.to_string()),
        ("KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES", json!([{ "audience": "vault" }]).to_string()),
        ("AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/scaling".to_owned()),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", write("aws-token", token("sts.amazonaws.com"))),
    ];
    let vault_token = write("vault-token", token("vault"));
    let launch = Launch {
        name: "policy".to_owned(),
        flags: vec![format!("--vault-kubernetes-auth-token-file={vault_token}")],
        environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec(),
    };
    RunningOperator::launch(cluster, &programs::kedge(), launch).await.unwrap()
}

/// A TriggerAuthentication that signs in to this Vault, and an object that uses it.
fn by_vault(name: &str, source: &str, vault: Value) -> Vec<Value> {
    let mut trigger = prometheus(source, "healthy", 10);
    trigger["metadata"]["authModes"] = json!("bearer");
    let trigger = with_authentication(trigger, "TriggerAuthentication", name);
    vec![
        authentication("TriggerAuthentication", name, json!({ "hashiCorpVault": vault })),
        deployment(name, 1),
        scaled_object(name, [trigger], json!({})),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_gets_neither_the_operators_credentials_nor_its_time() {
    let cluster = start(quick("hostile")).await;
    let grant = json!({ "provider": "vault", "namespaces": ["administrators"], "hosts": ["vault.example.com"] });
    let policy = json!({ "deniedCIDRs": ["169.254.0.0/16", "127.0.0.3/32"], "identities": [grant] });
    let mut operator = operator_with_identities(&cluster, &policy).await;
    let denied = RecordingServer::start(DENIED, "{}".to_owned()).await.unwrap();
    let port = denied.address().port();
    // An instant after so many seconds does not exist.
    let certificate = json!({ "data": { "certificate": "CERT", "expiration": u64::MAX } });
    let vault = RecordingServer::start("127.0.0.1", certificate.to_string()).await.unwrap();
    let source = HttpSource::start().await.unwrap();
    source.set("healthy", SourceResponse::Value(50.0));
    source.set(
        "redirect",
        SourceResponse::Raw {
            status: "302 Found",
            headers: vec![("location", format!("{}/metrics", denied.url()))],
            body: String::new(),
        },
    );

    let tenant = TestNamespace::create(&cluster, "tenant");
    let object =
        |name: &str, trigger: Value| tenant.apply([deployment(name, 1), scaled_object(name, [trigger], json!({}))]);
    object("direct", prometheus(&denied.url(), "q", 10));
    object("by-number", prometheus(&format!("http://{DENIED_AS_NUMBER}:{port}"), "q", 10));
    object("redirected", prometheus(&source.url(), "redirect", 10));
    object("metadata", prometheus("http://169.254.169.254", "q", 10));
    object("external", json!({ "type": "external", "metadata": { "scalerAddress": format!("{DENIED}:{port}") } }));
    let mut elsewhere = prometheus(&source.url(), "healthy", 10);
    elsewhere["metadata"]["awsRegion"] = json!(format!("{}/x", denied.address()));
    tenant.apply([authentication("TriggerAuthentication", "cloud", json!({ "podIdentity": { "provider": "aws" } }))]);
    object("region", with_authentication(elsewhere.clone(), "TriggerAuthentication", "cloud"));
    elsewhere["metadata"]["awsRegion"] = json!("eu-central-1");
    object("identity", with_authentication(elsewhere, "TriggerAuthentication", "cloud"));
    let name = json!({ "scaleTargetRef": { "name": "direct/scale?x=" } });
    tenant.apply([scaled_object("path", [prometheus(&source.url(), "healthy", 10)], name)]);
    let by_kubernetes = json!({
        "address": vault.url(), "authentication": "kubernetes", "mount": "kubernetes", "role": "r",
        "secrets": [{ "parameter": "bearerToken", "path": "p", "key": "k" }],
    });
    tenant.apply(by_vault("vault", &source.url(), by_kubernetes));
    let for_ever = json!({
        "address": vault.url(), "authentication": "token", "credential": { "token": "own" },
        "secrets": [{ "parameter": "bearerToken", "path": "pki/issue/x", "key": "certificate", "type": "pki", "pkiData": { "commonName": "web" } }],
    });
    tenant.apply(by_vault("for-ever", &source.url(), for_ever));

    let in_denied_network = "is in the network 127.0.0.3/32, which the operator's outbound policy denies";
    let texts = [
        &format!("127.0.0.3 {in_denied_network}"),
        &format!("{DENIED_AS_NUMBER} {in_denied_network}"),
        "169.254.169.254 is in the network 169.254.0.0/16",
        "`awsRegion` is not the name of a region",
        "the aws identity of the operator may not be used by namespace",
        "the vault identity of the operator may not be used by namespace",
    ];
    tenant.events_with("KEDAScalerFailed", &texts).await;
    for name in ["direct", "by-number", "redirected", "metadata", "external", "region", "identity", "path", "vault"] {
        tenant
            .until(&format!("{name} is not ready"), "False".to_owned(), |tenant| tenant.condition(name, "Ready").0)
            .await;
    }
    tenant.until_replicas("for-ever", 5).await;

    let connections = hold_connections(operator.health_address()).await;
    let answer = get(operator.health_address(), "/healthz").await.unwrap();
    assert!(is_ok(&answer), "{answer}");
    drop(connections);

    let other = TestNamespace::create(&cluster, "other");
    other.apply([deployment("web", 1), scaled_object("web", [prometheus(&source.url(), "healthy", 10)], json!({}))]);
    other.until_replicas("web", 5).await;
    operator.check().unwrap();
    assert_eq!(denied.requests(), Vec::<String>::new(), "a connection was opened to a denied address");
    let requests = vault.requests();
    assert!(requests.iter().any(|request| request.contains("pki/issue/x")), "{requests:?}");
    assert!(requests.iter().all(|request| !request.contains("/login")), "{requests:?}");
}

/// Opens connections that send nothing.
async fn hold_connections(address: SocketAddr) -> Vec<TcpStream> {
    let mut connections = Vec::new();
    for _ in 0..IDLE_CONNECTIONS {
        connections.push(TcpStream::connect(address).await.unwrap());
    }
    connections
}
