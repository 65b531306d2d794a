//! Kedge with exactly the RBAC rules of the chart, in each mode: no rule is missing, and none is unused. The audit log of the API
//! server shows both.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use kedge_test_cluster::Cluster;
use kedge_tests::golden;
use kedge_tests::helm::Document;
use kedge_tests::namespace::TestNamespace;
use serde_json::{Value, json};

use super::rbac::{self, Rule};
use super::running::Release;
use super::scenarios::{self, ScenarioOptions};

/// Rules whose use the audit log does not show, and why they are granted.
const UNLOGGED: [(&str, &str, &str, &str); 1] = [(
    "keda.sh",
    "scaledobjects/finalizers",
    "update",
    "an admission plugin checks it within the API server; the test of finalizers shows that it is needed",
)];

/// The values that let tokens of the account of the scenarios be requested.
const AUDIENCE: &[&str] = &[
    "serviceAccountTokens.audiences[0].audience=broker",
    "serviceAccountTokens.audiences[0].namespace=NAMESPACE",
    "serviceAccountTokens.audiences[0].serviceAccountName=broker-reader",
];

/// A rule that an account has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Grant {
    account: String,
    /// `None`: every namespace.
    namespace: Option<String>,
    rule: Rule,
}

/// One request of an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Use {
    account: String,
    namespace: String,
    name: String,
    group: String,
    pub(crate) resource: String,
    verb: String,
}

impl Grant {
    fn covers(&self, done: &Use) -> bool {
        let Rule { group, resource, verb, names, .. } = &self.rule;
        self.account == done.account
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == done.namespace)
            && (group, resource, verb) == (&done.group, &done.resource, &done.verb)
            && (names.is_empty() || names.contains(&done.name))
    }

    fn is_unlogged(&self) -> bool {
        let Rule { group, resource, verb, .. } = &self.rule;
        UNLOGGED.iter().any(|(g, r, v, _)| (*g, *r, *v) == (group, resource, verb))
    }
}

/// What the rendered roles allow to the accounts that they are bound to.
fn grants(documents: &[Document]) -> Vec<Grant> {
    let rules = rbac::rules(documents);
    let mut grants = Vec::new();
    for binding in documents.iter().filter(|one| one.is("RoleBinding") || one.is("ClusterRoleBinding")) {
        let namespace = binding.object["metadata"]["namespace"].as_str();
        let reference = &binding.object["roleRef"];
        let (kind, name) = (reference["kind"].as_str().unwrap(), reference["name"].as_str().unwrap());
        let role = match kind {
            "Role" => format!("Role {}/{name}", namespace.unwrap()),
            _ => format!("{kind} {name}"),
        };
        for subject in binding.object["subjects"].as_array().into_iter().flatten() {
            let [home, name] = [&subject["namespace"], &subject["name"]].map(|word| word.as_str().unwrap());
            let account = format!("system:serviceaccount:{home}:{name}");
            let bound = rules.iter().filter(|rule| rule.role == role).cloned();
            let namespace = namespace.map(str::to_owned);
            grants.extend(bound.map(|rule| Grant { account: account.clone(), namespace: namespace.clone(), rule }));
        }
    }
    grants
}

/// The requests of the release's accounts since an offset of the audit log, and those that were denied.
pub(crate) fn read_audit_log(cluster: &Cluster, since: usize) -> (BTreeSet<Use>, BTreeSet<String>) {
    let (mut done, mut denied) = (BTreeSet::new(), BTreeSet::new());
    let log = fs::read_to_string(cluster.audit_log()).unwrap();
    for line in log[since..].lines().filter(|line| line.contains("system:serviceaccount:keda:")) {
        let entry: Value = serde_json::from_str(line).unwrap_or_default();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (account, object) = (word(&entry["user"]["username"]), &entry["objectRef"]);
        if !account.starts_with("system:serviceaccount:keda:") || object["resource"].is_null() {
            continue;
        }
        let resource = match object["subresource"].as_str() {
            Some(sub) => format!("{}/{sub}", word(&object["resource"])),
            None => word(&object["resource"]),
        };
        // Just after a CRD was created, the API server may deny requests for its resource; that is no missing rule.
        let is_known = !word(&entry["responseStatus"]["message"]).contains("cannot find RESTMapping");
        if entry["responseStatus"]["code"] == 403 && is_known {
            denied.insert(format!("{account}: {} {}", word(&entry["verb"]), word(&entry["requestURI"])));
            continue;
        }
        let [namespace, name, group] = ["namespace", "name", "apiGroup"].map(|key| word(&object[key]));
        done.insert(Use { account, namespace, name, group, resource, verb: word(&entry["verb"]) });
    }
    (done, denied)
}

/// A cluster with a short HPA sync period, whose API server enforces the permission to set `blockOwnerDeletion`.
pub(crate) async fn checking_cluster(name: &str) -> Cluster {
    let builder = Cluster::builder(name).hpa_sync_period(Duration::from_secs(1));
    let plugin = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
    let cluster = builder.apiserver_flag(plugin).start().await.unwrap();
    cluster.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "keda" } })).unwrap();
    cluster
}

/// A way to install the chart.
struct Mode<'a> {
    /// Sets of values from the golden files.
    sets: &'a [&'a str],
    /// Further values; `NAMESPACE` is replaced by the namespace of the test.
    values: &'a [&'a str],
    replicas: usize,
    options: ScenarioOptions,
}

