//! Sources on this machine, files with triggers for them, and an API server that is a table of objects.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// In every table of secrets, so that no output may have it.
pub(super) const PASSWORD: &str = "hunter2-is-secret";

/// A server that answers each request by its path and its head, and counts them.
pub(super) struct Source {
    pub(super) address: String,
    pub(super) requests: Arc<AtomicUsize>,
}

pub(super) fn source(answer: impl Fn(&str, &str) -> (u16, String) + Send + 'static) -> Source {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            counted.fetch_add(1, Ordering::SeqCst);
            respond(stream, &answer);
        }
    });
    Source { address, requests }
}

fn respond(mut stream: TcpStream, answer: &dyn Fn(&str, &str) -> (u16, String)) {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while reader.read_line(&mut head).is_ok_and(|read| read > 0) && !head.ends_with("\r\n\r\n") {}
    let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let (status, body) = answer(&path, &head);
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n");
    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
}

/// A Prometheus with one value for every query, and `/depth` with a number for those who know the password.
pub(super) fn sources() -> Source {
    source(|path, head| match path.split('?').next() {
        Some("/api/v1/query") => {
            let result = json!({ "resultType": "vector", "result": [{ "metric": {}, "value": [1, "35"] }] });
            (200, json!({ "status": "success", "data": result }).to_string())
        }
        Some("/depth") => {
            let expected = format!("Bearer {PASSWORD}").to_lowercase();
            match head.to_lowercase().contains(&expected) {
                true => (200, json!({ "queue": { "depth": 7 } }).to_string()),
                false => (401, format!("{{\"error\": \"{PASSWORD} is expected\"}}")),
            }
        }
        _ => (404, "{}".to_owned()),
    })
}

/// A folder of files, and the command on it.
pub(super) struct Rig {
    pub(super) folder: tempfile::TempDir,
}

impl Rig {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self { folder }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn output(&self, arguments: &[&str]) -> Output {
        check(self.folder.path(), arguments, "")
    }

    /// What is printed, and the exit code. Neither ever holds the password.
    pub(super) fn run(&self, arguments: &[&str]) -> (String, i32) {
        shown(&self.output(arguments))
    }
}

pub(super) fn check(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kedge"));
    command.current_dir(folder).args(["scaler", "check"]).args(arguments);
    command.env_remove("KUBECONFIG").env("HOME", folder);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

pub(super) fn shown(output: &Output) -> (String, i32) {
    let text = String::from_utf8([output.stdout.as_slice(), &output.stderr].concat()).unwrap();
    assert!(!text.contains(PASSWORD), "{text}");
    (text, output.status.code().unwrap())
}

/// A ScaledObject with these triggers, in YAML's flow style.
pub(super) fn object(triggers: &[String]) -> String {
    let triggers: String = triggers.iter().map(|trigger| format!("  - {trigger}\n")).collect();
    format!(
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: worker, namespace: shop}}\n\
         spec:\n  scaleTargetRef: {{name: worker}}\n  maxReplicaCount: 10\n  triggers:\n{triggers}"
    )
}

pub(super) fn prometheus(address: &str) -> String {
    format!(
        "{{type: prometheus, name: orders, metadata: {{serverAddress: 'http://{address}', query: waiting, \
         threshold: '10', activationThreshold: '5'}}}}"
    )
}

pub(super) fn depth(address: &str) -> String {
    format!(
        "{{type: metrics-api, name: depth, authenticationRef: {{name: source}}, metadata: {{url: 'http://{address}/depth', \
         valueLocation: queue.depth, targetValue: '5', authMode: bearer}}}}"
    )
}

pub(super) const CRON: &str =
    "{type: cron, metadata: {timezone: UTC, start: 0 8 * * *, end: 0 18 * * *, desiredReplicas: '2'}}";
pub(super) const CPU: &str = "{type: cpu, metricType: Utilization, metadata: {value: '60'}}";

pub(super) fn authentication(value: &str) -> String {
    format!(
        "apiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {{name: source, namespace: shop}}\n\
         spec: {{secretTargetRef: [{{parameter: token, name: source, key: token}}]}}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: source, namespace: shop}}\nstringData: {{token: {value}}}\n"
    )
}

/// The text with what differs from run to run replaced.
pub(super) fn settled(text: &str, source: &Source) -> String {
    let text = text.replace(&source.address, "SOURCE");
    let lines = text.lines().map(|line| match line.split_once("took ") {
        Some((before, _)) => format!("{before}took 1 ms").replace("took 1 ms", "took     N ms"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// An API server with these objects, by path, and a kubeconfig for it.
pub(super) fn cluster(rig: &Rig, objects: BTreeMap<&'static str, Value>) -> String {
    let server = source(move |path, _| {
        let path = path.split('?').next().unwrap_or_default();
        match objects.get(path) {
            Some(object) => (200, object.to_string()),
            None => {
                let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                                     "code": 404, "message": "not found" });
                (404, status.to_string())
            }
        }
    });
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "other",
        "clusters": [{ "name": "c", "cluster": { "server": format!("http://{}", server.address) } }],
        "users": [{ "name": "u", "user": {} }],
        "contexts": [
            { "name": "shop", "context": { "cluster": "c", "user": "u", "namespace": "shop" } },
            { "name": "other", "context": { "cluster": "c", "user": "u" } },
        ],
    });
    fs::write(rig.path("kubeconfig"), kubeconfig.to_string()).unwrap();
    "kubeconfig".to_owned()
}
