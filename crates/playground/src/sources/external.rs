//! An external scaler that stands in for those of all triggers that name its address. Each object has a value of its own.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use futures::stream::{self, StreamExt};
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use kedge_proto::externalscaler::external_scaler_server::{ExternalScaler, ExternalScalerServer};
use kedge_proto::externalscaler::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};
use tonic::{Request, Response, Status};

use kedge_scalers::http::connector::BoxStream;

use super::{Answer, answer};
use crate::dials::{Dials, SCALER_TARGET, scaler_id, scaler_target};

/// Its only metric.
const METRIC: &str = "value";

/// Serves one connection until it ends.
pub(super) async fn serve(dials: Arc<Dials>, connection: BoxStream) {
    let scaler = TowerToHyperService::new(ExternalScalerServer::new(StandIn { dials }));
    // A client that goes away breaks its connection.
    let _ = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(connection), scaler).await;
}

#[derive(Debug)]
struct StandIn {
    dials: Arc<Dials>,
}

impl StandIn {
    async fn value(&self, object: &ScaledObjectRef) -> Result<f64, Status> {
        match answer(self.dials.get(&scaler_id(&object.namespace, &object.name))) {
            Answer::Value(value) => Ok(value),
            Answer::Error => Err(Status::unavailable("the source is broken")),
            Answer::Nothing => match std::future::pending::<Infallible>().await {},
        }
    }
}

fn specs(parameters: &HashMap<String, String>) -> GetMetricSpecResponse {
    let target = scaler_target(|key| parameters.get(key).map(String::as_str));
    let target_size_float = target.and_then(|target| target.parse().ok()).unwrap_or(SCALER_TARGET);
    let spec = MetricSpec { metric_name: METRIC.to_owned(), target_size: 0, target_size_float };
    GetMetricSpecResponse { metric_specs: vec![spec] }
}

#[tonic::async_trait]
impl ExternalScaler for StandIn {
    type StreamIsActiveStream = stream::BoxStream<'static, Result<IsActiveResponse, Status>>;
    type StreamMetricSpecStream = stream::BoxStream<'static, Result<GetMetricSpecResponse, Status>>;

    async fn is_active(&self, request: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        Ok(Response::new(IsActiveResponse { result: self.value(request.get_ref()).await? > 0.0 }))
    }

    /// Sends the activity now, and each time it changes.
    async fn stream_is_active(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamIsActiveStream>, Status> {
        let object = request.into_inner();
        let id = scaler_id(&object.namespace, &object.name);
        let (dials, changes) = (self.dials.clone(), self.dials.changes());
        let pushes = stream::unfold((changes, None), move |(mut changes, last)| {
            let (dials, id) = (dials.clone(), id.clone());
            async move {
                loop {
                    let result = dials.get(&id).value > 0.0;
                    if last != Some(result) {
                        return Some((Ok(IsActiveResponse { result }), (changes, Some(result))));
                    }
                    changes.changed().await.ok()?;
                }
            }
        });
        Ok(Response::new(pushes.boxed()))
    }

    async fn get_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<GetMetricSpecResponse>, Status> {
        Ok(Response::new(specs(&request.get_ref().scaler_metadata)))
    }

    async fn stream_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamMetricSpecStream>, Status> {
        let spec = specs(&request.get_ref().scaler_metadata);
        Ok(Response::new(stream::once(async { Ok(spec) }).chain(stream::pending()).boxed()))
    }

    async fn get_metrics(&self, request: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        let GetMetricsRequest { scaled_object_ref, metric_name } = request.into_inner();
        let object = scaled_object_ref.ok_or_else(|| Status::invalid_argument("the request names no object"))?;
        let metric_value_float = self.value(&object).await?;
        let value = MetricValue { metric_name, metric_value: 0, metric_value_float };
        Ok(Response::new(GetMetricsResponse { metric_values: vec![value] }))
    }
}
