//! `metrics.k8s.io`: the usage of pods, from their annotations. The usage of a container is the value of
//! `kwok.x-k8s.io/usage-cpu.CONTAINER`, or in `kwok.x-k8s.io/usage-cpu` for every container without one; the same for memory.
//! Nothing is scraped, so a changed annotation counts at once.

use std::future::ready;
use std::sync::LazyLock;

use chrono::SecondsFormat;
use http::{Response, Uri};
use kube::client::Body;
use serde_json::{Value, json};

use crate::api::error::ApiError;
use crate::api::resource::{GroupResource, Gvr, service_host};
use crate::api::selector::LabelSelector;
use crate::plane::{Backend, Plane};
use crate::server::http::path::Target;

const GROUP_VERSION: &str = "metrics.k8s.io/v1beta1";

/// The usage of a container without annotations.
const DEFAULTS: [(&str, &str); 2] = [("cpu", "1m"), ("memory", "1Mi")];

static PODS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "pods"));

/// Registers the backend.
pub async fn register(plane: &Plane) -> Result<(), ApiError> {
    let service = json!({ "namespace": "kube-system", "name": "metrics-server", "port": 443 });
    let answering = plane.clone();
    let backend = Backend::new(move |request| ready(Ok(respond(&answering, request.uri()))));
    plane.register_backend(&service_host(&service), backend);
    let spec = json!({
        "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
        "service": service, "insecureSkipTLSVerify": true,
    });
    let api = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": "v1beta1.metrics.k8s.io" }, "spec": spec,
    });
    super::create(plane, Gvr::new("apiregistration.k8s.io", "v1", "apiservices"), None, api).await
}

fn respond(plane: &Plane, uri: &Uri) -> Response<Body> {
    let (code, value) = match answer(plane, uri) {
        Ok(value) => (200, value),
        Err(error) => (error.code, error.status()),
    };
    let answer = Response::builder().status(code).header("content-type", "application/json");
    answer.body(Body::from(value.to_string().into_bytes())).expect("codes are of this crate's making")
}

/// Answers a GET.
fn answer(plane: &Plane, uri: &Uri) -> Result<Value, ApiError> {
    let Some(target) = Target::parse(uri.path()) else { return Ok(resources()) };
    if target.resource.plural != "pods" {
        return Err(ApiError::unknown_path());
    }
    let selector = LabelSelector::parse(&label_selector(uri))?;
    let namespace = target.namespace.as_deref();
    let pods = plane.objects(&PODS, namespace);
    let running = pods.iter().filter(|pod| pod["status"]["phase"] == "Running" && selector.matches(pod));
    let at = plane.now().to_rfc3339_opts(SecondsFormat::Secs, true);
    let mut found = running.map(|pod| usage(pod, &at));
    match target.name {
        None => {
            let items: Vec<Value> = found.collect();
            Ok(json!({ "kind": "PodMetricsList", "apiVersion": GROUP_VERSION, "metadata": {}, "items": items }))
        }
        Some(name) => {
            let missing = || ApiError::not_found(&GroupResource::new("metrics.k8s.io", "pods"), &name);
            let mut usage = found.find(|usage| usage["metadata"]["name"] == name.as_str()).ok_or_else(missing)?;
            usage["kind"] = json!("PodMetrics");
            usage["apiVersion"] = json!(GROUP_VERSION);
            Ok(usage)
        }
    }
}

fn label_selector(uri: &Uri) -> String {
    let query = uri.query().unwrap_or_default().as_bytes();
    let found = form_urlencoded::parse(query).find(|(key, _)| key == "labelSelector");
    found.map(|(_, value)| value.into_owned()).unwrap_or_default()
}

fn resources() -> Value {
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP_VERSION, "resources": [
        { "name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics", "verbs": ["get", "list"] },
    ]})
}

fn usage(pod: &Value, at: &str) -> Value {
    let metadata = &pod["metadata"];
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let containers: Vec<Value> = containers.map(|container| container_usage(metadata, container)).collect();
    json!({
        "metadata": { "name": metadata["name"], "namespace": metadata["namespace"], "labels": metadata["labels"], "creationTimestamp": at },
        "timestamp": at, "window": "10s", "containers": containers,
    })
}

fn container_usage(metadata: &Value, container: &Value) -> Value {
    let name = container["name"].as_str().unwrap_or_default();
    let of = |(resource, default): (&str, &str)| {
        let annotation = |suffix: &str| metadata["annotations"].get(format!("kwok.x-k8s.io/usage-{resource}{suffix}"));
        let said = annotation(&format!(".{name}")).or_else(|| annotation("")).and_then(Value::as_str);
        (resource.to_owned(), json!(said.unwrap_or(default)))
    };
    json!({ "name": name, "usage": Value::Object(DEFAULTS.into_iter().map(of).collect()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_containers_own_annotation_comes_before_that_of_its_pod() {
        let annotations = json!({ "kwok.x-k8s.io/usage-cpu": "20m", "kwok.x-k8s.io/usage-cpu.main": "900m" });
        let rows = [
            ("main", json!({ "annotations": annotations }), json!({ "cpu": "900m", "memory": "1Mi" })),
            ("proxy", json!({ "annotations": annotations }), json!({ "cpu": "20m", "memory": "1Mi" })),
            ("main", json!({}), json!({ "cpu": "1m", "memory": "1Mi" })),
        ];
        for (name, metadata, expected) in rows {
            let used = container_usage(&metadata, &json!({ "name": name }));
            assert_eq!(used, json!({ "name": name, "usage": expected }));
        }
    }
}
