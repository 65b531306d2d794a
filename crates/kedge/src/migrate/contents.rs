//! What a release holds, by its manifest.

use std::collections::BTreeSet;

use serde_json::Value;

use super::manifest::{documents, is_kept, split_start};
use super::plan::{Object, PART_OF, Service, Sort, is_kedas, shared};

/// The Service that a release registers for the metrics API.
pub(super) fn registered(manifest: &str) -> Option<Service> {
    let registration = shared().into_iter().find(|object| object.sort == Sort::ApiService)?;
    find(manifest, &registration).as_ref().and_then(Service::of)
}

/// An object of a manifest, as it stands there.
fn find(manifest: &str, object: &Object) -> Option<Value> {
    let candidates = documents(manifest).into_iter().filter(|document| document.contains(&object.name));
    candidates
        .filter_map(|document| serde_saphyr::from_str(split_start(document).1).ok())
        .find(|value| object.is(value))
}

/// What runs in a release.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Workloads {
    /// The Deployments of KEDA, or of Kedge.
    pub(super) kedas: Vec<String>,
    /// Everything else: the chart holds more than KEDA.
    pub(super) others: Vec<String>,
}

pub(super) fn workloads(manifest: &str) -> Workloads {
    let mut found = Workloads::default();
    let documents = documents(manifest).into_iter().filter(|document| !document.contains(Sort::Crd.kind()));
    for value in documents.filter_map(|document| serde_saphyr::from_str::<Value>(split_start(document).1).ok()) {
        if !matches!(value["kind"].as_str(), Some("Deployment" | "StatefulSet" | "DaemonSet")) {
            continue;
        }
        let labels = &value["metadata"]["labels"];
        let is_kedas = PART_OF.iter().any(|label| labels[*label].as_str().is_some_and(is_kedas));
        let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if is_kedas { found.kedas.push(name) } else { found.others.push(name) }
    }
    found
}

/// What two releases both have, beside what is handed over: whichever is uninstalled takes it from the other.
pub(super) fn contested(one: &str, other: &str) -> BTreeSet<String> {
    titles(one).intersection(&titles(other)).cloned().collect()
}

/// Kind, namespace and name of the objects of a manifest whose place is certain, without those that are handed over and what is kept.
fn titles(manifest: &str) -> BTreeSet<String> {
    let crd = |document: &&str| document.contains(Sort::Crd.kind());
    let values = documents(manifest).into_iter().filter(|document| !crd(document));
    let values = values.filter_map(|document| serde_saphyr::from_str::<Value>(split_start(document).1).ok());
    values
        .filter(|value| !is_kept(value) && !shared().iter().any(|object| object.is(value)))
        .filter_map(title)
        .collect()
}

fn title(value: Value) -> Option<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, metadata) = (word(&value["kind"]), &value["metadata"]);
    let (namespace, name) = (word(&metadata["namespace"]), word(&metadata["name"]));
    match namespace.as_str() {
        // Of other kinds, where they are is up to the release.
        "" => kind.starts_with("Cluster").then(|| format!("{kind} {name}")),
        namespace => Some(format!("{kind} {namespace}/{name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_releases_both_have_is_found() {
        let role = "---\nkind: ClusterRole\nmetadata:\n  name: keda-operator\n";
        let registration = "---\nkind: APIService\nmetadata:\n  name: v1beta1.external.metrics.k8s.io\n";
        let account =
            |namespace: &str| format!("---\nkind: ServiceAccount\nmetadata:\n  name: a\n  namespace: {namespace}\n");
        let nowhere = "---\nkind: Service\nmetadata:\n  name: keda-operator\n";
        let one = [role, registration, nowhere, &account("keda")].concat();
        let found = |other: &str| contested(&one, other).into_iter().collect::<Vec<_>>();
        assert_eq!(found(&[registration, nowhere, &account("kedge")].concat()), Vec::<String>::new());
        assert_eq!(found(&[role, &account("keda")].concat()), ["ClusterRole keda-operator", "ServiceAccount keda/a"]);
    }

    #[test]
    fn a_release_that_holds_more_than_keda_is_known() {
        let one =
            "---\nkind: Deployment\nmetadata:\n  name: keda-operator\n  labels:\n    helm.sh/chart: keda-2.21.0\n";
        let other = "---\nkind: StatefulSet\nmetadata:\n  name: prometheus\n  labels:\n    app: prometheus\n---\nkind: Service\n";
        let found = workloads(&[one, other].concat());
        assert_eq!((found.kedas, found.others), (vec!["keda-operator".to_owned()], vec!["prometheus".to_owned()]));
    }
}
