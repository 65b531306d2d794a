//! The test cluster itself: it is real, several run at once, and none leaves a process behind.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_test_cluster::tools::{self, Tool};
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_test_cluster::{Cluster, StateFolder};
use kedge_tests::programs::{run_xtask, xtask};
use serde_json::json;

#[tokio::test]
async fn a_plain_hpa_gets_its_conditions_from_the_real_controller() {
    let cluster =
        Cluster::builder("harness-hpa").nodes(2).hpa_sync_period(Duration::from_secs(1)).start().await.unwrap();
    cluster.kubectl(["create", "deployment", "web", "--image=web", "--replicas=3"]).unwrap();
    cluster.kubectl(["wait", "deployment/web", "--for=condition=Available", "--timeout=180s"]).unwrap();

    let hpas: kube::Api<HorizontalPodAutoscaler> = kube::Api::namespaced(cluster.client().await.unwrap(), "default");
    let hpa = serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" },
            "minReplicas": 1, "maxReplicas": 2,
            "metrics": [{ "type": "External", "external": { "metric": { "name": "not-served" }, "target": { "type": "Value", "value": "1" } } }],
        },
    }));
    hpas.create(&Default::default(), &hpa.unwrap()).await.unwrap();
    // Above the maximum, so the controller scales without a metric; then it reports the missing metric.
    let conditions = wait_for("the controller has set the conditions of the HPA", DEADLINE, async || {
        let status = hpas.get("web").await.unwrap().status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let able = conditions.iter().any(|condition| condition.type_ == "AbleToScale" && condition.status == "True");
        let active = conditions.iter().find(|condition| condition.type_ == "ScalingActive").cloned();
        match active {
            Some(active) if able => Ok(active),
            _ => Err(conditions),
        }
    });
    let active = conditions.await.unwrap();
    assert_eq!((active.status.as_str(), active.reason.as_deref()), ("False", Some("FailedGetExternalMetric")));
    let replicas = cluster.kubectl(["get", "deployment", "web", "--output=jsonpath={.spec.replicas}"]).unwrap();
    assert_eq!(replicas, "2", "the maximum holds without metrics");
}

#[tokio::test]
async fn two_clusters_side_by_side_do_not_see_each_other() {
    let (one, two) = tokio::join!(Cluster::builder("harness-one").start(), Cluster::builder("harness-two").start());
    let (one, two) = (one.unwrap(), two.unwrap());
    one.kubectl(["create", "namespace", "only-here"]).unwrap();
    let elsewhere = two.kubectl(["get", "namespace", "only-here"]).unwrap_err().to_string();
    assert!(elsewhere.contains("NotFound"), "{elsewhere}");
    let taken = Cluster::builder("harness-one").start().await.unwrap_err();
    assert!(format!("{taken:#}").contains("is in use by process"), "{taken:#}");
    for cluster in [&one, &two] {
        let audited = std::fs::read_to_string(cluster.audit_log()).unwrap();
        assert!(audited.contains("/api/v1/namespaces"), "{}", cluster.audit_log().display());
    }
}

#[tokio::test]
async fn service_accounts_may_only_do_what_rbac_allows() {
    let cluster = crate::shared::ours().await;
    cluster.kubectl(["create", "serviceaccount", "reader"]).unwrap();
    let token = cluster.kubectl(["create", "token", "reader"]).unwrap();
    let server = format!("https://127.0.0.1:{}", cluster.apiserver_port());
    let output = Command::new(tools::path(Tool::Kubectl).unwrap())
        .args(["--kubeconfig=/dev/null", "--insecure-skip-tls-verify", "--server", &server, "--token", token.trim()])
        .args(["get", "secrets"])
        .output()
        .unwrap();
    let answer = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(answer.contains("system:serviceaccount:default:reader\" cannot list resource \"secrets\""), "{answer}");
}

#[test]
fn down_leaves_no_process_and_no_port_behind() {
    let name = ["--name", "harness-down"];
    let state = StateFolder::for_cluster("harness-down").unwrap();
    let (up, output) = run_xtask(&[&["cluster", "up"], &name[..]].concat());
    assert!(up, "{output}");
    assert!(output.contains("export KUBECONFIG="), "{output}");
    let processes = state.processes().unwrap();
    assert!(processes.len() >= 6, "etcd, three of Kubernetes, kwok and the guardian, not {processes:?}");
    let ports = listened_ports(&processes);
    assert!(ports.len() >= 6, "{ports:?}");

    let (again, output) = run_xtask(&[&["cluster", "up"], &name[..]].concat());
    assert!(again, "a second `up` finds it running: {output}");
    assert_eq!(state.processes().unwrap(), processes);
    let (_, status) = run_xtask(&["cluster", "status"]);
    assert!(status.contains("harness-down: ready"), "{status}");

    let (down, output) = run_xtask(&[&["cluster", "down"], &name[..]].concat());
    assert!(down && output.contains("is stopped"), "{output}");
    assert_eq!(state.processes().unwrap(), Vec::<u32>::new());
    for port in ports {
        TcpListener::bind(("127.0.0.1", port)).unwrap_or_else(|error| panic!("port {port}: {error}"));
    }
    assert!(state.path().join("logs/kube-apiserver.log").exists(), "logs stay");
}

