//! Marks objects in the manifest of a release, so that `helm uninstall` keeps them. The text stays as it is but for a line or two; a
//! document that is written in an unusual way is written anew.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::plan::{KEEP, Object, PART_OF, POLICY, Service, Sort, is_kedas, shared};

#[derive(Debug, thiserror::Error)]
#[error("{object} in the manifest cannot be read: {problem}")]
pub(super) struct Unreadable {
    object: String,
    problem: String,
}

/// A manifest in which objects are kept, and which of them were not before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) manifest: String,
    pub(super) changed: Vec<Object>,
}

/// Marks those of the objects that the manifest has.
pub(super) fn keep(manifest: &str, objects: &[Object]) -> Result<Kept, Unreadable> {
    let mut kept = Kept { manifest: String::with_capacity(manifest.len()), changed: Vec::new() };
    for document in documents(manifest) {
        match marked(document, objects)? {
            Some((text, object)) => {
                kept.manifest.push_str(&text);
                kept.changed.push(object);
            }
            None => kept.manifest.push_str(document),
        }
    }
    Ok(kept)
}

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

/// The documents of a manifest, each with the line that begins it; together they are the manifest.
fn documents(manifest: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = manifest.match_indices("\n---").map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    starts.push(manifest.len());
    starts.windows(2).map(|pair| &manifest[pair[0]..pair[1]]).collect()
}

/// The document with the mark, if it is one of the objects and has none.
fn marked(document: &str, objects: &[Object]) -> Result<Option<(String, Object)>, Unreadable> {
    let may_be = |object: &&Object| document.contains(&object.name) && document.contains(object.sort.kind());
    let Some(guess) = objects.iter().find(may_be) else { return Ok(None) };
    let (start, body) = split_start(document);
    let read = |text: &str| serde_saphyr::from_str::<Value>(text);
    let value = read(body)
        .map_err(|error| Unreadable { object: guess.to_string(), problem: error.without_snippet().to_string() })?;
    let Some(object) = objects.iter().find(|object| object.is(&value)) else { return Ok(None) };
    if is_kept(&value) {
        return Ok(None);
    }
    let mut wanted = value;
    wanted["metadata"]["annotations"][POLICY] = json!(KEEP);
    let text = inserted(body).filter(|text| read(text).is_ok_and(|now| now == wanted));
    let text = text.unwrap_or_else(|| format!("{wanted:#}\n"));
    Ok(Some((format!("{start}{text}"), object.clone())))
}

/// Helm's own reading of the mark.
fn is_kept(value: &Value) -> bool {
    let policy = value["metadata"]["annotations"][POLICY].as_str().unwrap_or_default();
    policy.trim().eq_ignore_ascii_case(KEEP)
}

/// The line that begins a document, and the rest of it.
fn split_start(document: &str) -> (&str, &str) {
    if !document.starts_with("---") {
        return ("", document);
    }
    document.split_at(document.find('\n').map_or(document.len(), |end| end + 1))
}

