//! Certificate rotation under load: three replicas of a release issue and renew their certificates, while metrics are read and objects
//! are validated through the API server, and new TLS connections are opened as an API server opens them.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, cron_open, deployment, scaled_object};
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use super::running::Release;

const SERVER: &str = "keda-operator-metrics-apiserver.keda.svc";
const SECRET: [&str; 4] = ["secret", "kedaorg-certs", "--namespace=keda", "--output=json"];

/// Leaf certificates are renewed after 35 s, the CA after 105 s. Objects are rejected while the webhooks do not respond.
const VALUES: [&str; 4] = [
    "--set=operator.replicaCount=3",
    "--set=webhooks.failurePolicy=Fail",
    "--set=extraArgs.keda.cert-lifetime=60s",
    "--set=extraArgs.keda.cert-authority-lifetime=180s",
];

/// The results of all calls so far.
#[derive(Default)]
struct CallResults {
    reads: usize,
    admissions: usize,
    refusals: usize,
    handshakes: usize,
    leaves: BTreeSet<Vec<u8>>,
    failures: Vec<String>,
}

type SharedResults = Arc<Mutex<CallResults>>;

/// Reads a metric through the API server in a loop.
async fn read_metric(client: kube::Client, path: String, results: SharedResults) {
    loop {
        let answer = client.request::<Value>(Request::get(&path).body(Vec::new()).unwrap()).await;
        {
            let mut results = results.lock().unwrap();
            results.reads += 1;
            match answer {
                Ok(answer) if answer["items"][0]["value"].is_string() => {}
                other => results.failures.push(format!("{other:?}")),
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Sends dry runs of a valid and of an invalid object in a loop.
async fn send_admissions(client: kube::Client, namespace: String, results: SharedResults) {
    let path = format!("/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects?dryRun=All");
    let good = scaled_object("another", [cron_open(2)], json!({}));
    let mut trigger = cron_open(2);
    trigger["metadata"]["start"] = json!("at noon");
    let bad = scaled_object("another", [trigger], json!({}));
    loop {
        for object in [&good, &bad] {
            let request = Request::post(&path).header("content-type", "application/json");
            let answer = client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await;
            let mut results = results.lock().unwrap();
            match answer {
                Ok(_) if object == &good => results.admissions += 1,
                Err(kube::Error::Api(status)) if object == &bad && status.message.contains("at noon") => {
                    results.refusals += 1
                }
                other => results.failures.push(format!("{other:?}")),
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Opens TLS connections in a loop, with the CA bundle of the APIService.
async fn connect(client: kube::Client, port: u16, results: SharedResults) {
    loop {
        let outcome = handshake(&client, port).await;
        {
            let mut results = results.lock().unwrap();
            results.handshakes += 1;
            match outcome {
                Ok(leaf) => drop(results.leaves.insert(leaf)),
                Err(error) => results.failures.push(format!("{error:#}")),
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn handshake(client: &kube::Client, port: u16) -> anyhow::Result<Vec<u8>> {
    let kind = GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService");
    let services: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let service = services.get("v1beta1.external.metrics.k8s.io").await?;
    let bundle = STANDARD.decode(service.data["spec"]["caBundle"].as_str().context("no bundle")?)?;
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(&bundle) {
        roots.add(root?)?;
    }
    let config = ClientConfig::builder_with_provider(kedge_serving::tls::provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let stream = TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(SERVER)?, stream).await?;
    let shown = stream.get_ref().1.peer_certificates().context("no certificate")?;
    Ok(shown[0].to_vec())
}

/// Waits until the webhooks respond. Until then, objects are rejected.
async fn until_webhooks_respond(cluster: &Cluster) {
    let object = scaled_object("first", [cron_open(2)], json!({}));
    wait_for("the webhooks respond", DEADLINE, async || cluster.apply(&object).map_err(|error| error.to_string()))
        .await
        .unwrap();
    cluster.kubectl(["delete", "scaledobject", "first"]).unwrap();
}

/// A value in the data of the Secret, as it is stored.
fn secret_value(cluster: &Cluster, name: &str) -> String {
    let secret = cluster.kubectl(["get"].iter().chain(&SECRET)).unwrap_or_default();
    let secret: Value = serde_json::from_str(&secret).unwrap_or_default();
    secret["data"][name].as_str().unwrap_or_default().to_owned()
}

/// Waits until a value of the Secret is none of these, and not empty.
async fn until_changed(cluster: &Cluster, name: &str, from: &[&str]) {
    let what = format!("{name} of the Secret has changed");
    let check = async || match secret_value(cluster, name) {
        now if now.is_empty() || from.contains(&now.as_str()) => Err(now.len()),
        _ => Ok(()),
    };
    wait_for(&what, 2 * DEADLINE, check).await.unwrap();
}

#[tokio::test]
async fn certificates_are_renewed_under_load_and_no_caller_fails() {
    let cluster = Cluster::builder("rotation").hpa_sync_period(Duration::from_secs(1)).start().await.unwrap();
    cluster.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "keda" } })).unwrap();
    let release = Release::install(&cluster, 3, &VALUES.map(str::to_owned));
    let pods = release.run().await;
    let namespace = TestNamespace::create(&cluster, "certificates");
    until_webhooks_respond(&cluster).await;
    namespace.apply([deployment("web", 1), scaled_object("web", [cron_open(2)], json!({}))]);
    namespace.until("it is ready", "True".to_owned(), |namespace| namespace.condition("web", "Ready").0).await;
    let metric = namespace.get("scaledobject", "web")["status"]["externalMetricNames"][0].as_str().unwrap().to_owned();
    let path = format!(
        "/apis/external.metrics.k8s.io/v1beta1/namespaces/{}/{metric}?labelSelector=scaledobject.keda.sh%2Fname%3Dweb",
        namespace.name
    );

    let (results, mut callers) = (SharedResults::default(), JoinSet::new());
    for _ in 0..2 {
        callers.spawn(read_metric(cluster.client().await.unwrap(), path.clone(), results.clone()));
    }
    callers.spawn(send_admissions(cluster.client().await.unwrap(), namespace.name.clone(), results.clone()));
    callers.spawn(connect(cluster.client().await.unwrap(), release.metrics_port(), results.clone()));

    let first = secret_value(&cluster, "ca.key");
    until_changed(&cluster, "ca.key", &[&first]).await;
    wait_for("three renewals", 2 * DEADLINE, async || match results.lock().unwrap().leaves.len() {
        few @ 0..4 => Err(few),
        _ => Ok(()),
    })
    .await
    .unwrap();

    let before = secret_value(&cluster, "ca.key");
    cluster.kubectl(["delete", "secret", "kedaorg-certs", "--namespace=keda"]).unwrap();
    until_changed(&cluster, "ca.key", &[&before]).await;

    let (ca, leaf) = (secret_value(&cluster, "ca.crt"), secret_value(&cluster, "tls.crt"));
    let corrupt = r#"--patch={"data":{"ca.crt":"aGVsbG8=","tls.crt":"aGVsbG8="}}"#;
    cluster.kubectl(["patch", "secret", "kedaorg-certs", "--namespace=keda", "--type=merge", corrupt]).unwrap();
    until_changed(&cluster, "ca.crt", &[&ca, "aGVsbG8="]).await;
    until_changed(&cluster, "tls.crt", &[&leaf, "aGVsbG8="]).await;

    callers.shutdown().await;
    let results = results.lock().unwrap();
    let CallResults { reads, admissions, refusals, handshakes, leaves, failures } = &*results;
    println!(
        "{reads} reads, {admissions} admissions, {refusals} refusals, {handshakes} handshakes, {} leaves",
        leaves.len()
    );
    assert_eq!(*failures, Vec::<String>::new(), "{}", pods.logs());
    for count in [reads, admissions, refusals, handshakes] {
        assert!(*count > 100, "{reads} reads, {admissions} admissions, {refusals} refusals, {handshakes} handshakes");
    }
}
