//! The objects of some files: those whose triggers are checked, and those that triggers refer to.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kedge_api::names;
use kedge_api::scaled_object::ScaleTargetRef;
use kedge_cluster::TargetKind;
use serde::Deserialize;
use serde_json::Value;

use super::objects::{CheckedObject, Scalable};
use crate::manifests::{LocatedDocument, name_of};
use crate::validation::Decoder;

/// Objects by their path in the API, as an API server would return them.
pub(super) type Stored = BTreeMap<String, Value>;

/// The objects of some files.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) objects: Vec<CheckedObject>,
    pub(super) stored: Stored,
}

impl Files {
    /// Objects without a namespace are in the given one.
    pub(super) fn collect(documents: &[LocatedDocument], namespace: &str) -> anyhow::Result<Self> {
        let (mut files, decoder) = (Self::default(), Decoder::new());
        for located in documents {
            files.add(located, namespace, &decoder)?;
        }
        Ok(files)
    }

    fn add(&mut self, located: &LocatedDocument, namespace: &str, decoder: &Decoder) -> anyhow::Result<()> {
        let object = &located.document.object;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind, name) =
            (text(&object["apiVersion"]), text(&object["kind"]), text(&object["metadata"]["name"]));
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(namespace).to_owned();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let in_namespace = |prefix: &str, resource: &str| format!("{prefix}/namespaces/{namespace}/{resource}/{name}");
        let own = format!("/apis/{}/{}", names::GROUP, names::VERSION);
        let (path, stored) = match (group, kind.as_str()) {
            (names::GROUP, "ScaledObject") => {
                let scaled = Box::new(decoder.decode(located)?);
                self.check(located, namespace, name, Scalable::Object(scaled));
                return Ok(());
            }
            (names::GROUP, "ScaledJob") => {
                let scaled = Box::new(decoder.decode(located)?);
                self.check(located, namespace, name, Scalable::Job(scaled));
                return Ok(());
            }
            (names::GROUP, "TriggerAuthentication") => {
                (in_namespace(&own, "triggerauthentications"), decoder.decode(located)?)
            }
            (names::GROUP, "ClusterTriggerAuthentication") => {
                (format!("{own}/clustertriggerauthentications/{name}"), decoder.decode(located)?)
            }
            ("", "Secret") => (in_namespace("/api/v1", "secrets"), secret(located)?),
            ("", "ConfigMap") => (in_namespace("/api/v1", "configmaps"), config_map(located)?),
            ("", "ServiceAccount") => (in_namespace("/api/v1", "serviceaccounts"), object.clone()),
            _ if object.pointer("/spec/template/spec").is_some() => {
                let kind = target_kind(&api_version, &kind);
                (in_namespace(&kind.prefix(), &kind.resource), object.clone())
            }
            _ => return Ok(()),
        };
        self.stored.insert(path, stored);
        Ok(())
    }

    fn check(&mut self, located: &LocatedDocument, namespace: String, name: String, scalable: Scalable) {
        let place = located.place(&Default::default());
        self.objects.push(CheckedObject { namespace, name, place, scalable });
    }
}

/// The kind of a target, where no cluster can be asked for its resource: of the files, the same name finds it.
pub(super) fn assumed_kind(reference: &ScaleTargetRef) -> TargetKind {
    let (api_version, kind) = reference.api_version_and_kind();
    target_kind(api_version, kind)
}

fn target_kind(api_version: &str, kind: &str) -> TargetKind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let (group, version) = (group.to_owned(), version.to_owned());
    TargetKind { group, version, kind: kind.to_owned(), resource: resource_of(kind) }
}

fn resource_of(kind: &str) -> String {
    format!("{}s", kind.to_lowercase())
}

/// Stores the templates of jobs, whose containers have the variables of their triggers.
pub(super) fn store_jobs(stored: &mut Stored, objects: &[CheckedObject]) {
    for object in objects {
        let kind = assumed_kind(&object.target());
        let path = format!("{}/namespaces/{}/{}/{}", kind.prefix(), object.namespace, kind.resource, object.name);
        stored.extend(object.job_as_workload().map(|job| (path, job)));
    }
}

/// The Secret as the API server stores it. An error does not quote it.
fn secret(located: &LocatedDocument) -> anyhow::Result<Value> {
    let object = &located.document.object;
    let Ok(mut secret) = Secret::deserialize(object) else {
        let (place, name) = (located.place(&Default::default()), name_of(object));
        bail!(
            "{place}: {name} cannot be read; write each value of data as text in base64, or of stringData as text in quotes"
        );
    };
    let plain = secret.string_data.take().unwrap_or_default();
    let encoded = plain.into_iter().map(|(key, text)| (key, ByteString(text.into_bytes())));
    secret.data.get_or_insert_default().extend(encoded);
    serde_json::to_value(secret).with_context(|| name_of(object))
}

fn config_map(located: &LocatedDocument) -> anyhow::Result<Value> {
    let object = &located.document.object;
    if ConfigMap::deserialize(object).is_err() {
        let (place, name) = (located.place(&Default::default()), name_of(object));
        bail!("{place}: {name} cannot be read; write each value of data as text in quotes");
    }
    Ok(object.clone())
}
