//! The objects of some files, as far as they matter for rights.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::PodSpec;
use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::{ScaledObject, names};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Namespace and name.
pub(super) type Place = (String, String);

#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) objects: BTreeMap<Place, ScaledObject>,
    pub(super) jobs: Vec<Place>,
    pub(super) authentications: BTreeMap<Place, TriggerAuthenticationSpec>,
    /// Those of the cluster, by name.
    pub(super) shared: BTreeMap<String, TriggerAuthenticationSpec>,
    /// The pods of everything that has a template for them, by kind and place.
    pods: BTreeMap<(String, Place), PodSpec>,
    /// By kind.
    plurals: BTreeMap<String, String>,
}

/// The plural of a kind, and where it is from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plural {
    Known(String),
    Guessed(String),
}

impl Input {
    pub(super) fn read(objects: &[Value], namespace: &str, plurals: &[(String, String)]) -> anyhow::Result<Self> {
        let mut input = Self::default();
        for object in objects {
            input.add(object, namespace)?;
        }
        input.plurals.extend(plurals.iter().cloned());
        ensure!(
            !input.objects.is_empty(),
            "there is no ScaledObject in the files; give those that the operator will look after"
        );
        Ok(input)
    }

    fn add(&mut self, object: &Value, namespace: &str) -> anyhow::Result<()> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, metadata) = (word(&object["kind"]), &object["metadata"]);
        let place = (metadata["namespace"].as_str().unwrap_or(namespace).to_owned(), word(&metadata["name"]));
        let group =
            object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
        for name in [&place.0, &place.1] {
            ensure!(
                group != names::GROUP || is_name(name),
                "{name:?} is no name for an object or a namespace; use letters, digits, '-' and '.'"
            );
        }
        match (group, kind.as_str()) {
            (names::GROUP, "ScaledObject") => drop(self.objects.insert(place, read(object, object)?)),
            (names::GROUP, "ScaledJob") => self.jobs.push(place),
            (names::GROUP, "TriggerAuthentication") => {
                self.authentications.insert(place, read(&object["spec"], object)?);
            }
            (names::GROUP, "ClusterTriggerAuthentication") => {
                self.shared.insert(place.1, read(&object["spec"], object)?);
            }
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                let names = &object["spec"]["names"];
                self.plurals.insert(word(&names["kind"]), word(&names["plural"]));
            }
            _ => {
                // What is no template for pods is not of a kind that matters.
                let pod = object.pointer("/spec/template/spec").and_then(|pod| PodSpec::deserialize(pod).ok());
                self.pods.extend(pod.map(|pod| ((kind, place), pod)));
            }
        }
        Ok(())
    }

    /// The pods of a target, if it is in the files.
    pub(super) fn pod(&self, kind: &str, place: &Place) -> Option<&PodSpec> {
        self.pods.get(&(kind.to_owned(), place.clone()))
    }

    pub(super) fn plural(&self, kind: &str) -> Plural {
        if let Some(plural) = self.plurals.get(kind) {
            return Plural::Known(plural.clone());
        }
        let lower = kind.to_lowercase();
        let plural = match lower.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
            _ if lower.ends_with(['s', 'x']) || lower.ends_with("ch") || lower.ends_with("sh") => format!("{lower}es"),
            _ => format!("{lower}s"),
        };
        match kind {
            "Deployment" | "StatefulSet" | "ReplicaSet" => Plural::Known(plural),
            _ => Plural::Guessed(plural),
        }
    }
}

/// Whether something can be a name at all. Names become a part of YAML here.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-.:".contains(letter))
}

/// Reads a part of an object; what is wrong names the object.
fn read<T: DeserializeOwned>(part: &Value, object: &Value) -> anyhow::Result<T> {
    T::deserialize(part).with_context(|| format!("{} cannot be read", crate::lint::name_of(object)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plurals_are_those_of_the_kind_or_of_its_crd_or_guessed() {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "geese.example.com" },
            "spec": { "names": { "kind": "Goose", "plural": "geese" } },
        });
        let spec = json!({ "scaleTargetRef": { "name": "web" }, "triggers": [] });
        let object = json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" }, "spec": spec });
        let given = [("Ox".to_owned(), "oxen".to_owned())];
        let input = Input::read(&[crd, object], "shop", &given).unwrap();
        let known = |plural: &str| Plural::Known(plural.to_owned());
        let guessed = |plural: &str| Plural::Guessed(plural.to_owned());
        let rows = [
            ("StatefulSet", known("statefulsets")),
            ("Goose", known("geese")),
            ("Ox", known("oxen")),
            ("Rollout", guessed("rollouts")),
            ("Proxy", guessed("proxies")),
            ("Gateway", guessed("gateways")),
            ("Ingress", guessed("ingresses")),
            ("Mailbox", guessed("mailboxes")),
        ];
        for (kind, plural) in rows {
            assert_eq!(input.plural(kind), plural, "{kind}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let object =
            json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "a\n- b" } });
        let said = Input::read(&[object], "shop", &[]).unwrap_err().to_string();
        assert!(said.contains("is no name"), "{said}");
    }
}
