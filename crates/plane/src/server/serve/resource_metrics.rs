//! `metrics.k8s.io`: the usage of pods and nodes, as the owner of the plane has it. Nothing is scraped, so that a change counts at once.

use std::future::ready;
use std::sync::{Arc, LazyLock};

use chrono::SecondsFormat;
use http::{Response, Uri};
use kedge_core::quantity::Quantity;
use kube::client::Body;
use serde_json::{Value, json};

use crate::api::error::ApiError;
use crate::api::resource::{GroupResource, Gvr, service_host};
use crate::api::selector::LabelSelector;
use crate::plane::{Backend, Plane};
use crate::server::http::path::Target;

const GROUP_VERSION: &str = "metrics.k8s.io/v1beta1";

/// The time over which the usage is said to be taken.
const WINDOW: &str = "10s";

static PODS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "pods"));
static NODES: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "nodes"));

/// What a container uses, as quantities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUsage {
    pub cpu: String,
    pub memory: String,
}

/// The usage of a container of a pod; without one, the pod has no metrics yet.
type UsageOf = dyn Fn(&Value, &Value) -> Option<ContainerUsage> + Send + Sync;

/// The usage by annotations of the pod: `kwok.x-k8s.io/usage-cpu.CONTAINER`, or `kwok.x-k8s.io/usage-cpu` for every container without one;
/// the same for memory.
pub fn annotated_usage(pod: &Value, container: &Value) -> ContainerUsage {
    let name = container["name"].as_str().unwrap_or_default();
    let of = |resource: &str, default: &str| {
        let annotation =
            |suffix: &str| pod["metadata"]["annotations"].get(format!("kwok.x-k8s.io/usage-{resource}{suffix}"));
        let said = annotation(&format!(".{name}")).or_else(|| annotation("")).and_then(Value::as_str);
        said.unwrap_or(default).to_owned()
    };
    ContainerUsage { cpu: of("cpu", "1m"), memory: of("memory", "1Mi") }
}

/// Registers the backend.
pub async fn register(
    plane: &Plane,
    usage_of: impl Fn(&Value, &Value) -> Option<ContainerUsage> + Send + Sync + 'static,
) -> Result<(), ApiError> {
    let service = json!({ "namespace": "kube-system", "name": "metrics-server", "port": 443 });
    let answering = plane.clone();
    let backend = Backend::new(move |request| ready(Ok(respond(&answering, &usage_of, request.uri()))));
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

fn respond(plane: &Plane, usage_of: &UsageOf, uri: &Uri) -> Response<Body> {
    let (code, value) = match answer(plane, usage_of, uri) {
        Ok(value) => (200, value),
        Err(error) => (error.code, error.status()),
    };
    let answer = Response::builder().status(code).header("content-type", "application/json");
    answer.body(Body::from(value.to_string().into_bytes())).expect("codes are of this crate's making")
}

/// Answers a GET.
fn answer(plane: &Plane, usage_of: &UsageOf, uri: &Uri) -> Result<Value, ApiError> {
    let Some(target) = Target::parse(uri.path()) else { return Ok(resources()) };
    let selector = LabelSelector::parse(&label_selector(uri))?;
    let at = plane.now().to_rfc3339_opts(SecondsFormat::Secs, true);
    let is_wanted = |object: &Value| {
        selector.matches(object) && target.name.as_ref().is_none_or(|name| object["metadata"]["name"] == name.as_str())
    };
    let (kind, mut items): (&str, Vec<Value>) = match target.resource.plural.as_str() {
        "pods" => {
            let pods = plane.objects(&PODS, target.namespace.as_deref());
            let running = pods.iter().filter(|pod| is_running(pod) && is_wanted(pod));
            ("PodMetrics", running.filter_map(|pod| pod_usage(pod, usage_of, &at)).collect())
        }
        "nodes" => {
            let (nodes, pods) = (plane.objects(&NODES, None), plane.objects(&PODS, None));
            let wanted = nodes.iter().filter(|node| is_wanted(node));
            ("NodeMetrics", wanted.map(|node| node_usage(node, &pods, usage_of, &at)).collect())
        }
        _ => return Err(ApiError::unknown_path()),
    };
    let Some(name) = &target.name else {
        return Ok(
            json!({ "kind": format!("{kind}List"), "apiVersion": GROUP_VERSION, "metadata": {}, "items": items }),
        );
    };
    let missing = || ApiError::not_found(&GroupResource::new("metrics.k8s.io", &target.resource.plural), name);
    let mut found = items.pop().ok_or_else(missing)?;
    found["kind"] = json!(kind);
    found["apiVersion"] = json!(GROUP_VERSION);
    Ok(found)
}

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running"
}

