//! kubectl with the playground, beside the same steps with a real API server.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Instant;

use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::tools::{self, Tool};
use kedge_test_cluster::{Cluster, ControlPlane};
use kedge_tests::helm::helm;
use regex::Regex;

use super::{PATIENCE, RunningPlayground};

/// A cluster, as kubectl sees it.
struct Kubectl {
    kubeconfig: String,
}

impl Kubectl {
    /// Runs a command line without quotes. Returns whether it succeeded, and what it printed.
    fn run(&self, line: &str) -> (bool, String) {
        self.run_with(line, &[])
    }

    /// The same with variables of the environment.
    fn run_with(&self, line: &str, environment: &[(&str, &str)]) -> (bool, String) {
        let output = Command::new(tools::path(Tool::Kubectl).unwrap())
            .args(line.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Runs a command line until what it prints has a text.
    fn until(&self, line: &str, text: &str) -> String {
        let started = Instant::now();
        loop {
            let (_, printed) = self.run(line);
            if printed.contains(text) {
                return printed;
            }
            assert!(started.elapsed() < PATIENCE, "$ kubectl {line}\n{printed}\nnever has {text}");
        }
    }
}

/// What differs between two runs: ages, generated names, versions of objects and uids.
fn normalized(printed: &str) -> String {
    let rules = [
        (r"\b\d+(?:m\d+s|h\d+m|[smhd])\b", "AGE"),
        (r"\bweb-[a-z0-9]{6,10}(-[a-z0-9]+)?\b", "web-HASH"),
        (r"<unknown>|<invalid>", "AGE"),
        (r" +", " "),
    ];
    let text = rules.iter().fold(printed.to_owned(), |text, (pattern, instead)| {
        Regex::new(pattern).unwrap().replace_all(&text, *instead).into_owned()
    });
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_verb_prints_what_it_prints_with_a_real_api_server() {
    tools::build(&[Tool::Kubectl]).unwrap();
    let playground = RunningPlayground::start(&["--scenario", "office-hours"]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let real = Cluster::builder("playground-kubectl").control_plane(ControlPlane::Real).start();
    let real = runtime.block_on(real).unwrap();
    real.install_crds(&workspace().join("crds")).unwrap();
    let clusters = [
        Kubectl { kubeconfig: playground.kubeconfig.clone() },
        Kubectl { kubeconfig: real.kubeconfig().display().to_string() },
    ];
    let folder = workspace().join("tests/manifests/playground");
    let (web, scaled) = (folder.join("web.yaml"), folder.join("scaled.yaml"));
    let (web, scaled) = (web.display(), scaled.display());
    // Where the second text is not empty, the line is repeated until it is printed.
    let steps = [
        (format!("apply -f {web}"), ""),
        (format!("apply --server-side --force-conflicts -f {web}"), ""),
        ("get deployment web".to_owned(), "2/2"),
        ("get deployment web -o wide".to_owned(), ""),
        ("get rs -l app=web".to_owned(), "2"),
        ("get pods -l app=web".to_owned(), "Running"),
        ("get deployment web -o jsonpath={.spec.replicas}".to_owned(), ""),
        ("scale deployment web --replicas=3".to_owned(), ""),
        ("wait --for=jsonpath={.status.readyReplicas}=3 deployment/web --timeout=60s".to_owned(), ""),
        ("annotate deployment web note=1".to_owned(), ""),
        ("label deployment web tier=front".to_owned(), ""),
        ("patch deployment web --type=merge -p {\"spec\":{\"replicas\":1}}".to_owned(), ""),
        ("get cm kube-root-ca.crt".to_owned(), ""),
        (format!("apply -f {scaled}"), ""),
        (
            "get scaledobject paused -o custom-columns=NAME:.metadata.name,TARGET:.spec.scaleTargetRef.name".to_owned(),
            "",
        ),
        ("get so paused -o name".to_owned(), ""),
        ("explain scaledobject.spec.cooldownPeriod".to_owned(), ""),
        ("explain scaledobject.spec.triggers".to_owned(), ""),
        ("explain deployment".to_owned(), ""),
        ("explain deployment.spec.replicas".to_owned(), ""),
        ("explain pod.spec.containers.resources".to_owned(), ""),
        // kubectl creates in protobuf.
        ("create namespace shop".to_owned(), ""),
        ("create configmap settings --from-literal=a=b".to_owned(), ""),
        ("get configmap settings -o jsonpath={.data}".to_owned(), ""),
        ("create secret generic key --from-literal=a=b".to_owned(), ""),
        ("describe configmap settings".to_owned(), ""),
        ("describe secret key".to_owned(), ""),
        ("events --for configmap/settings".to_owned(), ""),
        ("get configmap settings -o name -w --request-timeout=2s".to_owned(), ""),
        ("create deployment api --image=api --replicas=2 --port=80".to_owned(), ""),
        ("get deployment api -o jsonpath={.spec.template.spec}".to_owned(), ""),
        ("set image deployment/api api=api:2".to_owned(), ""),
        ("expose deployment api --port=80".to_owned(), ""),
        ("delete deployment,service api".to_owned(), ""),
        ("auth can-i create deployments".to_owned(), ""),
        ("get scaledobject none".to_owned(), ""),
        ("patch scaledobject paused --type=merge -p {\"spec\":{\"maxReplicaCount\":\"x\"}}".to_owned(), ""),
        ("delete scaledobject paused".to_owned(), ""),
        (format!("delete -f {web}"), ""),
        ("get deployment web".to_owned(), ""),
    ];
    let mut different = Vec::new();
    for (line, text) in &steps {
        let [ours, theirs] = clusters.each_ref().map(|kubectl| match *text {
            "" => kubectl.run(line),
            text => (true, kubectl.until(line, text)),
        });
        if (ours.0, normalized(&ours.1)) != (theirs.0, normalized(&theirs.1)) {
            let outcome = |(succeeded, text): &(bool, String)| format!("{text}succeeded: {succeeded}");
            different.push(format!("$ kubectl {line}\nplayground:\n{}\nreal:\n{}", outcome(&ours), outcome(&theirs)));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    // The editor is the shell command that kubectl is given.
    let editor = [("KUBE_EDITOR", "sed -i s/^..a:.b/\\ \\ a:\\ c/")];
    let edited = clusters.each_ref().map(|kubectl| {
        let edited = kubectl.run_with("edit configmap settings", &editor);
        (edited, kubectl.run("get configmap settings -o jsonpath={.data}"))
    });
    assert_eq!(edited[0], edited[1]);
    assert_eq!(edited[0].1.1, "{\"a\":\"c\"}");
}

#[test]
fn a_rendered_chart_is_applied_and_its_usage_shown() {
    tools::build(&[Tool::Kubectl, Tool::Helm]).unwrap();
    let mut playground = RunningPlayground::start(&["--speed", "10"]);
    let kubectl = Kubectl { kubeconfig: playground.kubeconfig.clone() };
    let chart = workspace().join("tests/manifests/playground/chart");
    let rendered = helm([OsStr::new("template"), OsStr::new("importer"), chart.as_os_str()]).unwrap();
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    std::fs::write(file.path(), rendered).unwrap();
    let apply = format!("apply -f {}", file.path().display());
    let (succeeded, printed) = kubectl.run(&apply);
    assert!(succeeded && printed.contains("scaledobject.keda.sh/importer created"), "{printed}");
    let (succeeded, printed) = kubectl.run(&apply);
    assert!(succeeded && printed.contains("scaledobject.keda.sh/importer unchanged"), "{printed}");
    // What all pods use together is turned on the page: 150 % of the request of one.
    let body = r#"{"action":"setValue","dial":"cpu of default/importer","value":150}"#;
    let (code, answer) = playground.request("POST /api/objects/default/importer/actions", body);
    assert_eq!(code, 200, "{answer}");
    playground.until_printed("1 → 3    scaled out: cpu is at 150 % of its request");
    kubectl.until("top pods", "100m");
    kubectl.until("top nodes", "300m");
}

#[test]
fn what_only_kedge_has_works_too() {
    tools::build(&[Tool::Kubectl]).unwrap();
    let mut playground = RunningPlayground::start(&["--speed", "10"]);
    let kubectl = Kubectl { kubeconfig: playground.kubeconfig.clone() };
    playground.until_printed("0 → 1");
    kubectl.until("get scaledobject order-worker", "True");
    kubectl.until("get hpa", "keda-hpa-order-worker");
    kubectl.until("describe scaledobject order-worker", "KEDAScaleTargetActivated");
    kubectl.until("get events", "KEDAScaleTargetActivated");
    kubectl.until("events --for scaledobject/order-worker", "KEDAScaleTargetActivated");
    kubectl.until("rollout status deployment/order-worker", "successfully rolled out");
    let shown = kubectl.until("get scaledobject order-worker -w --request-timeout=2s", "order-worker");
    assert!(shown.contains("SCALETARGETNAME"), "{shown}");
    // The editor is the shell command that kubectl is given.
    let editor = [("KUBE_EDITOR", "sed -i s/maxReplicaCount:.*/maxReplicaCount:\\ 3/")];
    let (succeeded, printed) = kubectl.run_with("edit scaledobject order-worker", &editor);
    assert!(succeeded && printed.contains("edited"), "{printed}");
    kubectl.until("get scaledobject order-worker -o jsonpath={.spec.maxReplicaCount}", "3");
    let metric = "get --raw /apis/external.metrics.k8s.io/v1beta1/namespaces/default/s0-prometheus?labelSelector=scaledobject.keda.sh%2Fname%3Dorder-worker";
    kubectl.until(metric, "ExternalMetricValueList");
    let (succeeded, printed) =
        kubectl.run("patch scaledobject order-worker --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/triggers/0/metadata/threshold\",\"value\":\"x\"}]");
    assert!(!succeeded && printed.contains("admission webhook") && printed.contains("threshold"), "{printed}");
    let (succeeded, printed) = kubectl.run("annotate scaledobject order-worker autoscaling.keda.sh/paused=true");
    assert!(succeeded, "{printed}");
    playground.until_printed("paused: an annotation pauses the object");
    kubectl.until("get hpa", "No resources found");
}
