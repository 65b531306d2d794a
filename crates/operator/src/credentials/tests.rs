//! Credentials with a small API server: [`sources`] one by one, [`freshness`] after changes, the writes to
//! [`authentication_objects`], and [`vault`].

mod authentication_objects;
mod freshness;
mod sources;
mod vault;

use std::sync::Arc;

use kedge_api::ScaledObject;
use kedge_core::credentials::token_policy::AudienceEntry;
use kedge_core::outbound_policy::OutboundPolicy;
use kedge_scalers::{Connector, Registry};
use serde_json::{Value, json};

use super::*;
use crate::test_cluster::TestCluster;
use crate::work_queue::WorkQueue;
use kedge_cluster::ObjectKey;
use kedge_cluster::Scope;
use kedge_cluster::target::ScaleTarget;

pub(super) const SECRETS: &str = "/api/v1/namespaces/shop/secrets";
pub(super) const MAPS: &str = "/api/v1/namespaces/shop/configmaps";
pub(super) const ACCOUNTS: &str = "/api/v1/namespaces/shop/serviceaccounts";
pub(super) const AUTHS: &str = "/apis/keda.sh/v1alpha1/namespaces/shop/triggerauthentications";
pub(super) const CLUSTER_AUTHS: &str = "/apis/keda.sh/v1alpha1/clustertriggerauthentications";
pub(super) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";

/// A Secret with one key, `token`. The values are those of the tests: short texts.
pub(super) fn secret(value: &str) -> Value {
    json!({ "data": { "token": k8s_openapi::ByteString(value.as_bytes().to_vec()) } })
}

pub(super) fn auth(spec: Value) -> Value {
    json!({ "spec": spec })
}

/// `bearerToken` from the key `token` of a Secret.
pub(super) fn from_secret(name: &str) -> Value {
    auth(json!({ "secretTargetRef": [{ "parameter": "bearerToken", "name": name, "key": "token" }] }))
}

/// A trigger with metadata and, unless it is null, a reference.
pub(super) fn object(metadata: Value, reference: Value) -> ScaledObject {
    let mut trigger = json!({ "type": "prometheus", "metadata": metadata });
    if !reference.is_null() {
        trigger["authenticationRef"] = reference;
    }
    serde_json::from_value(json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": { "name": "web", "namespace": "shop", "generation": 1, "uid": "so", "resourceVersion": "1" },
        "spec": { "scaleTargetRef": { "name": "web" }, "triggers": [trigger] },
    }))
    .unwrap()
}

pub(super) fn target() -> ScaleTarget {
    crate::test_cluster::deployment("shop", "web")
}

/// A policy that lists one account of `shop` with an audience.
pub(super) fn policy_for(audience: &str, account: &str) -> TokenPolicy {
    let entry = AudienceEntry {
        audience: audience.to_owned(),
        namespace: Some("shop".to_owned()),
        service_account_name: Some(account.to_owned()),
    };
    TokenPolicy::EnforceAudience(vec![entry])
}

pub(super) fn credentials(cluster: &TestCluster, settings: Settings) -> (Credentials, Arc<WorkQueue<ObjectKey>>) {
    credentials_within(cluster, settings, OutboundPolicy::default())
}

pub(super) fn credentials_within(
    cluster: &TestCluster,
    settings: Settings,
    outbound_policy: OutboundPolicy,
) -> (Credentials, Arc<WorkQueue<ObjectKey>>) {
    let queue = Arc::new(WorkQueue::new());
    let references = References::start(cluster.client(), queue.clone(), &[Scope::Cluster]);
    let scalers = kedge_scalers::Settings { outbound_policy: Arc::new(outbound_policy), ..Default::default() };
    let exchange = Registry::new(scalers, Connector::tcp(), Arc::new(kedge_scalers::NoCluster)).exchange();
    (Credentials::new(cluster.client(), settings, references, exchange), queue)
}
