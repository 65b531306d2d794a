//! The external metrics API for the HPA controller: serves the operator's readings, without a socket.

use std::sync::Arc;

use http::{Request, Response, StatusCode, Uri};
use kedge_metrics_api::{MetricError, MetricRequest, MetricSource, MetricValue};
use kedge_operator::ReadingsSource;
use kedge_plane::Backend;
use kube::client::Body;
use serde_json::{Value, json};

/// The backend of the API group.
pub fn backend(readings: impl Fn() -> Option<Arc<ReadingsSource>> + Send + Sync + 'static) -> Backend {
    Backend::new(move |request: Request<Body>| {
        let (readings, uri) = (readings(), request.uri().clone());
        async move {
            let readings = readings.ok_or_else(|| "no replica runs".to_owned())?;
            Ok(respond(&readings, uri).await)
        }
    })
}

async fn respond(readings: &ReadingsSource, uri: Uri) -> Response<Body> {
    let parts: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
    let [_, _, _, "namespaces", namespace, metric] = parts.as_slice() else {
        return response(404, &json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404 }));
    };
    let query = uri.query().unwrap_or_default();
    let selector = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "labelSelector");
    let selector = selector.map_or(String::new(), |(_, selector)| selector.into_owned());
    let scaled_object = selector.rsplit_once('=').map_or("", |(_, name)| name);
    match readings.read(MetricRequest { namespace, scaled_object, metric }).await {
        Ok(values) => response(200, &list(&values)),
        Err(error) => response(500, &failure(&error)),
    }
}

fn list(values: &[MetricValue]) -> Value {
    let item = |value: &MetricValue| json!({ "metricName": value.name, "metricLabels": null, "timestamp": value.at.to_rfc3339(), "value": value.value });
    let items: Vec<Value> = values.iter().map(item).collect();
    json!({ "kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": {}, "items": items })
}

fn failure(error: &MetricError) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": error.to_string(), "code": 500 })
}

fn response(status: u16, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}
