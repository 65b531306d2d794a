//! The dashboard of an operator on a real cluster: who sees what, and what a browser may send.

use std::net::Ipv4Addr;
use std::sync::Arc;

use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_test_cluster::{Cluster, Launch, RunningOperator};
use kedge_tests::namespace::{TestNamespace, cron_open, deployment, scaled_object};
use kedge_tests::programs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A client of one dashboard.
struct Client {
    tls: TlsConnector,
    port: u16,
}

impl Client {
    fn new(ca_pem: &str, port: u16) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(ca_pem.as_bytes()).map(Result::unwrap));
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Self { tls: TlsConnector::from(Arc::new(config)), port }
    }

    /// Sends a request with these lines of the head, and returns the code, the head and the body.
    async fn send(&self, line: &str, head: &str) -> anyhow::Result<(u16, String, String)> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
        let mut stream = self.tls.connect(ServerName::try_from("localhost")?, stream).await?;
        let request = format!("{line} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n{head}\r\n", self.port);
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        // Some servers end connections without a goodbye.
        let _ = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| anyhow::anyhow!("no response: {text}"))?;
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Ok((code, head.to_lowercase(), body.to_owned()))
    }

    async fn get(&self, path: &str, token: Option<&str>) -> (u16, Value) {
        let head = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let (code, _, body) = self.send(&format!("GET {path}"), &head).await.unwrap();
        (code, serde_json::from_str(&body).unwrap_or_default())
    }
}

/// The names of the listed objects.
fn names(list: &Value) -> Vec<String> {
    let objects = list["objects"].as_array().into_iter().flatten();
    objects.map(|one| format!("{}/{}", one["namespace"].as_str().unwrap(), one["name"].as_str().unwrap())).collect()
}

/// A token of a new service account, which may get ScaledObjects in these namespaces.
fn account(cluster: &Cluster, name: &str, namespaces: &[&str]) -> String {
    cluster.kubectl(["create", "serviceaccount", name]).unwrap();
    for namespace in namespaces {
        let role =
            ["create", "role", name, "--verb=get", "--resource=scaledobjects.keda.sh", "--namespace", *namespace];
        cluster.kubectl(role).unwrap();
        let (role, subject) = (format!("--role={name}"), format!("--serviceaccount=default:{name}"));
        cluster.kubectl(["create", "rolebinding", name, &role, &subject, "--namespace", *namespace]).unwrap();
    }
    cluster.kubectl(["create", "token", name]).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_see_the_objects_that_they_may_get() {
    let cluster = Cluster::builder("live-dashboard").start().await.unwrap();
    cluster.install_crds(&workspace().join("crds")).unwrap();
    let port = Port::reserve().unwrap();
    let flags = vec![format!("--dashboard-bind-address=127.0.0.1:{}", port.number)];
    let launch = Launch { flags, ..Launch::default() };
    let operator = RunningOperator::launch(&cluster, &programs::kedge(), launch).await.unwrap();
    let (shop, bank) = (TestNamespace::create(&cluster, "shop"), TestNamespace::create(&cluster, "bank"));
    for namespace in [&shop, &bank] {
        namespace.apply([deployment("web", 0), scaled_object("web", [cron_open(2)], json!({}))]);
    }
    let (shop, bank) = (shop.name.as_str(), bank.name.as_str());
    let client = Client::new(&operator.ca_pem(), port.number);

    let admin = account(&cluster, "admin", &[]);
    let bind =
        ["create", "clusterrolebinding", "admin", "--clusterrole=cluster-admin", "--serviceaccount=default:admin"];
    cluster.kubectl(bind).unwrap();
    let (one, none) = (account(&cluster, "one", &[shop]), account(&cluster, "none", &[]));

    // The objects are there, and were activated.
    let path = format!("/api/objects/{shop}/web");
    let activated = async || {
        let (_, detail) = client.get(&path, Some(&admin)).await;
        let steps = detail["object"]["steps"].as_array().cloned().unwrap_or_default();
        let is_there = steps.iter().any(|step| step["change"] == json!([0, 1]) && step["by"] == "Kedge");
        if is_there { Ok(()) } else { Err(detail.to_string()) }
    };
    wait_for("the log has the activation", DEADLINE, activated).await.unwrap();
    let scaled_by_hpa = async || {
        let (_, detail) = client.get(&path, Some(&admin)).await;
        let steps = detail["object"]["steps"].as_array().cloned().unwrap_or_default();
        let is_there = steps.iter().any(|step| step["by"] == "HPA" && step["change"] == json!([1, 2]));
        if is_there { Ok(()) } else { Err(detail.to_string()) }
    };
    wait_for("the log has what the real HPA controller did", DEADLINE, scaled_by_hpa).await.unwrap();

    // Who sees what.
    let (code, list) = client.get("/api/objects", Some(&admin)).await;
    let mut all = names(&list);
    all.sort();
    assert_eq!((code, all), (200, vec![format!("{bank}/web"), format!("{shop}/web")]));
    let (code, list) = client.get("/api/objects", Some(&one)).await;
    assert_eq!((code, names(&list)), (200, vec![format!("{shop}/web")]));
    assert_eq!(client.get(&format!("/api/objects/{bank}/web"), Some(&one)).await.0, 404, "as if it were not there");
    assert_eq!(client.get(&path, Some(&one)).await.0, 200);
    for path in ["/api/objects", &path] {
        assert_eq!(client.get(path, Some(&none)).await.0, 403, "{path}");
        assert_eq!(client.get(path, Some("forged")).await.0, 401, "{path}");
        assert_eq!(client.get(path, None).await.0, 401, "{path}");
    }

    // What a browser may send, and what no page may change.
    let (code, head, _) = client.send("GET /", "").await.unwrap();
    assert_eq!(code, 200, "the page has nothing to hide");
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    let token = format!("Authorization: Bearer {admin}\r\n");
    let foreign = format!("{token}Origin: https://evil.example\r\n");
    assert_eq!(client.send("GET /api/objects", &foreign).await.unwrap().0, 403, "another origin");
    let action = format!("{token}Content-Type: application/json\r\nContent-Length: 18\r\n\r\n{{\"action\":\"pause\"}}");
    let (code, _, body) = client.send(&format!("POST {path}/actions"), &action).await.unwrap();
    assert!(code == 403 && body.contains("kubectl"), "{code} {body}");
    for odd in ["/api/objects?x=%00", "/api/objects/%ff/%ff", "/api/objects/..%2f..%2fetc/passwd", "/%2e%2e/x"] {
        let code = client.get(odd, Some(&one)).await.0;
        assert!(code == 404 || code == 200, "{odd}: {code}");
    }
    let log = operator.log();
    assert!(![&admin, &one, &none].iter().any(|token| log.contains(token.as_str())), "no token is logged");
    operator.terminate().await.unwrap();
}
