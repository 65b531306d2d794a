//! The objects of some files, as far as they matter for RBAC rules.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::PodSpec;
use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::{ScaledObject, names};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::manifests::name_of;

/// Namespace and name.
pub(super) type NamespacedName = (String, String);

#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) objects: BTreeMap<NamespacedName, ScaledObject>,
    pub(super) jobs: Vec<NamespacedName>,
    pub(super) authentications: BTreeMap<NamespacedName, TriggerAuthenticationSpec>,
    /// ClusterTriggerAuthentications by name.
    pub(super) shared: BTreeMap<String, TriggerAuthenticationSpec>,
    /// The pod templates, by kind and name.
    pods: BTreeMap<(String, NamespacedName), PodSpec>,
    /// By kind.
    plurals: BTreeMap<String, String>,
}

/// The plural of a kind: from its CRD or a flag, or guessed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plural {
    Known(String),
    Guessed(String),
}

impl Input {
    pub(super) fn collect(objects: &[Value], namespace: &str, plurals: &[(String, String)]) -> anyhow::Result<Self> {
        let mut input = Self::default();
        for object in objects {
            input.add(object, namespace)?;
        }
        input.plurals.extend(plurals.iter().cloned());
        ensure!(
            !input.objects.is_empty(),
            "there is no ScaledObject in the files; give those that the operator will manage"
        );
        Ok(input)
    }

    fn add(&mut self, object: &Value, namespace: &str) -> anyhow::Result<()> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, metadata) = (word(&object["kind"]), &object["metadata"]);
        let object_name = (metadata["namespace"].as_str().unwrap_or(namespace).to_owned(), word(&metadata["name"]));
        let group =
            object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
        for name in [&object_name.0, &object_name.1] {
            ensure!(
                group != names::GROUP || is_name(name),
                "{name:?} is not a name of an object or a namespace; use letters, digits, '-' and '.'"
            );
        }
        match (group, kind.as_str()) {
            (names::GROUP, "ScaledObject") => drop(self.objects.insert(object_name, decode(object, object)?)),
            (names::GROUP, "ScaledJob") => self.jobs.push(object_name),
            (names::GROUP, "TriggerAuthentication") => {
                self.authentications.insert(object_name, decode(&object["spec"], object)?);
            }
            (names::GROUP, "ClusterTriggerAuthentication") => {
                self.shared.insert(object_name.1, decode(&object["spec"], object)?);
            }
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                let names = &object["spec"]["names"];
                self.plurals.insert(word(&names["kind"]), word(&names["plural"]));
            }
            _ => {
                // Kinds without a pod template do not matter.
                let pod = object.pointer("/spec/template/spec").and_then(|pod| PodSpec::deserialize(pod).ok());
                self.pods.extend(pod.map(|pod| ((kind, object_name), pod)));
            }
        }
        Ok(())
    }

    /// The pod template of a target, if it is in the files.
    pub(super) fn pod(&self, kind: &str, object_name: &NamespacedName) -> Option<&PodSpec> {
        self.pods.get(&(kind.to_owned(), object_name.clone()))
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

/// Whether a text is safe as a name: names become part of YAML.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-.:".contains(letter))
}

/// Decodes a part of an object; an error names the object.
fn decode<T: DeserializeOwned>(part: &Value, object: &Value) -> anyhow::Result<T> {
    T::deserialize(part).with_context(|| format!("{} cannot be read", name_of(object)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plurals_are_known_or_from_a_crd_or_guessed() {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "geese.example.com" },
            "spec": { "names": { "kind": "Goose", "plural": "geese" } },
        });
        let spec = json!({ "scaleTargetRef": { "name": "web" }, "triggers": [] });
        let object = json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" }, "spec": spec });
        let given = [("Ox".to_owned(), "oxen".to_owned())];
        let input = Input::collect(&[crd, object], "shop", &given).unwrap();
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
    fn an_invalid_name_is_an_error() {
        let object =
            json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "a\n- b" } });
        let error = Input::collect(&[object], "shop", &[]).unwrap_err().to_string();
        assert!(error.contains("is not a name"), "{error}");
    }
}
