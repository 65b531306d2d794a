//! Objects that use all of Kedge: scaling from and to zero, counting pods, admission, credentials, and cleanup.

use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{
    TestNamespace, authentication, cron_closed, cron_open, deployment, scaled_object, with_authentication, workload,
};
use serde_json::{Value, json};

/// What the release supports in a mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScenarioOptions {
    pub(super) namespaces: Namespaces,
    pub(super) secrets: Secrets,
    pub(super) certificates: Certificates,
    /// The admission webhooks are enabled.
    pub(super) webhooks: bool,
    /// A custom resource can be scaled.
    pub(super) rollouts: bool,
    /// Tokens of service accounts can be requested.
    pub(super) tokens: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Namespaces {
    All,
    /// Only the namespace of the test.
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Secrets {
    All,
    /// Only those in the namespace of the release.
    OfTheRelease,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Certificates {
    Generated,
    Provided,
}

impl Default for ScenarioOptions {
    fn default() -> Self {
        Self {
            namespaces: Namespaces::All,
            secrets: Secrets::All,
            certificates: Certificates::Generated,
            webhooks: true,
            rollouts: false,
            tokens: false,
        }
    }
}

fn secret(name: &str, namespace: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": namespace }, "stringData": { "key": "v" } })
}

/// Creates what must exist before the chart is installed.
pub(super) fn prepare(namespace: &TestNamespace<'_>, options: &ScenarioOptions) {
    if options.rollouts {
        let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let scale = json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector" });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "rollouts.argoproj.io" },
            "spec": {
                "group": "argoproj.io", "scope": "Namespaced",
                "names": { "kind": "Rollout", "plural": "rollouts", "singular": "rollout" },
                "versions": [{
                    "name": "v1alpha1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": any, "status": any } } },
                    "subresources": { "scale": scale },
                }],
            },
        });
        namespace.cluster.apply(&definition).unwrap();
    }
    if options.certificates == Certificates::Provided {
        let names = ["keda-operator-metrics-apiserver.keda.svc", "keda-admission-webhooks.keda.svc"];
        let made = rcgen::generate_simple_self_signed(names.map(str::to_owned)).unwrap();
        let files = json!({ "tls.crt": made.cert.pem(), "tls.key": made.signing_key.serialize_pem(), "ca.crt": made.cert.pem() });
        let metadata = json!({ "name": "company-certs", "namespace": "keda" });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": files });
        namespace.cluster.apply(&secret).unwrap();
    }
}

