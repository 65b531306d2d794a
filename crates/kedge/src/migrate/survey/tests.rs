//! The issues of a snapshot.

use serde_json::json;

use super::super::plan::{LiveObject, Object, Service, keda_only, shared};
use super::super::snapshot::StoredRelease;
use super::*;

fn owner(release: &str) -> Owner {
    Owner { release: release.to_owned(), namespace: release.to_owned() }
}

fn of_keda(kind: &str, name: &str, spec: Value) -> Value {
    let metadata = json!({ "name": name, "namespace": "shop" });
    json!({ "apiVersion": "keda.sh/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec })
}

fn scaled_object(name: &str, target: Value, trigger: Value) -> Value {
    of_keda("ScaledObject", name, json!({ "scaleTargetRef": target, "triggers": [trigger] }))
}

fn cron() -> Value {
    let metadata = json!({ "timezone": "UTC", "start": "0 8 * * *", "end": "0 9 * * *", "desiredReplicas": "2" });
    json!({ "type": "cron", "metadata": metadata })
}

fn snapshot(objects: impl IntoIterator<Item = Value>) -> Snapshot {
    let stored = StoredRelease { revision: 3, status: "deployed".to_owned(), manifest: String::new() };
    Snapshot {
        objects: objects.into_iter().collect(),
        releases: vec![(owner("keda"), Some(stored))],
        ..Snapshot::default()
    }
}

/// Verdict, object, field, and how the remedy begins.
fn issues(snapshot: &Snapshot) -> Vec<(Verdict, String, String)> {
    let report = assess(snapshot, &owner("kedge"));
    report.issues.into_iter().map(|found| (found.verdict, found.object, found.field)).collect()
}

#[test]
fn what_kedge_does_not_do_is_named() {
    let vault = json!({ "vaultUri": "https://vault.example", "secrets": [{ "parameter": "p", "name": "n" }] });
    let events = json!({
        "apiVersion": "eventing.keda.sh/v1alpha1", "kind": "CloudEventSource",
        "metadata": { "name": "sink", "namespace": "shop" }, "spec": {},
    });
    let job = of_keda(
        "ScaledJob",
        "mail",
        json!({ "jobTargetRef": { "template": { "spec": { "containers": [] } } }, "triggers": [cron()] }),
    );
    let rows = [
        (
            scaled_object("queue", json!({ "name": "queue" }), json!({ "type": "solace-event-queue", "metadata": {} })),
            "ScaledObject shop/queue",
            "spec.triggers[0].type",
        ),
        (
            scaled_object(
                "late",
                json!({ "name": "late" }),
                json!({ "type": "cron", "metadata": { "timezone": "UTC", "start": "0 8 * * *", "end": "0 9 * * *" } }),
            ),
            "ScaledObject shop/late",
            "spec.triggers[0].metadata.desiredReplicas",
        ),
        (job, "ScaledJob shop/mail", ""),
        (events, "CloudEventSource shop/sink", ""),
        (
            of_keda("TriggerAuthentication", "azure", json!({ "azureKeyVault": vault })),
            "TriggerAuthentication shop/azure",
            "spec.azureKeyVault",
        ),
    ];
    for (object, name, field) in rows {
        assert_eq!(issues(&snapshot([object])), [(Verdict::WouldNotWork, name.to_owned(), field.to_owned())], "{name}");
    }
}

#[test]
fn what_is_to_be_done_first_is_named() {
    let rollout = json!({ "name": "web", "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout" });
    let mut shared = of_keda(
        "ClusterTriggerAuthentication",
        "shared",
        json!({
            "secretTargetRef": [{ "parameter": "password", "name": "broker", "key": "password" }],
        }),
    );
    shared["metadata"]["namespace"] = Value::Null;
    let strict = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": "keda-admission" }, "webhooks": [{ "failurePolicy": "Ignore" }, { "failurePolicy": "Fail" }],
    });
    let vault = json!({
        "address": "https://vault.example", "authentication": "kubernetes", "role": "keda", "mount": "kubernetes",
        "credential": { "serviceAccountName": "reader" },
        "secrets": [{ "parameter": "password", "path": "secret/data/broker", "key": "password" }],
    });
    let token = json!({ "boundServiceAccountToken": [{ "parameter": "bearerToken", "serviceAccountName": "reader" }] });
    let rows = [
        (scaled_object("web", rollout, cron()), "ScaledObject shop/web", "spec.scaleTargetRef"),
        (shared, "ClusterTriggerAuthentication shared", "spec.secretTargetRef"),
        (strict, "ValidatingWebhookConfiguration keda-admission", "webhooks[1].failurePolicy"),
        (
            of_keda("TriggerAuthentication", "token", token),
            "TriggerAuthentication shop/token",
            "spec.boundServiceAccountToken",
        ),
        (
            of_keda("TriggerAuthentication", "vault", json!({ "hashiCorpVault": vault })),
            "TriggerAuthentication shop/vault",
            "spec.hashiCorpVault.credential.serviceAccountName",
        ),
    ];
    for (object, name, field) in rows {
        assert_eq!(issues(&snapshot([object])), [(Verdict::ToDo, name.to_owned(), field.to_owned())], "{name}");
    }
}

