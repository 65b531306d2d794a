//! The objects whose `caBundle` makes the API server trust our servers.
//!
//! An object is read before the Secret and replaced with its version: the writer has read a Secret at least as new as the bundle it
//! replaces, and a replica that is behind cannot undo what another wrote.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_cluster::{Projection, ResourceQuery};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use rustls::pki_types::CertificateDer;
use serde_json::Value;

use crate::parse;

/// KEDA: the APIService of its metrics.
pub const EXTERNAL_METRICS: &str = "v1beta1.external.metrics.k8s.io";

/// An object that holds a CA bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaBundleTarget {
    ApiService { name: String },
    ValidatingWebhooks { name: String },
}

impl CaBundleTarget {
    pub fn name(&self) -> &str {
        match self {
            Self::ApiService { name } | Self::ValidatingWebhooks { name } => name,
        }
    }

    /// The kind of the object.
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

    /// The query that watches it, by metadata alone.
    pub(crate) fn query(&self) -> ResourceQuery {
        let ApiResource { api_version, plural, .. } = self.resource();
        let field_selector = Some(format!("metadata.name={}", self.name()));
        ResourceQuery {
            path: format!("/apis/{api_version}/{plural}"),
            label_selector: None,
            field_selector,
            projection: Projection::Metadata,
        }
    }

    /// Fetches the object; none if it does not exist.
    pub(crate) async fn fetch(&self, client: &Client) -> kube::Result<Option<DynamicObject>> {
        self.api(client).get_opt(self.name()).await
    }

    pub(crate) async fn replace(&self, client: &Client, object: &DynamicObject) -> kube::Result<()> {
        self.api(client).replace(self.name(), &PostParams::default(), object).await.map(drop)
    }

    /// The parts that hold a bundle. KEDA: all entries of a webhook configuration.
    fn holders<'a>(&self, object: &'a mut Value) -> Vec<&'a mut Value> {
        match self {
            // Kubernetes rejects a CA bundle beside insecureSkipTLSVerify.
            Self::ApiService { .. } => {
                object.get_mut("spec").filter(|spec| spec["insecureSkipTLSVerify"] != true).into_iter().collect()
            }
            Self::ValidatingWebhooks { .. } => {
                let entries = object.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten();
                entries.filter_map(|entry| entry.get_mut("clientConfig")).collect()
            }
        }
    }

    /// The object with this CA bundle everywhere; none if nothing changes.
    pub(crate) fn with_bundle(&self, object: &DynamicObject, ca_bundle: &[u8]) -> Option<DynamicObject> {
        let mut changed = object.clone();
        let bundle = Value::String(STANDARD.encode(ca_bundle));
        for holder in self.holders(&mut changed.data) {
            holder["caBundle"] = bundle.clone();
        }
        (changed.data != object.data).then_some(changed)
    }

    /// Whether all its bundles hold a CA certificate.
    pub(crate) fn trusts(&self, object: &DynamicObject, ca: &CertificateDer<'_>) -> bool {
        let mut data = object.data.clone();
        self.holders(&mut data).into_iter().all(|holder| {
            let bundle = STANDARD.decode(holder["caBundle"].as_str().unwrap_or_default()).unwrap_or_default();
            parse::certificates(&bundle).unwrap_or_default().contains(ca)
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
    fn only_missing_or_different_bundles_are_written() {
        let service = CaBundleTarget::ApiService { name: "a".to_owned() };
        let hooks = CaBundleTarget::ValidatingWebhooks { name: "w".to_owned() };
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
    fn each_object_has_a_watch_of_its_own() {
        let query = CaBundleTarget::ApiService { name: EXTERNAL_METRICS.to_owned() }.query();
        assert_eq!(query.path, "/apis/apiregistration.k8s.io/v1/apiservices");
        assert_eq!(query.field_selector.as_deref(), Some("metadata.name=v1beta1.external.metrics.k8s.io"));
        let query = CaBundleTarget::ValidatingWebhooks { name: "w".to_owned() }.query();
        assert_eq!(query.path, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations");
    }
}
