//! The objects of some files, as far as they matter for RBAC rules.

use std::collections::BTreeMap;

use anyhow::ensure;
use k8s_openapi::api::core::v1::PodSpec;
use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::{ClusterTriggerAuthentication, ScaledObject, TriggerAuthentication, names};
use kedge_webhooks::violation::FieldPath;
use serde::Deserialize;
use serde_json::Value;

use crate::manifests::LocatedDocument;
use crate::validation::Decoder;

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
    pub(super) fn collect(
        documents: &[LocatedDocument],
        namespace: &str,
        plurals: &[(String, String)],
    ) -> anyhow::Result<Self> {
        let (mut input, decoder) = (Self::default(), Decoder::new());
        for located in documents {
            input.add(located, namespace, &decoder)?;
        }
        input.plurals.extend(plurals.iter().cloned());
        ensure!(
            !input.objects.is_empty(),
            "there is no ScaledObject in the files; give those that the operator will manage"
        );
        Ok(input)
    }

    fn add(&mut self, located: &LocatedDocument, namespace: &str, decoder: &Decoder) -> anyhow::Result<()> {
        let object = &located.document.object;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, metadata) = (word(&object["kind"]), &object["metadata"]);
        let object_name = (metadata["namespace"].as_str().unwrap_or(namespace).to_owned(), word(&metadata["name"]));
        let group =
            object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
        for name in [&object_name.0, &object_name.1] {
            ensure!(
                group != names::GROUP || is_name(name),
                "{}: {name:?} is not a name of an object or a namespace; use letters, digits, '-' and '.'",
                located.place(&FieldPath::new("metadata"))
            );
        }
        match (group, kind.as_str()) {
            (names::GROUP, "ScaledObject") => drop(self.objects.insert(object_name, decoder.decode(located)?)),
            (names::GROUP, "ScaledJob") => self.jobs.push(object_name),
            (names::GROUP, "TriggerAuthentication") => {
                let found: TriggerAuthentication = decoder.decode(located)?;
                self.authentications.insert(object_name, found.spec);
            }
            (names::GROUP, "ClusterTriggerAuthentication") => {
                let found: ClusterTriggerAuthentication = decoder.decode(located)?;
                self.shared.insert(object_name.1, found.spec.0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::files::File;
    use crate::manifests::stream;

    fn documents(text: &str) -> Vec<LocatedDocument> {
        let file = File { name: "web.yaml".to_owned(), contents: stream::parse(text.as_bytes()) };
        file.located().unwrap()
    }

    #[test]
    fn plurals_are_known_or_from_a_crd_or_guessed() {
        let text = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: geese.example.com}
spec: {names: {kind: Goose, plural: geese}}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec: {scaleTargetRef: {name: web}, triggers: [{type: cpu, metadata: {value: null}}]}
";
        let given = [("Ox".to_owned(), "oxen".to_owned())];
        let input = Input::collect(&documents(text), "shop", &given).unwrap();
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
    fn errors_name_the_file_and_the_line() {
        let rows = [
            (
                "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: \"a\\n- b\"}\n",
                "web.yaml:3:1: \"a\\n- b\" is not a name",
            ),
            (
                "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\nspec:\n  triggers:\n  - type: cron\n    metadata:\n      desiredReplicas: 010\n",
                "web.yaml:8:7: ScaledObject web: spec.triggers[0].metadata.desiredReplicas: ",
            ),
        ];
        for (text, expected) in rows {
            let error = format!("{:#}", Input::collect(&documents(text), "shop", &[]).unwrap_err());
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
