//! A release of the chart whose pods run: each container is a process beside the cluster, with the arguments, variables, files
//! and token that its pod would have, and the Services of the release lead to it.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::balancer::Balancer;
use kedge_test_cluster::external_metrics::METRICS_API;
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::process::Group;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::{helm, programs};
use serde_json::{Value, json};

use super::{helm_on, kubeconfig_of};

const NAMESPACE: &str = "--namespace=keda";
const METRICS_SERVICE: &str = "keda-operator-metrics-apiserver";
const WEBHOOKS_SERVICE: &str = "keda-admission-webhooks";

/// A release. Its pods do not run yet.
pub(super) struct Release<'a> {
    cluster: &'a Cluster,
    arguments: Vec<String>,
    metrics_api: ServicePort,
    webhooks: ServicePort,
}

/// One port for all replicas, as a Service has.
struct ServicePort {
    replicas: Vec<Port>,
    balancer: Balancer,
}

impl ServicePort {
    fn reserve(replicas: usize) -> Self {
        let replicas: Vec<Port> = (0..replicas).map(|_| Port::reserve().unwrap()).collect();
        let balancer = Balancer::start(replicas.iter().map(|port| port.number).collect()).unwrap();
        Self { replicas, balancer }
    }
}

impl<'a> Release<'a> {
    /// Installs the chart with these arguments of helm, for at most this many replicas.
    pub(super) fn install(cluster: &'a Cluster, replicas: usize, arguments: &[String]) -> Self {
        let (metrics_api, webhooks) = (ServicePort::reserve(replicas), ServicePort::reserve(replicas));
        let chart = helm::chart().display().to_string();
        let port = format!("--set=service.portHttps={}", metrics_api.balancer.port());
        let given: Vec<&str> = arguments.iter().map(String::as_str).collect();
        helm_on(cluster, &[&["install", "keda", &chart, &port], &given[..]].concat());
        let release = Self { cluster, arguments: arguments.to_vec(), metrics_api, webhooks };
        release.redirect_services();
        release
    }

