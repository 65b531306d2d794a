//! The objects by which the API server trusts servers: the authorities are put into their `caBundle`s.
//!
//! An object is read before the Secret and written with its version: whoever writes has seen a Secret that is at least as new as the
//! bundle it replaces, and a replica that is behind cannot take back what another wrote.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_cluster::{Projection, ResourceQuery};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use rustls::pki_types::CertificateDer;
use serde_json::Value;

use crate::reading;

/// KEDA: the API that its metrics are read through.
pub const EXTERNAL_METRICS: &str = "v1beta1.external.metrics.k8s.io";

/// An object that holds bundles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    ApiService { name: String },
    ValidatingWebhooks { name: String },
}

impl Target {
    pub fn name(&self) -> &str {
        match self {
            Self::ApiService { name } | Self::ValidatingWebhooks { name } => name,
        }
    }

    /// What kind of object it is, in the words of `kubectl`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ApiService { .. } => "APIService",
            Self::ValidatingWebhooks { .. } => "ValidatingWebhookConfiguration",
        }
    }

    fn resource(&self) -> ApiResource {
        let (group, version) = match self {
            Self::ApiService { .. } => ("apiregistration.k8s.io", "v1"),
            Self::ValidatingWebhooks { .. } => ("admissionregistration.k8s.io", "v1"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, self.kind()))
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        Api::all_with(client.clone(), &self.resource())
    }

    /// What to watch for a sign that it changed.
    pub(crate) fn subject(&self) -> ResourceQuery {
        let ApiResource { api_version, plural, .. } = self.resource();
        let field_selector = Some(format!("metadata.name={}", self.name()));
        ResourceQuery {
            path: format!("/apis/{api_version}/{plural}"),
            label_selector: None,
            field_selector,
            projection: Projection::Metadata,
        }
    }

    /// Reads it; nothing if there is none.
    pub(crate) async fn fetch(&self, client: &Client) -> kube::Result<Option<DynamicObject>> {
        self.api(client).get_opt(self.name()).await
    }

    pub(crate) async fn replace(&self, client: &Client, object: &DynamicObject) -> kube::Result<()> {
        self.api(client).replace(self.name(), &PostParams::default(), object).await.map(drop)
    }

    /// The parts that hold a bundle each. KEDA: of webhooks, all entries.
    fn holders<'a>(&self, object: &'a mut Value) -> Vec<&'a mut Value> {
        match self {
            // Kubernetes refuses a bundle where everything is trusted.
            Self::ApiService { .. } => {
                object.get_mut("spec").filter(|spec| spec["insecureSkipTLSVerify"] != true).into_iter().collect()
            }
            Self::ValidatingWebhooks { .. } => {
                let entries = object.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten();
                entries.filter_map(|entry| entry.get_mut("clientConfig")).collect()
            }
        }
    }

    /// The object with these authorities in all its bundles; nothing if they are there already.
    pub(crate) fn with_bundle(&self, object: &DynamicObject, authorities: &[u8]) -> Option<DynamicObject> {
        let mut changed = object.clone();
        let bundle = Value::String(STANDARD.encode(authorities));
        for holder in self.holders(&mut changed.data) {
            holder["caBundle"] = bundle.clone();
        }
        (changed.data != object.data).then_some(changed)
    }

    /// Whether an authority is in all its bundles.
    pub(crate) fn trusts(&self, object: &DynamicObject, authority: &CertificateDer<'_>) -> bool {
        let mut data = object.data.clone();
        self.holders(&mut data).into_iter().all(|holder| {
            let bundle = STANDARD.decode(holder["caBundle"].as_str().unwrap_or_default()).unwrap_or_default();
            reading::certificates(&bundle).unwrap_or_default().contains(authority)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(data: Value) -> DynamicObject {
        serde_json::from_value(data).unwrap()
    }

    #[test]
    fn bundles_are_written_where_they_are_missing_or_different_and_nowhere_else() {
        let service = Target::ApiService { name: "a".to_owned() };
        let hooks = Target::ValidatingWebhooks { name: "w".to_owned() };
        let url = json!({ "url": "https://x", "caBundle": "bmV3" });
        let rows = [
            (
                "none",
                &service,
                json!({ "spec": { "group": "g" } }),
                Some(json!({ "spec": { "group": "g", "caBundle": "bmV3" } })),
            ),
            (
                "another",
                &service,
                json!({ "spec": { "caBundle": "b2xk" } }),
                Some(json!({ "spec": { "caBundle": "bmV3" } })),
            ),
            ("the same", &service, json!({ "spec": { "caBundle": "bmV3" } }), None),
            ("everything is trusted", &service, json!({ "spec": { "insecureSkipTLSVerify": true } }), None),
            ("no entries", &hooks, json!({}), None),
            (
                "one entry of two",
                &hooks,
                json!({ "webhooks": [{ "clientConfig": { "url": "https://x" } }, { "clientConfig": url }] }),
                Some(json!({ "webhooks": [{ "clientConfig": url }, { "clientConfig": url }] })),
            ),
        ];
        for (name, target, before, after) in rows {
            let before = json!({ "metadata": { "name": "x" } }).as_object().cloned().map(|mut all| {
                all.extend(before.as_object().cloned().unwrap_or_default());
                Value::Object(all)
            });
            let seen = target.with_bundle(&object(before.unwrap()), b"new").map(|object| object.data);
            assert_eq!(seen, after, "{name}");
        }
    }

    #[test]
    fn objects_are_watched_one_by_one() {
        let subject = Target::ApiService { name: EXTERNAL_METRICS.to_owned() }.subject();
        assert_eq!(subject.path, "/apis/apiregistration.k8s.io/v1/apiservices");
        assert_eq!(subject.field_selector.as_deref(), Some("metadata.name=v1beta1.external.metrics.k8s.io"));
        let subject = Target::ValidatingWebhooks { name: "w".to_owned() }.subject();
        assert_eq!(subject.path, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations");
    }
}
