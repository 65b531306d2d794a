//! The dashboard of an operator on a real cluster: who sees what, what a browser may send, and `kedge dashboard`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_test_cluster::{Cluster, ControlPlane, Launch, RunningOperator};
use kedge_tests::browser::Browser;
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
        self.exchange(&format!("{line} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n{head}\r\n", self.port))
            .await
    }

    /// Sends these bytes; returns the code, the head and the body.
    async fn exchange(&self, request: &str) -> anyhow::Result<(u16, String, String)> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
        let mut stream = self.tls.connect(ServerName::try_from("localhost")?, stream).await?;
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
    let (shop_namespace, shop, bank) = (&shop, shop.name.as_str(), bank.name.as_str());
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
    // A name that an attacker points at the operator makes no browser add a token.
    let rebound = "GET /api/objects HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(client.exchange(rebound).await.unwrap().0, 401);

    // A source whose credentials come from a Secret fails: its error is shown, and no credential.
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "key" }, "stringData": { "password": "hunter2" } });
    let authentication = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "key" },
        "spec": { "secretTargetRef": [{ "parameter": "password", "name": "key", "key": "password" }] },
    });
    let redis = json!({
        "type": "redis", "metadata": { "address": "127.0.0.1:1", "listName": "orders" }, "authenticationRef": { "name": "key" },
    });
    shop_namespace.apply([
        secret,
        authentication,
        deployment("failing", 0),
        scaled_object("failing", [redis], json!({})),
    ]);
    let path = format!("/api/objects/{shop}/failing");
    let fails = async || {
        let (_, detail) = client.get(&path, Some(&admin)).await;
        assert!(!detail.to_string().contains("hunter2"), "{detail}");
        let error = detail["object"]["metrics"][0]["error"].as_str().unwrap_or_default();
        if error.contains("cannot be reached") { Ok(()) } else { Err(detail.to_string()) }
    };
    wait_for("the error of the source is shown", DEADLINE, fails).await.unwrap();
    let log = operator.log();
    assert!(![&admin, &one, &none].iter().any(|token| log.contains(token.as_str())), "no token is logged");
    operator.terminate().await.unwrap();
}

/// A `kedge dashboard` that runs. It ends when this value is dropped.
struct DashboardCommand {
    program: Child,
    /// What it prints, as long as it may print.
    _lines: Box<dyn Iterator<Item = String>>,
    page: String,
    port: u16,
    key: String,
}

impl DashboardCommand {
    fn start(kubeconfig: &Path) -> Self {
        let mut program = dashboard(kubeconfig).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = Box::new(BufReader::new(program.stdout.take().unwrap()).lines().map_while(Result::ok));
        let page = lines.find(|line| line.contains("#token=")).unwrap().trim().to_owned();
        let (address, key) = page.split_once("/#token=").unwrap();
        let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        Self { program, _lines: lines, port, key: key.to_owned(), page }
    }

    /// Sends a request with these lines of the head; returns the code and the body.
    fn send(&self, line: &str, head: &str) -> (u16, String) {
        let mut stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        write!(stream, "{line} HTTP/1.1\r\nConnection: close\r\n{head}\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text}"));
        assert!(head.to_lowercase().contains("content-security-policy: default-src 'none'"), "{head}");
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let head = format!("Host: localhost:{}\r\nAuthorization: Bearer {}\r\n", self.port, self.key);
        let (code, body) = self.send(&format!("GET {path}"), &head);
        (code, serde_json::from_str(&body).unwrap_or_default())
    }
}

impl Drop for DashboardCommand {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn dashboard(kubeconfig: &Path) -> Command {
    let mut command = Command::new(programs::kedge());
    command.args(["dashboard", "--port=0", "--kubeconfig"]).arg(kubeconfig).stdin(Stdio::null());
    command
}

/// The pod of a replica; its dashboard has this port.
fn replica(name: &str, port: u16) -> Value {
    let ports = json!([{ "name": "dashboard", "containerPort": port }]);
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "keda" },
        "spec": { "containers": [{ "name": "operator", "image": "kedge", "ports": ports }] },
    })
}

