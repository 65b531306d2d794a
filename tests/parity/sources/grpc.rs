//! An external scaler. `scalerMetadata.source`, or else the value of `sourceFromEnv`, is the name of the source.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use kedge_proto::externalscaler::external_scaler_server::{ExternalScaler, ExternalScalerServer};
use kedge_proto::externalscaler::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use super::{Source, Table};

/// How often a stream checks whether its source has changed.
const PAUSE: Duration = Duration::from_millis(500);

/// Serves until it is aborted.
pub(super) async fn serve(listener: TcpListener, table: Table) {
    let served =
        Server::builder().serve_with_incoming(ExternalScalerServer::new(Scaler(table)), TcpIncoming::from(listener));
    served.await.expect("a listener that is open");
}

struct Scaler(Table);

impl Scaler {
    /// Records a request, and returns its source, unless this method fails there.
    fn source(&self, about: &ScaledObjectRef, method: &str) -> Result<Source, Status> {
        let metadata = &about.scaler_metadata;
        let request = json!({ "name": about.name, "namespace": about.namespace, "scalerMetadata": metadata });
        let source = self.0.record_request(&about.namespace, source_name(about), request);
        unless_failing(source.unwrap_or_default(), method)
    }

    /// The activity that a stream reports.
    fn activity(&self, about: &ScaledObjectRef) -> Result<bool, Status> {
        let source = self.0.source(&about.namespace, source_name(about));
        unless_failing(source.unwrap_or_default(), "StreamIsActive").map(|source| source.active)
    }
}

fn source_name(about: &ScaledObjectRef) -> &str {
    let metadata = &about.scaler_metadata;
    metadata.get("source").or_else(|| metadata.get("sourceFromEnv")).map_or("", String::as_str)
}

fn unless_failing(source: Source, method: &str) -> Result<Source, Status> {
    match source.fail.get(method) {
        Some(message) => Err(Status::unknown(message)),
        None => Ok(source),
    }
}

#[tonic::async_trait]
impl ExternalScaler for Scaler {
    type StreamIsActiveStream = BoxStream<'static, Result<IsActiveResponse, Status>>;
    type StreamMetricSpecStream = BoxStream<'static, Result<GetMetricSpecResponse, Status>>;

    async fn is_active(&self, request: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        let source = self.source(request.get_ref(), "IsActive")?;
        Ok(Response::new(IsActiveResponse { result: source.active }))
    }

    async fn stream_is_active(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamIsActiveStream>, Status> {
        let (scaler, about) = (Self(self.0.clone()), request.into_inner());
        // A method that fails does so in the stream, as it would later.
        drop(self.source(&about, "StreamIsActive"));
        let changes = stream::unfold((scaler, about, None), async |(scaler, about, sent)| {
            loop {
                let now = scaler.activity(&about);
                if now.as_ref().ok() != sent.as_ref() || now.is_err() {
                    let sent = now.as_ref().ok().copied();
                    return Some((now.map(|result| IsActiveResponse { result }), (scaler, about, sent)));
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        Ok(Response::new(changes.boxed()))
    }

    async fn get_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<GetMetricSpecResponse>, Status> {
        let source = self.source(request.get_ref(), "GetMetricSpec")?;
        Ok(Response::new(GetMetricSpecResponse { metric_specs: source.specs.iter().map(spec).collect() }))
    }

    async fn get_metrics(&self, request: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        let request = request.into_inner();
        let source = self.source(&request.scaled_object_ref.unwrap_or_default(), "GetMetrics")?;
        let values = source.values.iter().filter(|value| value["metricName"] == request.metric_name).map(value);
        Ok(Response::new(GetMetricsResponse { metric_values: values.collect() }))
    }

    async fn stream_metric_spec(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamMetricSpecStream>, Status> {
        Err(Status::unimplemented("no stream of specs here"))
    }
}

fn spec(written: &Value) -> MetricSpec {
    MetricSpec {
        metric_name: written["metricName"].as_str().unwrap_or_default().to_owned(),
        target_size: written["targetSize"].as_i64().unwrap_or_default(),
        target_size_float: written["targetSizeFloat"].as_f64().unwrap_or_default(),
    }
}

fn value(written: &Value) -> MetricValue {
    MetricValue {
        metric_name: written["metricName"].as_str().unwrap_or_default().to_owned(),
        metric_value: written["metricValue"].as_i64().unwrap_or_default(),
        metric_value_float: written["metricValueFloat"].as_f64().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use kedge_proto::externalscaler::external_scaler_client::ExternalScalerClient;

    use super::*;
    use crate::sources::Sources;

    fn about(source: &str) -> ScaledObjectRef {
        let metadata = [("source".to_owned(), source.to_owned())];
        ScaledObjectRef { name: "so".into(), namespace: "n".into(), scaler_metadata: metadata.into() }
    }

    #[tokio::test]
    async fn a_source_responds_as_the_case_sets() {
        let sources = Sources::start().await.unwrap();
        let set = json!({ "a": {
            "active": true, "specs": [{ "metricName": "jobs", "targetSize": 10 }],
            "values": [{ "metricName": "jobs", "metricValue": 35 }, { "metricName": "bytes", "metricValue": 1 }],
            "fail": { "StreamIsActive": "not today" },
        }});
        sources.set("n", &serde_json::from_value(set).unwrap());
        let mut client = ExternalScalerClient::connect(format!("http://{}", sources.grpc)).await.unwrap();

        assert!(client.is_active(about("a")).await.unwrap().into_inner().result);
        assert!(!client.is_active(about("absent")).await.unwrap().into_inner().result);
        let specs = client.get_metric_spec(about("a")).await.unwrap().into_inner().metric_specs;
        assert_eq!(
            specs.iter().map(|spec| (spec.metric_name.as_str(), spec.target_size)).collect::<Vec<_>>(),
            [("jobs", 10)]
        );
        let request = GetMetricsRequest { scaled_object_ref: Some(about("a")), metric_name: "jobs".into() };
        let values = client.get_metrics(request).await.unwrap().into_inner().metric_values;
        assert_eq!(values.iter().map(|value| value.metric_value).collect::<Vec<_>>(), [35]);
        let mut changes = client.stream_is_active(about("a")).await.unwrap().into_inner();
        assert_eq!(changes.message().await.unwrap_err().message(), "not today");
        let expected = json!({ "name": "so", "namespace": "n", "scalerMetadata": { "source": "a" } });
        assert_eq!(sources.last_requests("n")["a"], expected);
    }
}