/// Makes the API server trust the provided certificate, as the value `caBundle` does.
pub(super) fn set_ca_bundle(namespace: &TestNamespace<'_>, options: &ScenarioOptions) {
    if options.certificates == Certificates::Generated {
        return;
    }
    let query = "--output=jsonpath={.data['ca\\.crt']}";
    let ca = namespace.cluster.kubectl(["get", "secret", "company-certs", "--namespace=keda", query]).unwrap();
    let patch = format!("--patch={}", json!({ "spec": { "caBundle": ca } }));
    namespace
        .cluster
        .kubectl(["patch", "apiservice", "v1beta1.external.metrics.k8s.io", "--type=merge", &patch])
        .unwrap();
    let change =
        |index| json!({ "op": "add", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": ca });
    let patch = format!("--patch={}", json!((0..4).map(change).collect::<Vec<_>>()));
    namespace
        .cluster
        .kubectl(["patch", "validatingwebhookconfiguration", "keda-admission", "--type=json", &patch])
        .unwrap();
}

/// A single object that needs an HPA.
pub(super) fn one_object(namespace: &TestNamespace<'_>) {
    namespace.apply([deployment("one", 1), scaled_object("one", [cron_open(2)], json!({}))]);
}

/// Creates the objects, and waits for everything that Kedge must do with them.
pub(super) async fn play(namespace: &TestNamespace<'_>, options: &ScenarioOptions) {
    if options.webhooks {
        until_denied(namespace, options).await;
    }
    namespace.apply(credentials(namespace, options));
    namespace.apply(objects(namespace, options));
    namespace.until_replicas("active", 2).await;
    namespace.until_replicas("inactive", 0).await;
    namespace.until("pods are counted", Some(2), |namespace| namespace.replicas("statefulset", "counting")).await;
    let endpoints = |namespace: &TestNamespace<'_>| {
        namespace.events("KEDAScalerFailed").iter().any(|note| note.contains("Service absent"))
    };
    namespace.until("the endpoints of a Service are read", true, endpoints).await;
    namespace
        .until("the job has a condition", false, |namespace| {
            namespace.get("scaledjob", "job")["status"]["conditions"].is_null()
        })
        .await;
    if options.rollouts {
        // No controller creates its pods, so the HPA sees none.
        namespace
            .until("the rollout is scaled from zero", Some(1), |namespace| {
                namespace.replicas("rollouts.argoproj.io", "rolling")
            })
            .await;
    }
    namespace.kubectl([
        "patch",
        "scaledobject",
        "inactive",
        "--type=merge",
        "--patch={\"spec\":{\"maxReplicaCount\":7}}",
    ]);
    let maximum =
        |namespace: &TestNamespace<'_>| namespace.get("hpa", "keda-hpa-inactive")["spec"]["maxReplicas"].clone();
    namespace.until("the HPA follows", json!(7), maximum).await;
    // A status that names an HPA which does not exist.
    let stale = "--patch={\"status\":{\"hpaName\":\"gone\"}}";
    namespace.kubectl(["patch", "scaledobject", "inactive", "--subresource=status", "--type=merge", stale]);
    let name = |namespace: &TestNamespace<'_>| namespace.get("scaledobject", "inactive")["status"]["hpaName"].clone();
    namespace.until("the status names the HPA again", json!("keda-hpa-inactive"), name).await;
    if options.certificates == Certificates::Generated {
        corrupt_certificate(namespace).await;
    }
    clean_up(namespace).await;
}

/// Corrupts the certificate, and waits until it is created again.
async fn corrupt_certificate(namespace: &TestNamespace<'_>) {
    let secret = ["secret", "kedaorg-certs", "--namespace=keda"];
    let patch = ["--type=merge", "--patch={\"data\":{\"tls.crt\":\"aGVsbG8=\"}}"];
    namespace.cluster.kubectl(["patch"].iter().chain(&secret).chain(&patch)).unwrap();
    let query = "--output=jsonpath={.data['tls\\.crt']}";
    let is_good = |namespace: &TestNamespace<'_>| {
        let text = namespace.cluster.kubectl(["get"].iter().chain(&secret).chain(&[query])).unwrap();
        !text.is_empty() && text != "aGVsbG8="
    };
    namespace.until("the certificate is created again", true, is_good).await;
}

async fn clean_up(namespace: &TestNamespace<'_>) {
    namespace.kubectl(["delete", "scaledobjects", "--all"]);
    namespace.until("its HPA is gone", true, |namespace| namespace.get("hpa", "keda-hpa-active").is_null()).await;
    namespace
        .until("unused", json!(null), |namespace| namespace.get("ta", "own")["status"]["scaledobjects"].clone())
        .await;
    namespace.kubectl(["delete", "scaledjobs,triggerauthentications", "--all"]);
    namespace.kubectl(["delete", "clustertriggerauthentications", "--all"]);
}

/// Waits until the webhooks deny an invalid object. The API server reaches them through their Service.
async fn until_denied(namespace: &TestNamespace<'_>, options: &ScenarioOptions) {
    let mut bad = cron_open(2);
    bad["metadata"]["start"] = json!("at noon");
    let mut bad = scaled_object("bad", [bad], json!({}));
    bad["metadata"]["namespace"] = json!(namespace.name);
    let apply_error = |object: &Value| match namespace.cluster.apply(object) {
        Ok(()) => "none".to_owned(),
        Err(error) => error.to_string(),
    };
    let denied = wait_for("an invalid object is denied", DEADLINE, async || {
        let error = apply_error(&bad);
        let is_denied = error.contains("admission webhook \"vscaledobject.kb.io\" denied") && error.contains("at noon");
        // An object that was created before the webhooks respond must be deleted: applying it again would change nothing.
        namespace.kubectl(["delete", "scaledobject", "bad", "--ignore-not-found"]);
        if is_denied { Ok(()) } else { Err(error) }
    });
    denied.await.unwrap();
    if options.namespaces == Namespaces::Own {
        bad["metadata"]["namespace"] = json!("default");
        assert_eq!(apply_error(&bad), "none", "the namespace is not watched");
        namespace.cluster.kubectl(["delete", "scaledobject", "bad", "--namespace=default"]).unwrap();
    }
    // The rules for cpu triggers read the target, which may have been created a moment ago.
    for kind in ["Deployment", "StatefulSet"] {
        let cpu = json!({ "type": "cpu", "metricType": "Utilization", "metadata": { "value": "50" } });
        let target = json!({ "minReplicaCount": 1, "scaleTargetRef": { "kind": kind, "name": "missing" } });
        let mut object = scaled_object("cpu-trigger", [cpu], target);
        object["metadata"]["namespace"] = json!(namespace.name);
        let error = apply_error(&object);
        assert!(error.contains("missing"), "{error}");
    }
}