/// Installs the chart, runs its pods and all scenarios, and compares the requests with the granted rules.
async fn play(cluster: &Cluster, mode: Mode<'_>) {
    let title = mode.sets.join(" and ");
    let namespace = TestNamespace::create(cluster, "mode");
    scenarios::prepare(&namespace, &mode.options);
    let sets =
        mode.sets.iter().map(|set| format!("--values={}", golden::case("helm", set).path("values.yaml").display()));
    let values = mode.values.iter().map(|value| format!("--set={}", value.replace("NAMESPACE", &namespace.name)));
    let arguments: Vec<String> = sets.chain(values).collect();
    let since = fs::metadata(cluster.audit_log()).map_or(0, |file| file.len() as usize);
    let release = Release::install(cluster, mode.replicas, &arguments);
    scenarios::set_ca_bundle(&namespace, &mode.options);
    let pods = release.run().await;
    scenarios::play(&namespace, &mode.options).await;
    pods.terminate().await;

    let (done, denied) = read_audit_log(cluster, since);
    assert_eq!(denied, BTreeSet::new(), "{title}: missing rules");
    let grants = grants(&release.rendered());
    assert!(!grants.is_empty(), "{title}");
    let is_unused = |grant: &&Grant| !grant.is_unlogged() && !done.iter().any(|done| grant.covers(done));
    let unused: Vec<&Grant> = grants.iter().filter(is_unused).collect();
    assert_eq!(unused, Vec::<&Grant>::new(), "{title}: unused rules");
    release.uninstall();
}

#[tokio::test]
async fn cluster_wide_rules_are_sufficient_and_all_used() {
    let cluster = checking_cluster("chart-everywhere").await;
    let options = ScenarioOptions::default();
    play(&cluster, Mode { sets: &["default"], values: &[], replicas: 1, options }).await;
    play(&cluster, Mode { sets: &["high-availability"], values: &[], replicas: 3, options }).await;
    // The cluster has no ServiceMonitors.
    let values = &["prometheus.webhooks.serviceMonitor.enabled=false"];
    play(&cluster, Mode { sets: &["webhooks-apart"], values, replicas: 2, options }).await;
}

#[tokio::test]
async fn rules_that_values_add_or_remove_are_sufficient_and_all_used() {
    let cluster = checking_cluster("chart-special").await;
    let options = ScenarioOptions {
        secrets: scenarios::Secrets::OfTheRelease,
        rollouts: true,
        tokens: true,
        ..ScenarioOptions::default()
    };
    let sets = &["secrets-restricted", "custom-kinds", "all-tokens"];
    play(&cluster, Mode { sets, values: AUDIENCE, replicas: 1, options }).await;
    let options =
        ScenarioOptions { certificates: scenarios::Certificates::Provided, tokens: true, ..ScenarioOptions::default() };
    let role = [
        "permissions.operator.restrict.serviceAccountTokenCreationRoles[0].namespace=NAMESPACE",
        "permissions.operator.restrict.serviceAccountTokenCreationRoles[0].name=broker-reader",
    ];
    let values = &[&role, AUDIENCE].concat();
    play(&cluster, Mode { sets: &["own-certificates", "tokens"], values, replicas: 1, options }).await;
}

#[tokio::test]
async fn rules_for_watched_namespaces_are_sufficient_and_all_used() {
    let cluster = checking_cluster("chart-namespaced").await;
    let options = ScenarioOptions { namespaces: scenarios::Namespaces::Own, ..ScenarioOptions::default() };
    let watched = &["watchNamespace=NAMESPACE"];
    play(&cluster, Mode { sets: &["namespaced"], values: watched, replicas: 1, options }).await;
    let restricted = ScenarioOptions { secrets: scenarios::Secrets::OfTheRelease, webhooks: false, ..options };
    play(&cluster, Mode { sets: &["namespaced-and-restricted"], values: watched, replicas: 1, options: restricted })
        .await;
    // No cert-manager runs here.
    let values = &["watchNamespace=NAMESPACE", "certificates.certManager.enabled=false"];
    play(&cluster, Mode { sets: &["webhooks-apart-namespaced"], values, replicas: 1, options }).await;
}

#[tokio::test]
async fn without_permission_on_finalizers_no_hpa_is_created_where_owners_are_checked() {
    let cluster = checking_cluster("chart-finalizers").await;
    let namespace = TestNamespace::create(&cluster, "finalizers");
    let release = Release::install(&cluster, 1, &["--set=webhooks.enabled=false".to_owned()]);
    let role = cluster.kubectl(["get", "clusterrole", "keda-operator", "--output=json"]).unwrap();
    let mut role: Value = serde_json::from_str(&role).unwrap();
    let rules = role["rules"].as_array_mut().unwrap();
    rules.retain(|rule| rule["resources"] != json!(["scaledobjects/finalizers"]));
    cluster.apply(&json!({ "apiVersion": role["apiVersion"], "kind": role["kind"], "metadata": { "name": "keda-operator" }, "rules": role["rules"] })).unwrap();
    let pods = release.run().await;
    scenarios::one_object(&namespace);
    let is_reported =
        |namespace: &TestNamespace<'_>| namespace.message("one", "Ready").contains("cannot set blockOwnerDeletion");
    namespace.until("the denial is reported", true, is_reported).await;
    assert!(namespace.get("hpa", "keda-hpa-one").is_null());
    pods.terminate().await;
}
