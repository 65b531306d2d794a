//! The ConfigMap by which aggregated API servers verify the front proxy, as the API server
//! publishes it.

use serde_json::json;

use crate::api::error::ApiError;
use crate::api::resource::Gvr;
use crate::plane::Plane;

/// What is published.
#[derive(Clone, Debug)]
pub struct Published {
    /// The CA of client certificates, PEM.
    pub client_authority: String,
    /// The CA of the front-proxy certificate, PEM.
    pub front_proxy_authority: String,
    /// The common name on that certificate.
    pub front_proxy_name: String,
}

/// Publishes it.
pub async fn publish(plane: &Plane, published: &Published) -> Result<(), ApiError> {
    let list = |text: &str| json!([text]).to_string();
    let data = json!({
        "client-ca-file": published.client_authority,
        "requestheader-client-ca-file": published.front_proxy_authority,
        "requestheader-allowed-names": list(&published.front_proxy_name),
        "requestheader-username-headers": list("X-Remote-User"),
        "requestheader-group-headers": list("X-Remote-Group"),
        "requestheader-extra-headers-prefix": list("X-Remote-Extra-"),
        "requestheader-uid-headers": list("X-Remote-Uid"),
    });
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": { "name": "extension-apiserver-authentication", "namespace": "kube-system" },
    });
    super::create(plane, Gvr::new("", "v1", "configmaps"), Some("kube-system"), map).await
}
