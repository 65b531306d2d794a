//! The Kubernetes API of a playground, and what every cluster has from the start.

use std::sync::Arc;

use kedge_api::crd;
use kedge_plane::serve::Tokens;
use kedge_plane::{ApiError, Call, Gvr, Options, Plane, Verb};
use serde_json::{Value, json};

use crate::virtual_time::VirtualTime;

/// The namespace of the operator.
pub(crate) const OPERATOR_NAMESPACE: &str = "keda";

/// Who the operator is to the API.
pub(crate) const OPERATOR: &str = "system:serviceaccount:keda:keda-operator";

/// Who sets up the cluster, and applies manifests.
pub(crate) const ADMINISTRATOR: &str = "kubernetes-admin";

/// The Service behind the metrics API.
const METRICS_SERVICE: &str = "keda-operator-metrics-apiserver";

/// The host that the API calls for metrics, and for the webhooks.
pub(crate) const METRICS_HOST: &str = "keda-operator-metrics-apiserver.keda.svc";
pub(crate) const WEBHOOKS_HOST: &str = "keda-admission-webhooks.keda.svc";

/// How many changes the log has: more than a slow client falls behind.
const HISTORY: usize = 10_000;

/// An API without anything of Kedge.
pub(crate) fn new(time: Arc<VirtualTime>) -> Plane {
    let tokens = Tokens::default();
    let holders = tokens.clone();
    Plane::new(Options {
        wall: Arc::new(move || time.now()),
        history: HISTORY,
        authenticate: Arc::new(move |token| holders.holder(token)),
        issue: Arc::new(move |user, _| tokens.issue(user)),
        ..Options::default()
    })
}

/// Adds a node, Kedge's CRDs, and the registrations of its metrics API and its webhooks.
pub(crate) async fn furnish(plane: &Plane) -> Result<(), ApiError> {
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "playground" } });
    create(plane, Gvr::new("", "v1", "nodes"), None, node).await?;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": OPERATOR_NAMESPACE } });
    create(plane, Gvr::new("", "v1", "namespaces"), None, namespace).await?;
    for definition in crd::all() {
        let definition = serde_json::to_value(definition).map_err(|error| ApiError::bad_request(error.to_string()))?;
        let definitions = Gvr::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        create(plane, definitions, None, definition).await?;
    }
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": { "name": "v1beta1.external.metrics.k8s.io" },
        "spec": {
            "group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": { "name": METRICS_SERVICE, "namespace": OPERATOR_NAMESPACE }, "insecureSkipTLSVerify": true,
        },
    });
    create(plane, Gvr::new("apiregistration.k8s.io", "v1", "apiservices"), None, service).await?;
    let webhooks = Gvr::new("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations");
    create(plane, webhooks, None, kedge_webhooks::webhook_configuration::configuration()).await
}

/// Creates an object, as the administrator.
pub(crate) async fn create(
    plane: &Plane,
    resource: Gvr,
    namespace: Option<&str>,
    object: Value,
) -> Result<(), ApiError> {
    let namespace = namespace.map(str::to_owned);
    let call = Call { namespace, body: Some(object), ..Call::new(ADMINISTRATOR, Verb::Create, resource) };
    plane.call(call).await.map(drop)
}
