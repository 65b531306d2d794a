//! A real metrics-server beside a cluster: it serves `metrics.k8s.io`, from what kwok says that pods use.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Api, PostParams};
use serde_json::json;

const API: &str = "v1beta1.metrics.k8s.io";

/// Tells the API server that `metrics.k8s.io` is served at this port of the machine.
pub(crate) async fn register(client: &kube::Client, port: u16) -> anyhow::Result<()> {
    let services: Api<Service> = Api::namespaced(client.clone(), "kube-system");
    let service = serde_json::from_value(json!({
        "metadata": { "name": "metrics-server" },
        "spec": { "type": "ExternalName", "externalName": "localhost" },
    }))?;
    services.create(&PostParams::default(), &service).await?;
    let apis: Api<APIService> = Api::all(client.clone());
    let api = serde_json::from_value(json!({
        "metadata": { "name": API },
        "spec": {
            "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": { "namespace": "kube-system", "name": "metrics-server", "port": port },
            // It signs its certificate itself, as it does in most clusters.
            "insecureSkipTLSVerify": true,
        },
    }))?;
    apis.create(&PostParams::default(), &api).await?;
    Ok(())
}

/// Whether the API server reaches it; if not, what it says instead.
pub(crate) async fn is_available(client: &kube::Client) -> Result<(), String> {
    let apis: Api<APIService> = Api::all(client.clone());
    let api = apis.get(API).await.map_err(|error| error.to_string())?;
    let conditions = api.status.and_then(|status| status.conditions).unwrap_or_default();
    match conditions.iter().find(|condition| condition.type_ == "Available") {
        Some(condition) if condition.status == "True" => Ok(()),
        other => Err(format!("{other:?}")),
    }
}