fn label_selector(uri: &Uri) -> String {
    let query = uri.query().unwrap_or_default().as_bytes();
    let found = form_urlencoded::parse(query).find(|(key, _)| key == "labelSelector");
    found.map(|(_, value)| value.into_owned()).unwrap_or_default()
}

fn resources() -> Value {
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP_VERSION, "resources": [
        { "name": "nodes", "singularName": "", "namespaced": false, "kind": "NodeMetrics", "verbs": ["get", "list"] },
        { "name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics", "verbs": ["get", "list"] },
    ]})
}

/// None unless all containers have a usage.
fn pod_usage(pod: &Value, usage_of: &UsageOf, at: &str) -> Option<Value> {
    let metadata = &pod["metadata"];
    let container = |container: &Value| {
        let ContainerUsage { cpu, memory } = usage_of(pod, container)?;
        Some(json!({ "name": container["name"], "usage": { "cpu": cpu, "memory": memory } }))
    };
    let containers: Option<Vec<Value>> = pod["spec"]["containers"].as_array()?.iter().map(container).collect();
    Some(json!({
        "metadata": { "name": metadata["name"], "namespace": metadata["namespace"], "labels": metadata["labels"], "creationTimestamp": at },
        "timestamp": at, "window": WINDOW, "containers": containers?,
    }))
}

/// What the pods of a node use.
fn node_usage(node: &Value, pods: &[Arc<Value>], usage_of: &UsageOf, at: &str) -> Value {
    let metadata = &node["metadata"];
    let here = pods.iter().filter(|pod| is_running(pod) && pod["spec"]["nodeName"] == metadata["name"]);
    let (mut cpu_nano, mut memory_bytes) = (0, 0);
    for pod in here {
        let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
        for usage in containers.filter_map(|container| usage_of(pod, container)) {
            let milli = |quantity: &str| Quantity::parse(quantity).map_or(0, |quantity| quantity.milli_value());
            cpu_nano += milli(&usage.cpu) * 1_000_000;
            memory_bytes += milli(&usage.memory) / 1000;
        }
    }
    json!({
        "metadata": { "name": metadata["name"], "labels": metadata["labels"], "creationTimestamp": at },
        "timestamp": at, "window": WINDOW, "usage": { "cpu": format!("{cpu_nano}n"), "memory": memory_bytes.to_string() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_containers_own_annotation_comes_before_that_of_its_pod() {
        let annotations = json!({ "kwok.x-k8s.io/usage-cpu": "20m", "kwok.x-k8s.io/usage-cpu.main": "900m" });
        let rows = [
            ("main", json!({ "annotations": annotations }), "900m"),
            ("proxy", json!({ "annotations": annotations }), "20m"),
            ("main", json!({}), "1m"),
        ];
        for (name, metadata, cpu) in rows {
            let used = annotated_usage(&json!({ "metadata": metadata }), &json!({ "name": name }));
            assert_eq!(used, ContainerUsage { cpu: cpu.to_owned(), memory: "1Mi".to_owned() });
        }
    }

    #[test]
    fn a_node_uses_what_its_running_pods_use() {
        let pod = |node: &str, phase: &str, cpu: &str| {
            Arc::new(json!({
                "metadata": { "annotations": { "kwok.x-k8s.io/usage-cpu": cpu } }, "status": { "phase": phase },
                "spec": { "nodeName": node, "containers": [{ "name": "a" }, { "name": "b" }] },
            }))
        };
        let pods = [pod("one", "Running", "100m"), pod("one", "Pending", "1"), pod("two", "Running", "1")];
        let usage_of = |pod: &Value, container: &Value| Some(annotated_usage(pod, container));
        let used = node_usage(&json!({ "metadata": { "name": "one" } }), &pods, &usage_of, "now");
        assert_eq!(used["usage"], json!({ "cpu": "200000000n", "memory": "2097152" }));
        assert_eq!(pod_usage(&pods[0], &|_, _| None, "now"), None, "not scraped yet");
    }
}
