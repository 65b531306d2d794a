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

/// Reads a part of an object; what is wrong names the object.
fn read<T: DeserializeOwned>(part: &Value, object: &Value) -> anyhow::Result<T> {
    T::deserialize(part).with_context(|| format!("{} cannot be read", crate::lint::name_of(object)))
}
