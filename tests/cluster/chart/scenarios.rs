//! Objects that have Kedge do all it does: wake, sleep, count pods, judge, read what credentials are taken from, and clean up.

use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{
    TestNamespace, authentication, cron_closed, cron_open, deployment, scaled_object, with_authentication, workload,
};
use serde_json::{Value, json};

/// What a mode allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScenarioOptions {
    pub(super) namespaces: Namespaces,
    pub(super) secrets: Secrets,
    pub(super) certificates: Certificates,
    /// Objects are judged when they are written.
    pub(super) webhooks: bool,
    /// A kind that is not of Kubernetes is scaled.
    pub(super) rollouts: bool,
    /// Tokens of service accounts are asked for.
    pub(super) tokens: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Namespaces {
    All,
    /// That of the namespace.
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Secrets {
    All,
    /// In the namespace of the release.
    OfTheRelease,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Certificates {
    Made,
    Given,
}

impl Default for ScenarioOptions {
    fn default() -> Self {
        Self {
            namespaces: Namespaces::All,
            secrets: Secrets::All,
            certificates: Certificates::Made,
            webhooks: true,
            rollouts: false,
            tokens: false,
        }
    }
}

fn secret(name: &str, namespace: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": namespace }, "stringData": { "key": "v" } })
}

/// What must be there before the chart is installed.
pub(super) fn before(namespace: &TestNamespace<'_>, options: &ScenarioOptions) {
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
    if options.certificates == Certificates::Given {
        let names = ["keda-operator-metrics-apiserver.keda.svc", "keda-admission-webhooks.keda.svc"];
        let made = rcgen::generate_simple_self_signed(names.map(str::to_owned)).unwrap();
        let files = json!({ "tls.crt": made.cert.pem(), "tls.key": made.signing_key.serialize_pem(), "ca.crt": made.cert.pem() });
        let metadata = json!({ "name": "company-certs", "namespace": "keda" });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": files });
        namespace.cluster.apply(&secret).unwrap();
    }
}

/// Has the API server believe the certificate that was given, as the value `caBundle` would.
pub(super) fn registered(namespace: &TestNamespace<'_>, options: &ScenarioOptions) {
    if options.certificates == Certificates::Made {
        return;
    }
    let query = "--output=jsonpath={.data['ca\\.crt']}";
    let authority = namespace.cluster.kubectl(["get", "secret", "company-certs", "--namespace=keda", query]).unwrap();
    let patch = format!("--patch={}", json!({ "spec": { "caBundle": authority } }));
    namespace
        .cluster
        .kubectl(["patch", "apiservice", "v1beta1.external.metrics.k8s.io", "--type=merge", &patch])
        .unwrap();
    let change =
        |index| json!({ "op": "add", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": authority });
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

/// Plays it all.
pub(super) async fn play(namespace: &TestNamespace<'_>, options: &ScenarioOptions) {
    if options.webhooks {
        until_judged(namespace, options).await;
    }
    namespace.apply(credentials(namespace, options));
    namespace.apply(objects(namespace, options));
    namespace.until_replicas("awake", 2).await;
    namespace.until_replicas("asleep", 0).await;
    namespace.until("pods are counted", Some(2), |namespace| namespace.replicas("statefulset", "counting")).await;
    let endpoints = |namespace: &TestNamespace<'_>| {
        namespace.events("KEDAScalerFailed").iter().any(|note| note.contains("Service absent"))
    };
    namespace.until("endpoints are looked for", true, endpoints).await;
    namespace
        .until("the job has a condition", false, |namespace| {
            namespace.get("scaledjob", "job")["status"]["conditions"].is_null()
        })
        .await;
    if options.rollouts {
        // No controller creates its pods, so the HPA sees none.
        namespace
            .until("the rollout wakes", Some(1), |namespace| namespace.replicas("rollouts.argoproj.io", "rolling"))
            .await;
    }
    namespace.kubectl([
        "patch",
        "scaledobject",
        "asleep",
        "--type=merge",
        "--patch={\"spec\":{\"maxReplicaCount\":7}}",
    ]);
    let maximum =
        |namespace: &TestNamespace<'_>| namespace.get("hpa", "keda-hpa-asleep")["spec"]["maxReplicas"].clone();
    namespace.until("the HPA follows", json!(7), maximum).await;
    // As if another HPA had been made and not been seen since.
    let noted = "--patch={\"status\":{\"hpaName\":\"gone\"}}";
    namespace.kubectl(["patch", "scaledobject", "asleep", "--subresource=status", "--type=merge", noted]);
    let name = |namespace: &TestNamespace<'_>| namespace.get("scaledobject", "asleep")["status"]["hpaName"].clone();
    namespace.until("the status is right again", json!("keda-hpa-asleep"), name).await;
    if options.certificates == Certificates::Made {
        spoil_certificate(namespace).await;
    }
    clean_up(namespace).await;
}

/// Corrupts the certificate, which is created again.
async fn spoil_certificate(namespace: &TestNamespace<'_>) {
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
    namespace.until("its HPA is gone", true, |namespace| namespace.get("hpa", "keda-hpa-awake").is_null()).await;
    namespace
        .until("unused", json!(null), |namespace| namespace.get("ta", "own")["status"]["scaledobjects"].clone())
        .await;
    namespace.kubectl(["delete", "scaledjobs,triggerauthentications", "--all"]);
    namespace.kubectl(["delete", "clustertriggerauthentications", "--all"]);
}

/// Waits until a bad object is refused, by the name of the Service.
async fn until_judged(namespace: &TestNamespace<'_>, options: &ScenarioOptions) {
    let mut bad = cron_open(2);
    bad["metadata"]["start"] = json!("at noon");
    let mut bad = scaled_object("bad", [bad], json!({}));
    bad["metadata"]["namespace"] = json!(namespace.name);
    let refused = |object: &Value| match namespace.cluster.apply(object) {
        Ok(()) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    };
    let judged = wait_for("a bad object is refused", DEADLINE, async || {
        let said = refused(&bad);
        let is_judged = said.contains("admission webhook \"vscaledobject.kb.io\" denied") && said.contains("at noon");
        // What is written before the webhooks serve must not stay: writing it again would change nothing.
        namespace.kubectl(["delete", "scaledobject", "bad", "--ignore-not-found"]);
        if is_judged { Ok(()) } else { Err(said) }
    });
    judged.await.unwrap();
    if options.namespaces == Namespaces::Own {
        bad["metadata"]["namespace"] = json!("default");
        assert_eq!(refused(&bad), "nothing", "others look after it");
        namespace.cluster.kubectl(["delete", "scaledobject", "bad", "--namespace=default"]).unwrap();
    }
    // Rules read the requests of the target, which may have been made a moment ago.
    for kind in ["Deployment", "StatefulSet"] {
        let cpu = json!({ "type": "cpu", "metricType": "Utilization", "metadata": { "value": "50" } });
        let target = json!({ "minReplicaCount": 1, "scaleTargetRef": { "kind": kind, "name": "missing" } });
        let mut object = scaled_object("asks-for-cpu", [cpu], target);
        object["metadata"]["namespace"] = json!(namespace.name);
        let said = refused(&object);
        assert!(said.contains("missing"), "{said}");
    }
}

/// What triggers take their credentials from.
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
    let asked = json!({
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
        deployment("awake", 0),
        scaled_object("awake", [by(cron_open(2), "own")], json!({})),
        deployment("asleep", 1),
        scaled_object(
            "asleep",
            [with_authentication(cron_closed(2), "ClusterTriggerAuthentication", "shared")],
            json!({}),
        ),
        deployment("of-a-cloud", 1),
        scaled_object("of-a-cloud", [by(cron_closed(1), "cloud")], json!({})),
        deployment("asking", 1),
        scaled_object("asking", [asked], json!({})),
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
