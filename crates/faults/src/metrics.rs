//! The external metrics API, as the HPA controller asks it: answered by the operator's board, without a socket.

use std::sync::Arc;

use http::{Request, Response, StatusCode, Uri};
use kedge_metrics_api::{MetricError, MetricRequest, MetricSource, MetricValue};
use kedge_operator::BoardSource;
use kedge_plane::Backend;
use kube::client::Body;
use serde_json::{Value, json};

/// What answers requests of the group, given who is there to answer.
pub fn backend(board: impl Fn() -> Option<Arc<BoardSource>> + Send + Sync + 'static) -> Backend {
    Backend::new(move |request: Request<Body>| {
        let (board, uri) = (board(), request.uri().clone());
        async move {
            let board = board.ok_or_else(|| "nobody is there".to_owned())?;
            Ok(answer(&board, uri).await)
        }
    })
}

async fn answer(board: &BoardSource, uri: Uri) -> Response<Body> {
    let parts: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
    let [_, _, _, "namespaces", namespace, metric] = parts.as_slice() else {
        return with(404, &json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404 }));
    };
    let query = uri.query().unwrap_or_default();
    let selector = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "labelSelector");
    let selector = selector.map_or(String::new(), |(_, selector)| selector.into_owned());
    let scaled_object = selector.rsplit_once('=').map_or("", |(_, name)| name);
    match board.read(MetricRequest { namespace, scaled_object, metric }).await {
        Ok(values) => with(200, &list(&values)),
        Err(error) => with(500, &failure(&error)),
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

fn with(status: u16, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}