/// The objects that hold the credentials of triggers.
fn credentials(namespace: &TestNamespace<'_>, options: &ScenarioOptions) -> Vec<Value> {
    let secrets_in = if options.secrets == Secrets::All { &namespace.name } else { "keda" };
    namespace.cluster.apply(&secret("broker", secrets_in)).unwrap();
    namespace.cluster.apply(&secret("database", "keda")).unwrap();
    let reference = |name: &str| json!([{ "parameter": "one", "name": name, "key": "key" }]);
    let mapped = json!([{ "parameter": "two", "name": "map", "key": "key" }]);
    let of_cluster = json!({ "secretTargetRef": reference("database"), "configMapTargetRef": mapped });
    namespace.cluster.apply(&authentication("ClusterTriggerAuthentication", "shared", of_cluster)).unwrap();
    let data = json!({ "key": "v" });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "map" }, "data": data });
    let mut of_release = map.clone();
    of_release["metadata"]["namespace"] = json!("keda");
    namespace.cluster.apply(&of_release).unwrap();
    let both = json!({ "secretTargetRef": reference("broker"), "configMapTargetRef": mapped });
    let aws = json!({ "podIdentity": { "provider": "aws", "identityOwner": "workload" } });
    let variable = json!({ "env": [{ "parameter": "one", "name": "VARIABLE" }] });
    let token = json!({ "boundServiceAccountToken": [{ "parameter": "one", "serviceAccountName": "broker-reader" }] });
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "broker-reader" } });
    vec![
        map,
        account,
        authentication("TriggerAuthentication", "own", both),
        authentication("TriggerAuthentication", "cloud", aws),
        authentication("TriggerAuthentication", "variable", variable),
        authentication("TriggerAuthentication", "token", token),
    ]
}

/// A workload without replicas, whose container has a variable.
fn with_variable(kind: &str, name: &str) -> Value {
    let mut workload = workload(kind, name, 0);
    workload["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{ "name": "VARIABLE", "value": "v" }]);
    workload
}

fn objects(namespace: &TestNamespace<'_>, options: &ScenarioOptions) -> Vec<Value> {
    let by = |trigger: Value, name: &str| with_authentication(trigger, "TriggerAuthentication", name);
    let pods = json!({ "type": "kubernetes-workload", "metadata": { "podSelector": "app=counted", "value": "1" } });
    let aggregated = json!({
        "type": "metrics-api",
        "metadata": { "url": format!("http://absent.{}.svc:80/value", namespace.name), "valueLocation": "value", "targetValue": "1", "aggregateFromKubeServiceEndpoints": "true" },
    });
    let of_set = json!({ "scaleTargetRef": { "kind": "StatefulSet", "name": "counting" } });
    let job = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": { "name": "job" },
        "spec": {
            "jobTargetRef": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "main" }] } } },
            "triggers": [cron_closed(1)],
        },
    });
    let mut objects = vec![
        deployment("counted", 2),
        with_variable("StatefulSet", "counting"),
        scaled_object("counting", [by(pods, "variable")], of_set),
        deployment("active", 0),
        scaled_object("active", [by(cron_open(2), "own")], json!({})),
        deployment("inactive", 1),
        scaled_object(
            "inactive",
            [with_authentication(cron_closed(2), "ClusterTriggerAuthentication", "shared")],
            json!({}),
        ),
        deployment("of-a-cloud", 1),
        scaled_object("of-a-cloud", [by(cron_closed(1), "cloud")], json!({})),
        deployment("aggregating", 1),
        scaled_object("aggregating", [aggregated], json!({})),
        job,
    ];
    if options.tokens {
        objects.push(deployment("by-token", 1));
        objects.push(scaled_object("by-token", [by(cron_closed(1), "token")], json!({})));
    }
    if options.rollouts {
        let mut rollout = json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": { "name": "rolling" },
            "spec": { "replicas": 0 },
        });
        rollout["spec"]["template"] = with_variable("Deployment", "rolling")["spec"]["template"].clone();
        let target =
            json!({ "scaleTargetRef": { "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "rolling" } });
        objects.push(rollout);
        objects.push(scaled_object("rolling", [by(cron_open(2), "variable")], target));
    }
    objects
}