    /// Redirects the Services to this machine under their own names. The webhook configuration gets the port, which is 443 by default.
    fn redirect_services(&self) {
        for name in [METRICS_SERVICE, WEBHOOKS_SERVICE] {
            self.cluster.kubectl(["delete", "service", name, NAMESPACE, "--ignore-not-found"]).unwrap();
            let service = json!({
                "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": "keda" },
                "spec": { "type": "ExternalName", "externalName": "localhost" },
            });
            self.cluster.apply(&service).unwrap();
        }
        let configuration = self.get(&["validatingwebhookconfiguration", "keda-admission"]);
        let count = configuration["webhooks"].as_array().map_or(0, Vec::len);
        let port = self.webhooks.balancer.port();
        let changes: Vec<Value> = (0..count)
            .map(|index| json!({ "op": "add", "path": format!("/webhooks/{index}/clientConfig/service/port"), "value": port }))
            .collect();
        if count > 0 {
            let patch = format!("--patch={}", json!(changes));
            let words = ["patch", "validatingwebhookconfiguration", "keda-admission", "--type=json", &patch];
            self.cluster.kubectl(words).unwrap();
        }
    }

    /// The port at which the metrics API is reached.
    pub(super) fn metrics_port(&self) -> u16 {
        self.metrics_api.balancer.port()
    }

    /// The rendered objects of the release.
    pub(super) fn rendered(&self) -> Vec<helm::Document> {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        helm::template(&arguments).unwrap()
    }

    /// Starts every pod of its Deployments, and returns when the API server reads metrics from them.
    pub(super) async fn run(&self) -> Pods {
        let folder = self.cluster.folder().join("pods");
        let mut pods = Pods { group: Group::start(&folder).unwrap(), ports: Vec::new(), folder };
        let deployments = self.get(&["deployments", NAMESPACE]);
        for deployment in deployments["items"].as_array().into_iter().flatten() {
            for replica in 0..deployment["spec"]["replicas"].as_u64().unwrap_or(1) as usize {
                self.start(&mut pods, deployment, replica);
            }
        }
        wait_for("the metrics API is available", DEADLINE, async || {
            pods.group.check().map_err(|error| error.to_string())?;
            // A change of the APIService makes the API server check it at once; by itself it waits for up to 30 s.
            let touched = format!("touched={}", std::process::id());
            let _ = self.cluster.kubectl(["annotate", "--overwrite", "apiservice", METRICS_API, &touched]);
            let _ = self.cluster.kubectl(["annotate", "apiservice", METRICS_API, "touched-"]);
            let service = self.get(&["apiservice", METRICS_API]);
            match service["status"]["conditions"][0]["status"].as_str() {
                Some("True") => Ok(()),
                _ => Err(service["status"].to_string()),
            }
        })
        .await
        .unwrap_or_else(|error| panic!("{error:#}\n{}", pods.logs()));
        pods
    }

    fn start(&self, pods: &mut Pods, deployment: &Value, replica: usize) {
        let name = format!("{}-{replica}", deployment["metadata"]["name"].as_str().unwrap());
        let spec = &deployment["spec"]["template"]["spec"];
        let container = &spec["containers"][0];
        let folder = pods.folder.join(&name);
        fs::create_dir_all(&folder).unwrap();
        let mounted = self.mount(spec, container, &folder);
        let words = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut arguments: Vec<String> = words.map(|word| self.argument(pods, word, replica, &mounted)).collect();
        let kubeconfig = kubeconfig_of(self.cluster, &folder, spec["serviceAccountName"].as_str().unwrap());
        arguments.push(format!("--kubeconfig={}", kubeconfig.display()));
        let variables = container["env"].as_array().into_iter().flatten().map(|variable| variable_of(variable, &name));
        pods.group.spawn_in(&name, &programs::kedge(), &arguments, &variables.collect::<Vec<_>>()).unwrap();
    }

    /// An argument of a container, with the ports and the files that it has here.
    fn argument(&self, pods: &mut Pods, word: &str, replica: usize, mounted: &[(String, PathBuf)]) -> String {
        let Some((flag, value)) = word.split_once('=').filter(|(_, value)| !["", "0"].contains(value)) else {
            return word.to_owned();
        };
        match flag {
            "--metrics-api-bind-address" => {
                format!("{flag}=127.0.0.1:{}", self.metrics_api.replicas[replica].number)
            }
            "--webhooks-bind-address" => format!("{flag}=127.0.0.1:{}", self.webhooks.replicas[replica].number),
            "--port" => format!("{flag}={}", self.webhooks.replicas[replica].number),
            "--health-probe-bind-address" | "--metrics-bind-address" => {
                pods.ports.push(Port::reserve().unwrap());
                format!("{flag}=127.0.0.1:{}", pods.ports.last().unwrap().number)
            }
            _ => match mounted.iter().find(|(place, _)| place == value) {
                Some((_, folder)) => format!("{flag}={}", folder.display()),
                None => word.to_owned(),
            },
        }
    }

    /// Writes the mounted Secrets of a container as files. Returns the mount path of each, and its folder here.
    fn mount(&self, spec: &Value, container: &Value, folder: &Path) -> Vec<(String, PathBuf)> {
        let volumes = spec["volumes"].as_array().into_iter().flatten();
        let secrets = volumes.filter_map(|volume| Some((&volume["name"], volume["secret"]["secretName"].as_str()?)));
        let mut mounted = Vec::new();
        for (volume, secret) in secrets {
            let place = folder.join(secret);
            fs::create_dir_all(&place).unwrap();
            for (file, content) in self.get(&["secret", secret, NAMESPACE])["data"].as_object().into_iter().flatten() {
                fs::write(place.join(file), STANDARD.decode(content.as_str().unwrap()).unwrap()).unwrap();
            }
            let mounts = container["volumeMounts"].as_array().into_iter().flatten();
            let mount = mounts.into_iter().find(|mount| mount["name"] == *volume).expect("it is mounted");
            mounted.push((mount["mountPath"].as_str().unwrap().to_owned(), place));
        }
        mounted
    }

    fn get(&self, what: &[&str]) -> Value {
        let words = ["get", "--output=json", "--ignore-not-found"];
        let text = self.cluster.kubectl(words.iter().chain(what)).unwrap();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Uninstalls the release, and deletes the Leases and Secrets that its pods created.
    pub(super) fn uninstall(self) {
        helm_on(self.cluster, &["uninstall", "keda", "--wait"]);
        self.cluster.kubectl(["delete", "leases,secrets", "--all", NAMESPACE]).unwrap();
        for name in [METRICS_SERVICE, WEBHOOKS_SERVICE] {
            self.cluster.kubectl(["delete", "service", name, NAMESPACE, "--ignore-not-found"]).unwrap();
        }
    }
}

/// A variable of a container: its name, and its value in this pod.
fn variable_of(variable: &Value, pod: &str) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let value = match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
        Some("metadata.name") => pod.to_owned(),
        Some("metadata.namespace") => "keda".to_owned(),
        Some(other) => panic!("unknown field path {other}"),
        None => text(&variable["value"]),
    };
    (text(&variable["name"]), value)
}

/// The pods of a release, as they run. They end when this value is dropped.
pub(super) struct Pods {
    group: Group,
    ports: Vec<Port>,
    folder: PathBuf,
}

impl Pods {
    /// Terminates all pods, and waits until they have ended.
    pub(super) async fn terminate(mut self) {
        self.group.terminate(DEADLINE).await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.logs()));
    }

    /// The logs of all pods.
    pub(super) fn logs(&self) -> String {
        let files = fs::read_dir(self.folder.join("logs")).into_iter().flatten().flatten();
        files.map(|file| fs::read_to_string(file.path()).unwrap_or_default()).collect::<Vec<_>>().join("\n")
    }
}