/// The text with a line for the mark, where its metadata stands as most write it.
fn inserted(body: &str) -> Option<String> {
    let lines: Vec<&str> = body.split_inclusive('\n').collect();
    let metadata = lines.iter().position(|line| line.trim_end() == "metadata:")?;
    let first = lines.get(metadata + 1)?;
    let margin = &first[..first.len() - first.trim_start().len()];
    let inside = lines[metadata + 1..].iter().take_while(|line| line.starts_with(' '));
    let annotations = inside.clone().position(|line| line.trim_end() == format!("{margin}annotations:"));
    let (after, new) = match annotations {
        Some(at) => {
            let next = lines.get(metadata + at + 2)?;
            let margin = &next[..next.len() - next.trim_start().len()];
            (metadata + at + 1, format!("{margin}{POLICY}: {KEEP}\n"))
        }
        None => (metadata, format!("{margin}annotations:\n{margin}  {POLICY}: {KEEP}\n")),
    };
    Some([lines[..=after].concat(), new, lines[after + 1..].concat()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd() -> Object {
        Object { sort: Sort::Crd, name: "scaledobjects.keda.sh".to_owned() }
    }

    const HEAD: &str =
        "---\n# Source: keda/templates/crd.yaml\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n";

    fn kept(document: &str) -> String {
        let before = "---\n# Source: keda/templates/a.yaml\nkind: ConfigMap\ndata:\n  text: scaledobjects.keda.sh\n";
        let manifest = format!("{before}{document}---\nkind: Service\n");
        let kept = keep(&manifest, &[crd()]).unwrap();
        let again = keep(&kept.manifest, &[crd()]).unwrap();
        assert_eq!((again.manifest, again.changed), (kept.manifest.clone(), Vec::new()), "the second time");
        let inside = kept.manifest.strip_prefix(before).and_then(|text| text.strip_suffix("---\nkind: Service\n"));
        inside.expect("nothing else changed").to_owned()
    }

    #[test]
    fn the_mark_is_one_more_line() {
        let rows = [
            (
                "beside other annotations",
                "metadata:\n  annotations:\n    a: b\n  name: scaledobjects.keda.sh\n",
                "metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n    a: b\n  name: scaledobjects.keda.sh\n",
            ),
            (
                "with annotations of its own",
                "metadata:\n  name: scaledobjects.keda.sh\n",
                "metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n  name: scaledobjects.keda.sh\n",
            ),
            (
                "in a wide margin",
                "metadata:\n      name: scaledobjects.keda.sh\nspec:\n  annotations: no\n",
                "metadata:\n      annotations:\n        helm.sh/resource-policy: keep\n      name: scaledobjects.keda.sh\nspec:\n  annotations: no\n",
            ),
        ];
        for (name, before, after) in rows {
            assert_eq!(kept(&format!("{HEAD}{before}")), format!("{HEAD}{after}"), "{name}");
        }
    }

    #[test]
    fn what_is_written_in_an_unusual_way_is_written_anew() {
        let rows = [
            "metadata: {name: scaledobjects.keda.sh}\n",
            "metadata:\n  name: scaledobjects.keda.sh\n  annotations: {}\n",
            "metadata:\n  name: scaledobjects.keda.sh\n  annotations:\n    helm.sh/resource-policy: remove\n",
            "metadata:\n  name: scaledobjects.keda.sh\n  annotations:\n",
        ];
        for metadata in rows {
            let text = kept(&format!("{HEAD}{metadata}"));
            let value: Value = serde_saphyr::from_str(split_start(&text).1).unwrap();
            assert_eq!(value["metadata"]["annotations"][POLICY], KEEP, "{metadata}");
            assert_eq!(
                (&value["metadata"]["name"], &value["kind"]),
                (&json!(crd().name), &json!("CustomResourceDefinition"))
            );
        }
    }

    #[test]
    fn what_is_kept_already_and_what_is_something_else_stay() {
        let already = format!(
            "{HEAD}metadata:\n  name: scaledobjects.keda.sh\n  annotations:\n    helm.sh/resource-policy: \" Keep\"\n"
        );
        let other = "---\nkind: Secret\nmetadata:\n  name: scaledobjects.keda.sh\n".to_owned();
        for manifest in [already, other, String::new()] {
            assert_eq!(keep(&manifest, &[crd()]).unwrap(), Kept { manifest, changed: Vec::new() });
        }
    }

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

    #[test]
    fn an_object_that_cannot_be_read_is_named() {
        let said = keep(&format!("{HEAD}metadata: [scaledobjects.keda.sh\n"), &[crd()]).unwrap_err().to_string();
        assert!(
            said.starts_with("CustomResourceDefinition scaledobjects.keda.sh in the manifest cannot be read: "),
            "{said}"
        );
    }
}
