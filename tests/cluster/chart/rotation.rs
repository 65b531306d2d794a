//! Certificates under load: three replicas of a release make and renew them by themselves, while metrics are read and objects are judged
//! through the API server all the time, and fresh connections are made as any API server would make them.

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

/// Leaves are renewed after 35 s, the authority after 105 s. What the webhooks do not answer is refused.
const VALUES: [&str; 4] = [
    "--set=operator.replicaCount=3",
    "--set=webhooks.failurePolicy=Fail",
    "--set=extraArgs.keda.cert-lifetime=60s",
    "--set=extraArgs.keda.cert-authority-lifetime=180s",
];

/// What callers have seen so far.
#[derive(Default)]
struct Seen {
    reads: usize,
    admissions: usize,
    refusals: usize,
    handshakes: usize,
    leaves: BTreeSet<Vec<u8>>,
    failures: Vec<String>,
}

type Shared = Arc<Mutex<Seen>>;

/// Reads a metric through the API server, again and again.
async fn read(client: kube::Client, path: String, seen: Shared) {
    loop {
        let answer = client.request::<Value>(Request::get(&path).body(Vec::new()).unwrap()).await;
        {
            let mut seen = seen.lock().unwrap();
            seen.reads += 1;
            match answer {
                Ok(answer) if answer["items"][0]["value"].is_string() => {}
                other => seen.failures.push(format!("{other:?}")),
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Asks whether an object may be written, again and again: a good one, and a bad one.
async fn send_admissions(client: kube::Client, namespace: String, seen: Shared) {
    let path = format!("/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects?dryRun=All");
    let good = scaled_object("another", [cron_open(2)], json!({}));
    let mut trigger = cron_open(2);
    trigger["metadata"]["start"] = json!("at noon");
    let bad = scaled_object("another", [trigger], json!({}));
    loop {
        for object in [&good, &bad] {
            let request = Request::post(&path).header("content-type", "application/json");
            let answer = client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await;
            let mut seen = seen.lock().unwrap();
            match answer {
                Ok(_) if object == &good => seen.admissions += 1,
                Err(kube::Error::Api(status)) if object == &bad && status.message.contains("at noon") => {
                    seen.refusals += 1
                }
                other => seen.failures.push(format!("{other:?}")),
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Opens connection after connection with the bundle that the APIService holds.
async fn connect(client: kube::Client, port: u16, seen: Shared) {
    loop {
        let outcome = shake_hands(&client, port).await;
        {
            let mut seen = seen.lock().unwrap();
            seen.handshakes += 1;
            match outcome {
                Ok(leaf) => drop(seen.leaves.insert(leaf)),
                Err(error) => seen.failures.push(format!("{error:#}")),
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn shake_hands(client: &kube::Client, port: u16) -> anyhow::Result<Vec<u8>> {
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

/// Waits until the webhooks answer: objects that they do not answer for are refused.
async fn until_webhooks_respond(cluster: &Cluster) {
    let object = scaled_object("first", [cron_open(2)], json!({}));
    wait_for("the webhooks respond", DEADLINE, async || cluster.apply(&object).map_err(|error| error.to_string()))
        .await
        .unwrap();
    cluster.kubectl(["delete", "scaledobject", "first"]).unwrap();
}

/// A part of the Secret, as it is stored.
fn part(cluster: &Cluster, name: &str) -> String {
    let secret = cluster.kubectl(["get"].iter().chain(&SECRET)).unwrap_or_default();
    let secret: Value = serde_json::from_str(&secret).unwrap_or_default();
    secret["data"][name].as_str().unwrap_or_default().to_owned()
}

/// Waits until a part of the Secret is another one, and a good one.
async fn until_changed(cluster: &Cluster, name: &str, from: &[&str]) {
    let what = format!("{name} of the Secret is another one");
    let look = async || match part(cluster, name) {
        now if now.is_empty() || from.contains(&now.as_str()) => Err(now.len()),
        _ => Ok(()),
    };
    wait_for(&what, 2 * DEADLINE, look).await.unwrap();
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

    let (seen, mut callers) = (Shared::default(), JoinSet::new());
    for _ in 0..2 {
        callers.spawn(read(cluster.client().await.unwrap(), path.clone(), seen.clone()));
    }
    callers.spawn(send_admissions(cluster.client().await.unwrap(), namespace.name.clone(), seen.clone()));
    callers.spawn(connect(cluster.client().await.unwrap(), release.metrics_port(), seen.clone()));

    let first = part(&cluster, "ca.key");
    until_changed(&cluster, "ca.key", &[&first]).await;
    wait_for("three renewals", 2 * DEADLINE, async || match seen.lock().unwrap().leaves.len() {
        few @ 0..4 => Err(few),
        _ => Ok(()),
    })
    .await
    .unwrap();

    let before = part(&cluster, "ca.key");
    cluster.kubectl(["delete", "secret", "kedaorg-certs", "--namespace=keda"]).unwrap();
    until_changed(&cluster, "ca.key", &[&before]).await;

    let (authority, leaf) = (part(&cluster, "ca.crt"), part(&cluster, "tls.crt"));
    let spoil = r#"--patch={"data":{"ca.crt":"aGVsbG8=","tls.crt":"aGVsbG8="}}"#;
    cluster.kubectl(["patch", "secret", "kedaorg-certs", "--namespace=keda", "--type=merge", spoil]).unwrap();
    until_changed(&cluster, "ca.crt", &[&authority, "aGVsbG8="]).await;
    until_changed(&cluster, "tls.crt", &[&leaf, "aGVsbG8="]).await;

    callers.shutdown().await;
    let seen = seen.lock().unwrap();
    let Seen { reads, admissions, refusals, handshakes, leaves, failures } = &*seen;
    println!(
        "{reads} reads, {admissions} admissions, {refusals} refusals, {handshakes} handshakes, {} leaves",
        leaves.len()
    );
    assert_eq!(*failures, Vec::<String>::new(), "{}", pods.logs());
    for count in [reads, admissions, refusals, handshakes] {
        assert!(*count > 100, "{reads} reads, {admissions} admissions, {refusals} refusals, {handshakes} handshakes");
    }
}
