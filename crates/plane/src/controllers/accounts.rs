//! What every namespace is given: the account `default`, and the authority of the cluster's servers.

use std::convert::Infallible;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::client::{ChangeWaiter, ControllerClient};
use crate::api::error::ApiError;
use crate::api::resource::Gvr;
use crate::plane::Plane;

static NAMESPACES: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "namespaces"));
static ACCOUNTS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "serviceaccounts"));
static CONFIG_MAPS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "configmaps"));

const ROOT_CA: &str = "kube-root-ca.crt";

/// Creates them, and restores them when they are deleted.
#[derive(Debug)]
pub struct Accounts {
    accounts: ControllerClient,
    publisher: ControllerClient,
    /// PEM.
    authority: String,
}

impl Accounts {
    pub fn new(plane: &Plane, authority: &str) -> Self {
        Self {
            accounts: ControllerClient::new(plane, "system:serviceaccount:kube-system:service-account-controller"),
            publisher: ControllerClient::new(plane, "system:serviceaccount:kube-system:root-ca-cert-publisher"),
            authority: authority.to_owned(),
        }
    }

    /// Runs until it is dropped.
    pub async fn run(self) -> Infallible {
        let mut changes = ChangeWaiter::new(&self.accounts.plane, &[&NAMESPACES, &ACCOUNTS, &CONFIG_MAPS]);
        loop {
            changes.wait().await;
            changes.note(self.act().await);
        }
    }

    async fn act(&self) -> Result<(), ApiError> {
        let all = self.accounts.plane.objects(&NAMESPACES, None);
        let staying = all.iter().filter(|namespace| namespace["metadata"]["deletionTimestamp"].is_null());
        for namespace in staying.filter_map(|namespace| namespace["metadata"]["name"].as_str()) {
            let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
            give(&self.accounts, &ACCOUNTS, namespace, "default", &account).await?;
            let data = json!({ "ca.crt": self.authority });
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": ROOT_CA }, "data": data });
            give(&self.publisher, &CONFIG_MAPS, namespace, ROOT_CA, &map).await?;
        }
        Ok(())
    }
}

async fn give(
    client: &ControllerClient,
    resource: &Gvr,
    namespace: &str,
    name: &str,
    object: &Value,
) -> Result<(), ApiError> {
    match client.plane.object(resource, Some(namespace), name) {
        Some(_) => Ok(()),
        None => client.create(resource, namespace, object).await,
    }
}
