//! From a release of KEDA's chart to one of ours and back, with the real helm: `kedge migrate`. A chart with the same objects
//! replaces KEDA's.
//!
//! | module | what is tested |
//! |---|---|
//! | `takeover` | that no object is lost from one release to the other and back, and that objects are lost without `kedge migrate` |

#[path = "migrate/takeover.rs"]
mod takeover;

use std::process::Command;

use kedge_test_cluster::{Cluster, keda};
use kedge_tests::namespace::{cron_open, scaled_object};
use kedge_tests::{helm, programs};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The exit code of a command, and what it printed on both outputs.
struct CommandOutput {
    code: i32,
    text: String,
}

/// A cluster with a release of KEDA, and objects.
struct Stage {
    cluster: Cluster,
    chart: TempDir,
}

impl Stage {
    async fn with_keda(name: &str) -> Self {
        let cluster = Cluster::builder(name).start().await.unwrap();
        let chart = tempfile::tempdir().unwrap();
        keda::write_chart(chart.path()).unwrap();
        let stage = Self { cluster, chart };
        stage.install_keda();
        stage.create_objects();
        stage
    }

    fn install_keda(&self) -> String {
        let chart = self.chart.path().display().to_string();
        self.helm(&["install", "keda", &chart, "--namespace=keda", "--create-namespace"]).unwrap()
    }

    /// No pod runs the image here, so the webhooks do not respond.
    fn install_kedge(&self) -> Result<String, String> {
        let chart = helm::chart().display().to_string();
        let names = ["--set=operator.name=kedge-operator", "--set=webhooks.timeoutSeconds=1"];
        let fixed = ["install", "kedge", &chart, "--namespace=kedge", "--create-namespace"];
        self.helm(&[&fixed[..], &names].concat())
    }

    fn helm(&self, arguments: &[&str]) -> Result<String, String> {
        let kubeconfig = format!("--kubeconfig={}", self.cluster.kubeconfig().display());
        helm::helm(arguments.iter().chain([&kubeconfig.as_str()]))
    }

    fn uninstall(&self, release: &str) -> String {
        let namespace = format!("--namespace={release}");
        self.helm(&["uninstall", release, &namespace, "--wait", "--timeout=180s"]).unwrap()
    }

    fn migrate(&self, arguments: &[&str]) -> CommandOutput {
        let kubeconfig = format!("--kubeconfig={}", self.cluster.kubeconfig().display());
        let mut command = Command::new(programs::kedge());
        let output = command.arg("migrate").args(arguments).arg(kubeconfig).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        CommandOutput { code: output.status.code().unwrap(), text }
    }

    /// Runs `prepare`, which must succeed, and returns its output.
    fn prepare(&self, arguments: &[&str]) -> String {
        let output = self.migrate(&[&["prepare"], arguments].concat());
        assert_eq!(output.code, 0, "{}", output.text);
        output.text
    }

    fn create_objects(&self) {
        let authentication = json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "web" },
            "spec": { "secretTargetRef": [{ "parameter": "password", "name": "web", "key": "password" }] },
        });
        let events = json!({
            "apiVersion": "eventing.keda.sh/v1alpha1", "kind": "CloudEventSource", "metadata": { "name": "web" },
            "spec": { "destination": { "http": { "uri": "http://sink.example" } } },
        });
        for mut object in [scaled_object("web", [cron_open(1)], json!({})), authentication, events] {
            object["metadata"]["namespace"] = json!("default");
            self.cluster.apply(&object).unwrap();
        }
    }

    fn get(&self, what: &[&str]) -> Value {
        let text = self.cluster.kubectl([&["get"], what, &["--ignore-not-found", "--output=json"]].concat()).unwrap();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// The uids of our objects and CRDs, which change when one is deleted and created again.
    fn uids(&self) -> Vec<Value> {
        let kinds = ["scaledobjects.keda.sh", "triggerauthentications.keda.sh", "cloudeventsources.eventing.keda.sh"];
        let objects = kinds.map(|kind| self.get(&[kind, "web", "--namespace=default"])["metadata"]["uid"].clone());
        let crds = kinds.map(|kind| self.get(&["crd", kind])["metadata"]["uid"].clone());
        [objects, crds].concat()
    }

    fn metrics_api(&self) -> Value {
        self.get(&["apiservice", "v1beta1.external.metrics.k8s.io"])
    }

    /// The namespace of the Service of the metrics API, and of that of the webhooks.
    fn served_from(&self) -> [Value; 2] {
        let webhooks = self.get(&["validatingwebhookconfiguration", "keda-admission"]);
        [
            self.metrics_api()["spec"]["service"]["namespace"].clone(),
            webhooks["webhooks"][0]["clientConfig"]["service"]["namespace"].clone(),
        ]
    }
}