#[test]
fn killing_the_owner_ends_the_cluster_and_the_name_can_be_used_again() {
    let name = ["--name", "harness-kill"];
    let state = StateFolder::for_cluster("harness-kill").unwrap();
    let (up, output) = run_xtask(&[&["cluster", "up"], &name[..]].concat());
    assert!(up, "{output}");
    kill_owner(&state);
    let deadline = Instant::now() + DEADLINE;
    while !state.processes().unwrap().is_empty() {
        assert!(Instant::now() < deadline, "the guardian did not act: {:?}", state.processes());
        std::thread::sleep(Duration::from_millis(20));
    }

    // The worst case: the guardian is killed first, then the owner. Only the next `up` is left to clean up.
    let (up, output) = run_xtask(&[&["cluster", "up"], &name[..]].concat());
    assert!(up, "{output}");
    let processes = state.processes().unwrap();
    let is_shell =
        |pid: &&u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "sh");
    kill(*processes.iter().find(is_shell).expect("a guardian"));
    kill_owner(&state);
    assert!(state.processes().unwrap().len() >= 5, "left behind");
    let (up, output) = run_xtask(&[&["cluster", "up"], &name[..]].concat());
    assert!(up, "{output}");
    let now = state.processes().unwrap();
    assert!(processes.iter().all(|old| !now.contains(old)), "{processes:?} {now:?}");

    let (down, output) = run_xtask(&[&["cluster", "down"], &name[..]].concat());
    assert!(down, "{output}");
    assert_eq!(state.processes().unwrap(), Vec::<u32>::new());
}

#[test]
fn ctrl_c_ends_a_cluster_in_the_foreground() {
    let state = StateFolder::for_cluster("harness-foreground").unwrap();
    let mut owner = Command::new(xtask())
        .args(["cluster", "run", "--name", "harness-foreground"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Held until the end: the process continues to print.
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("is ready")), "it ended before it was ready");
    assert!(!state.processes().unwrap().is_empty());
    signal("INT", owner.id());
    assert!(owner.wait().unwrap().success());
    assert_eq!(state.processes().unwrap(), Vec::<u32>::new());
}

#[test]
fn a_failed_build_prints_the_error_and_the_remedy() {
    let cache = tempfile::tempdir().unwrap();
    let output = Command::new(xtask())
        .arg("tools")
        .env("KEDGE_CACHE_DIR", cache.path().join("kedge"))
        .env("GOMODCACHE", cache.path().join("modules"))
        .env("GOPROXY", "off")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    for part in
        ["building go.etcd.io/etcd/server/v3 failed", "GOPROXY=off", "check the network", "run the same command again"]
    {
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[test]
fn without_go_the_error_has_a_remedy() {
    let cache = tempfile::tempdir().unwrap();
    let output = Command::new(xtask())
        .args(["cluster", "up", "--name", "harness-without-go"])
        .env("KEDGE_CACHE_DIR", cache.path())
        .env("PATH", cache.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    for part in ["the command `go` is missing", "install Go", "--no-cluster"] {
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[test]
fn helm_runs() {
    let output = Command::new(tools::path(Tool::Helm).unwrap()).args(["version", "--short"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("v3."), "{output:?}");
}

fn signal(signal: &str, pid: u32) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {pid}")]).status().unwrap();
    assert!(sent.success(), "process {pid}");
}

/// Kills the owner of a cluster, and waits until the kernel has taken everything back from it: its threads end one by one.
fn kill_owner(state: &StateFolder) {
    kill(state.owner().unwrap().expect("an owner").pid);
    let deadline = Instant::now() + DEADLINE;
    while state.owner().unwrap().is_some() {
        assert!(Instant::now() < deadline, "the lock of a dead owner stays");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(pid: u32) {
    signal("KILL", pid);
    let deadline = Instant::now() + DEADLINE;
    while is_running(pid) {
        assert!(Instant::now() < deadline, "process {pid} does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether any thread of a process is not a zombie. The first one may be while others still hold its files, and their locks.
fn is_running(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| thread.path().join("stat")).any(|stat| {
        let stat = std::fs::read_to_string(stat).unwrap_or_default();
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
    })
}

/// The TCP ports of the loopback address that any of these processes listens on.
fn listened_ports(processes: &[u32]) -> Vec<u16> {
    let socket = |link: std::path::PathBuf| {
        let text = link.to_string_lossy().into_owned();
        text.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).map(str::to_owned)
    };
    let sockets: Vec<String> = processes
        .iter()
        .flat_map(|pid| std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten())
        .filter_map(|entry| std::fs::read_link(entry.path()).ok().and_then(socket))
        .collect();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap()
        + &std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    let mut ports = Vec::new();
    for line in table.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, local, _, "0A", ..] = columns[..] else { continue };
        if sockets.iter().any(|socket| columns.get(9) == Some(&socket.as_str()))
            && let Some(port) = local.rsplit(':').next().and_then(|port| u16::from_str_radix(port, 16).ok())
        {
            ports.push(port);
        }
    }
    ports
}