/// A kubeconfig with this token.
fn kubeconfig_with(cluster: &Cluster, token: &str) -> PathBuf {
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(cluster.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"] = json!({ "token": token });
    let path = cluster.folder().join("kubeconfig-with-token");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_follows_the_leader_with_the_credentials_of_a_kubeconfig() {
    let ports = [Port::reserve().unwrap(), Port::reserve().unwrap()];
    let [first, second] = [ports[0].number, ports[1].number];
    let cluster = Cluster::builder("dashboard-command").control_plane(ControlPlane::Real);
    let cluster = cluster.forwarded_port(8443, first).forwarded_port(9443, second).start().await.unwrap();
    cluster.install_crds(&workspace().join("crds")).unwrap();
    cluster.kubectl(["create", "namespace", "keda"]).unwrap();
    cluster.apply(&replica("kedge-0", 8443)).unwrap();
    cluster.apply(&replica("kedge-1", 9443)).unwrap();
    let launch = |name: &str, port: u16| Launch {
        name: name.to_owned(),
        flags: vec!["--leader-elect".to_owned(), format!("--dashboard-bind-address=127.0.0.1:{port}")],
        environment: [("POD_NAME", name), ("POD_NAMESPACE", "keda")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec(),
    };
    let launches = vec![launch("kedge-0", first), launch("kedge-1", second)];
    let (operators, _balancer) =
        RunningOperator::launch_replicas(&cluster, &programs::kedge(), launches).await.unwrap();
    let (shop, bank) = (TestNamespace::create(&cluster, "shop"), TestNamespace::create(&cluster, "bank"));
    for namespace in [&shop, &bank] {
        namespace.apply([deployment("web", 0), scaled_object("web", [cron_open(2)], json!({}))]);
    }
    let (shop, bank) = (shop.name.as_str(), bank.name.as_str());
    let both = {
        let mut both = vec![format!("{bank}/web"), format!("{shop}/web")];
        both.sort();
        both
    };
    let holder = async || {
        let lease =
            ["get", "lease", "operator.keda.sh", "--namespace=keda", "--output=jsonpath={.spec.holderIdentity}"];
        let holder = cluster.kubectl(lease).unwrap_or_default();
        holder.split_once('_').map(|(pod, _)| pod.to_owned()).ok_or(holder)
    };
    let leader = wait_for("a replica leads", DEADLINE, holder).await.unwrap();

    // The administrator has a client certificate. The page shows everything, in a browser too.
    let command = DashboardCommand::start(&cluster.kubeconfig());
    let shown = async |command: &DashboardCommand| {
        let (code, list) = command.get("/api/objects");
        let is_whole = (code, names(&list)) == (200, both.clone()) && list["standby"].is_null();
        if is_whole { Ok(()) } else { Err(format!("{code} {list}")) }
    };
    wait_for("both objects are shown", DEADLINE, async || shown(&command).await).await.unwrap();
    let page = command.page.clone();
    tokio::task::spawn_blocking(move || {
        let mut browser = Browser::start(1200, 900).unwrap();
        browser.open(&page).unwrap();
        browser.until("document.querySelectorAll('table.list tbody tr').length === 2").unwrap();
        assert_eq!(browser.evaluate("location.hash").unwrap(), "#/", "the token leaves the address");
        browser.evaluate("document.querySelector('table.list tbody a').click()").unwrap();
        browser.until("document.querySelector('table.log tbody tr') !== null").unwrap();
        assert_eq!(browser.evaluate("document.querySelector('input[type=range]') === null").unwrap(), true);
        let observed = browser.observed().unwrap();
        assert!(observed.complaints.is_empty(), "{:#?}", observed.complaints);
    })
    .await
    .unwrap();

    // The other replica names the leader.
    let (standby, standby_port) = if leader == "kedge-0" { (1, second) } else { (0, first) };
    let admin = account(&cluster, "admin", &[]);
    let bind =
        ["create", "clusterrolebinding", "admin", "--clusterrole=cluster-admin", "--serviceaccount=default:admin"];
    cluster.kubectl(bind).unwrap();
    let client = Client::new(&operators[standby].ca_pem(), standby_port);
    let names_the_leader = async || {
        let (code, list) = client.get("/api/objects", Some(&admin)).await;
        if (code, &list["standby"]["leader"]) == (200, &json!(leader)) { Ok(()) } else { Err(format!("{code} {list}")) }
    };
    wait_for("the standby names the leader", DEADLINE, names_the_leader).await.unwrap();

    // Whoever lacks the key, and whatever other sites can make a browser send, gets nothing.
    let (host, key) =
        (format!("Host: localhost:{}\r\n", command.port), format!("Authorization: Bearer {}\r\n", command.key));
    let refused = [
        (401, "GET /api/objects", host.clone()),
        (401, "GET //api/objects", host.clone()),
        (401, "GET /api/objects", format!("{host}Authorization: Bearer {admin}\r\n")),
        (403, "GET /api/objects", format!("Host: evil.example:{}\r\n{key}", command.port)),
        (403, "GET /", format!("Host: evil.example:{}\r\n", command.port)),
        (403, "GET /api/objects", format!("{host}{key}Origin: https://evil.example\r\n")),
        (403, "GET /api/objects", format!("{host}{key}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n")),
        (
            405,
            "POST /api/objects/shop/web/actions",
            format!("{host}{key}Content-Type: application/json\r\nContent-Length: 0\r\n"),
        ),
    ];
    for (expected, line, head) in refused {
        let (code, body) = command.send(line, &head);
        assert_eq!(code, expected, "{line} {head}: {body}");
        assert!(!body.contains("/web"), "{body}");
    }
    assert_eq!(command.get("/api/objects/../../x?%00=%ff").0, 404);

    // A user with a token sees what the user may get.
    let token = account(&cluster, "one", &[shop]);
    let resources = "--resource=leases.coordination.k8s.io,pods,pods/portforward";
    let role = ["create", "role", "forward", "--namespace=keda", "--verb=get,create", resources];
    let binding =
        ["create", "rolebinding", "forward", "--namespace=keda", "--role=forward", "--serviceaccount=default:one"];
    let kubeconfig = kubeconfig_with(&cluster, &token);
    let refused = dashboard(&kubeconfig).output().unwrap();
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && error.contains("cannot read the Lease keda/operator.keda.sh"), "{error}");
    cluster.kubectl(role).unwrap();
    cluster.kubectl(binding).unwrap();
    let (code, list) = DashboardCommand::start(&kubeconfig).get("/api/objects");
    assert_eq!((code, names(&list)), (200, vec![format!("{shop}/web")]));
    for (arguments, expected) in [
        (
            ["--namespace", "default"],
            "there is no Lease default/operator.keda.sh; name the namespace of the operator with --namespace",
        ),
        (["--pod", "none"], "there is no pod keda/none"),
    ] {
        let refused = dashboard(&cluster.kubeconfig()).args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && error.contains(expected), "{error}");
    }

    // The next leader is shown without a restart.
    let mut operators = operators;
    operators.remove(1 - standby).terminate().await.unwrap();
    wait_for("the next leader is shown", DEADLINE, async || shown(&command).await).await.unwrap();
    assert_ne!(holder().await.unwrap(), leader);
}
