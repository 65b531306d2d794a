//! The objects of a release, by its manifest.

use std::collections::BTreeSet;

use serde_json::Value;

use super::manifest::{documents, is_kept, split_start};
use super::plan::{Object, PART_OF, Service, SharedKind, is_kedas, shared};

/// The Service in the APIService of a release.
pub(super) fn registered(manifest: &str) -> Option<Service> {
    let registration = shared().into_iter().find(|object| object.kind == SharedKind::ApiService)?;
    find(manifest, &registration).as_ref().and_then(Service::from_api_service)
}

/// An object of a manifest.
fn find(manifest: &str, object: &Object) -> Option<Value> {
    let candidates = documents(manifest).into_iter().filter(|document| document.contains(&object.name));
    candidates
        .filter_map(|document| serde_saphyr::from_str(split_start(document).1).ok())
        .find(|value| object.is(value))
}

/// The workloads of a release.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Workloads {
    /// The Deployments of KEDA, or of Kedge.
    pub(super) kedas: Vec<String>,
    /// Others: the chart contains more than KEDA.
    pub(super) others: Vec<String>,
}

pub(super) fn workloads(manifest: &str) -> Workloads {
    let mut found = Workloads::default();
    let documents = documents(manifest).into_iter().filter(|document| !document.contains(SharedKind::Crd.kind()));
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

/// The objects that two releases both have, apart from those that are transferred: uninstalling one deletes them from the other.
pub(super) fn contested(one: &str, other: &str) -> BTreeSet<String> {
    titles(one).intersection(&titles(other)).cloned().collect()
}

/// Kind, namespace and name of the objects of a manifest that have a certain namespace, without those that are transferred or kept.
fn titles(manifest: &str) -> BTreeSet<String> {
    let crd = |document: &&str| document.contains(SharedKind::Crd.kind());
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
        // The namespace of other kinds depends on the release.
        "" => kind.starts_with("Cluster").then(|| format!("{kind} {name}")),
        namespace => Some(format!("{kind} {namespace}/{name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_two_releases_are_found() {
        let role = "---\nkind: ClusterRole\nmetadata:\n  name: keda-operator\n";
        let registration = "---\nkind: APIService\nmetadata:\n  name: v1beta1.external.metrics.k8s.io\n";
        let account =
            |namespace: &str| format!("---\nkind: ServiceAccount\nmetadata:\n  name: a\n  namespace: {namespace}\n");
        let without_namespace = "---\nkind: Service\nmetadata:\n  name: keda-operator\n";
        let one = [role, registration, without_namespace, &account("keda")].concat();
        let found = |other: &str| contested(&one, other).into_iter().collect::<Vec<_>>();
        assert_eq!(found(&[registration, without_namespace, &account("kedge")].concat()), Vec::<String>::new());
        assert_eq!(found(&[role, &account("keda")].concat()), ["ClusterRole keda-operator", "ServiceAccount keda/a"]);
    }

    #[test]
    fn a_release_with_more_than_keda_is_recognized() {
        let one =
            "---\nkind: Deployment\nmetadata:\n  name: keda-operator\n  labels:\n    helm.sh/chart: keda-2.21.0\n";
        let other = "---\nkind: StatefulSet\nmetadata:\n  name: prometheus\n  labels:\n    app: prometheus\n---\nkind: Service\n";
        let found = workloads(&[one, other].concat());
        assert_eq!((found.kedas, found.others), (vec!["keda-operator".to_owned()], vec!["prometheus".to_owned()]));
    }
}
