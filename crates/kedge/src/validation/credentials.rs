//! The parameters that TriggerAuthentications give, where they and everything that they refer to are in the same files.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kedge_api::TriggerAuthentication;
use kedge_api::authentication::{PodIdentity, TargetRef, TriggerAuthenticationSpec};
use kedge_api::trigger::{AuthenticationKind, Trigger};
use kedge_scalers::AuthParams;
use serde::Deserialize;
use serde_json::Value;

/// By namespace and name.
type Named<T> = BTreeMap<(String, String), T>;

/// The values of a Secret or ConfigMap; none where they cannot be known before they are deployed.
type Values = Option<BTreeMap<String, String>>;

#[derive(Default)]
pub(super) struct KnownCredentials {
    authentications: Named<TriggerAuthenticationSpec>,
    secrets: Named<Values>,
    config_maps: Named<Values>,
}

// Without the values.
impl std::fmt::Debug for KnownCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownCredentials").finish_non_exhaustive()
    }
}

impl KnownCredentials {
    pub(super) fn add(&mut self, object: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = (text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]));
        match (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str().unwrap_or_default()) {
            ("keda.sh/v1alpha1", "TriggerAuthentication") => {
                if let Ok(found) = TriggerAuthentication::deserialize(object) {
                    self.authentications.insert(name, found.spec);
                }
            }
            ("v1", "Secret") => drop(self.secrets.insert(name, secret_values(object))),
            ("v1", "ConfigMap") => drop(self.config_maps.insert(name, config_map_values(object))),
            _ => {}
        }
    }

    /// What a trigger gets from its authentication, if the files determine that.
    pub(super) fn of(&self, namespace: &str, trigger: &Trigger) -> Option<(AuthParams, Option<&PodIdentity>)> {
        let reference = trigger.authentication_ref.as_ref()?;
        // The Secrets of a ClusterTriggerAuthentication are in the namespace of the operator.
        if reference.kind == Some(AuthenticationKind::ClusterTriggerAuthentication) {
            return None;
        }
        let spec = self.authentications.get(&(namespace.to_owned(), reference.name.clone()))?;
        if !is_determined_by_files(spec) {
            return None;
        }
        let mut params = BTreeMap::new();
        // A later source wins.
        for (refs, objects) in
            [(&spec.config_map_target_ref, &self.config_maps), (&spec.secret_target_ref, &self.secrets)]
        {
            for TargetRef { parameter, name, key } in refs.iter().flatten() {
                let values = objects.get(&(namespace.to_owned(), name.clone()))?.as_ref()?;
                params.extend(values.get(key).map(|value| (parameter.clone(), value.clone())));
            }
        }
        Some((params.into_iter().collect(), spec.pod_identity.as_ref()))
    }
}

/// Whether all parameters come from Secrets and ConfigMaps.
fn is_determined_by_files(spec: &TriggerAuthenticationSpec) -> bool {
    let sources = TriggerAuthenticationSpec {
        pod_identity: None,
        secret_target_ref: None,
        config_map_target_ref: None,
        ..spec.clone()
    };
    sources == TriggerAuthenticationSpec::default()
}

fn secret_values(object: &Value) -> Values {
    let decoded = |text: &Value| String::from_utf8(STANDARD.decode(text.as_str()?).ok()?).ok();
    let mut values = BTreeMap::new();
    for (key, value) in object["data"].as_object().into_iter().flatten() {
        values.insert(key.clone(), decoded(value)?);
    }
    let secret = Secret::deserialize(&serde_json::json!({ "stringData": object["stringData"] })).ok()?;
    values.extend(secret.string_data.unwrap_or_default());
    without_placeholders(values)
}

fn config_map_values(object: &Value) -> Values {
    let map = ConfigMap::deserialize(object).ok()?;
    without_placeholders(map.data.unwrap_or_default())
}

/// A value such as `${PASSWORD}` is replaced before it is deployed.
fn without_placeholders(values: BTreeMap<String, String>) -> Values {
    let is_placeholder = |value: &String| value.contains("${") || value.contains("{{");
    (!values.values().any(is_placeholder)).then_some(values)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known(objects: &[Value]) -> KnownCredentials {
        let mut known = KnownCredentials::default();
        objects.iter().for_each(|object| known.add(object));
        known
    }

    fn trigger(kind: &str) -> Trigger {
        let reference = json!({ "name": "auth", "kind": kind });
        serde_json::from_value(json!({ "type": "prometheus", "metadata": {}, "authenticationRef": reference })).unwrap()
    }

    fn auth(spec: Value) -> Value {
        let metadata = json!({ "name": "auth", "namespace": "shop" });
        json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": metadata, "spec": spec })
    }

    fn of_kind(kind: &str, content: Value) -> Value {
        let mut object =
            json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": "creds", "namespace": "shop" } });
        object.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        object
    }

    fn refs(key: &str) -> Value {
        json!([{ "parameter": "password", "name": "creds", "key": key }])
    }

    #[test]
    fn values_come_from_the_secrets_and_config_maps_of_the_files() {
        let secret = of_kind("Secret", json!({ "data": { "a": "b25l" }, "stringData": { "b": "two" } }));
        let map = of_kind("ConfigMap", json!({ "data": { "a": "three" } }));
        let rows = [
            ("data", json!({ "secretTargetRef": refs("a") }), Some(Some("one"))),
            ("stringData", json!({ "secretTargetRef": refs("b") }), Some(Some("two"))),
            ("a map", json!({ "configMapTargetRef": refs("a") }), Some(Some("three"))),
            ("both", json!({ "configMapTargetRef": refs("a"), "secretTargetRef": refs("b") }), Some(Some("two"))),
            ("no such key", json!({ "secretTargetRef": refs("c") }), Some(None)),
            (
                "another source too",
                json!({ "secretTargetRef": refs("a"), "env": [{ "parameter": "p", "name": "N" }] }),
                None,
            ),
        ];
        for (name, spec, expected) in rows {
            let known = known(&[auth(spec), secret.clone(), map.clone()]);
            let found = known.of("shop", &trigger("TriggerAuthentication"));
            let found = found.map(|(params, _)| params.get("password").map(|value| value.reveal().to_owned()));
            assert_eq!(found, expected.map(|value: Option<&str>| value.map(str::to_owned)), "{name}");
        }
    }

    #[test]
    fn what_is_known_only_in_the_cluster_is_not_assumed() {
        let spec = || auth(json!({ "secretTargetRef": refs("a") }));
        let secret = |text: &str| of_kind("Secret", json!({ "stringData": { "a": text } }));
        let here = trigger("TriggerAuthentication");
        assert!(known(&[spec(), secret("x")]).of("shop", &here).is_some());
        assert!(known(&[spec(), secret("x")]).of("other", &here).is_none(), "of another namespace");
        assert!(known(&[spec(), secret("x")]).of("shop", &trigger("ClusterTriggerAuthentication")).is_none());
        assert!(known(&[spec()]).of("shop", &here).is_none(), "without the Secret");
        assert!(known(&[spec(), secret("${PASSWORD}")]).of("shop", &here).is_none(), "a placeholder");
        let sealed = of_kind("Secret", json!({ "data": { "a": "ENC[AES256]" } }));
        assert!(known(&[spec(), sealed]).of("shop", &here).is_none(), "encrypted");
    }
}