#[test]
fn the_kind_of_a_target_is_named_as_the_cluster_serves_it() {
    let target = json!({ "name": "web", "apiVersion": "example.com/v1", "kind": "Policy" });
    let mut snapshot = snapshot([scaled_object("web", target, cron())]);
    let policy = ("example.com/v1".to_owned(), "Policy".to_owned());
    let targets: Vec<_> = targets(&snapshot.objects).collect();
    assert_eq!(targets.len(), 1);
    assert_eq!(targets[0].api_version_and_kind(), (policy.0.as_str(), policy.1.as_str()));
    snapshot.resources = [(policy, "policies".to_owned())].into();
    let report = assess(&snapshot, &owner("kedge"));
    assert_eq!(
        report.issues[0].remedy,
        "add {apiGroup: \"example.com\", kind: policies} to rbac.scaledRefKinds when you install Kedge"
    );
}

#[test]
fn what_works_is_not_spoken_of() {
    let fine = scaled_object("web", json!({ "name": "web" }), cron());
    let report = assess(&snapshot([fine]), &owner("kedge"));
    assert_eq!((report.issues, report.objects), (Vec::new(), 1));
    assert_eq!(report.facts[0], "release keda in namespace keda: revision 3, deployed");
}

#[test]
fn a_release_that_deletes_the_crds_is_reported() {
    let crd = "---\nkind: CustomResourceDefinition\nmetadata:\n  name: scaledobjects.keda.sh\n";
    let mut snapshot = snapshot([]);
    snapshot.releases[0].1.as_mut().unwrap().manifest = crd.to_owned();
    snapshot.releases[0].1.as_mut().unwrap().status = "pending-upgrade".to_owned();
    let keda = "release keda in namespace keda".to_owned();
    let expected =
        [(Verdict::WouldNotWork, keda.clone(), "status".to_owned()), (Verdict::ToDo, keda, "manifest".to_owned())];
    assert_eq!(issues(&snapshot), expected);
}

#[test]
fn owners_are_reported_until_the_handover_is_complete() {
    let live = |object: Object, release: &str| LiveObject {
        object,
        owner: Some(owner(release)),
        managed_by: None,
        policy: None,
        part_of: vec!["keda-operator".to_owned()],
        service: None,
    };
    let all = |release: &str| Snapshot {
        live: shared()
            .into_iter()
            .map(|object| live(object, release))
            .chain(keda_only().into_iter().map(|object| live(object, "keda")))
            .collect(),
        ..Snapshot::default()
    };
    assert_eq!(issues(&all("keda")).len(), 6);
    assert_eq!(issues(&all("kedge")), []);
    let registration = "---\nkind: APIService\nmetadata:\n  name: v1beta1.external.metrics.k8s.io\nspec:\n  service: {namespace: kedge, name: metrics}\n";
    let mut snapshot = all("kedge");
    snapshot.live[0].service = Some(Service { namespace: "keda".to_owned(), name: "metrics".to_owned() });
    let stored = StoredRelease { revision: 1, status: "deployed".to_owned(), manifest: registration.to_owned() };
    snapshot.releases = vec![(owner("kedge"), Some(stored))];
    let registration = shared()[0].to_string();
    assert_eq!(
        issues(&snapshot),
        [(Verdict::ToDo, registration, "spec.service".to_owned())],
        "Helm has not changed it"
    );
}
