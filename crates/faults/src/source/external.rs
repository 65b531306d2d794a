//! An external scaler with one metric, `jobs`, which also pushes its activity.

use std::convert::Infallible;
use std::io;

use futures::stream::{self, BoxStream, StreamExt};
use kedge_proto::externalscaler::external_scaler_server::{ExternalScaler, ExternalScalerServer};
use kedge_proto::externalscaler::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};
use tokio::io::DuplexStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use super::{SourceResponse, Sources};
use crate::fault::SourceFault;

/// The query that it serves.
const QUERY: &str = "jobs";

/// Jobs per replica.
const TARGET: i64 = 10;

/// Serves one connection until it ends.
pub(super) async fn serve(sources: Sources, connection: DuplexStream) {
    let incoming = stream::once(async { io::Result::Ok(connection) }).chain(stream::pending());
    // A broken connection may be an injected fault.
    let _ =
        Server::builder().add_service(ExternalScalerServer::new(Scaler(sources))).serve_with_incoming(incoming).await;
}

#[derive(Debug)]
struct Scaler(Sources);

impl Scaler {
    async fn value(&self) -> Result<f64, Status> {
        match self.0.respond(QUERY, None) {
            SourceResponse::Value(value) => Ok(value),
            SourceResponse::Faulty(SourceFault::Hangs) => match std::future::pending::<Infallible>().await {},
            SourceResponse::Unauthorized | SourceResponse::Faulty(_) => Err(Status::internal("broken")),
        }
    }
}

#[tonic::async_trait]
impl ExternalScaler for Scaler {
    type StreamIsActiveStream = BoxStream<'static, Result<IsActiveResponse, Status>>;
    type StreamMetricSpecStream = BoxStream<'static, Result<GetMetricSpecResponse, Status>>;

    async fn is_active(&self, _: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        Ok(Response::new(IsActiveResponse { result: self.value().await? > 0.0 }))
    }

    async fn stream_is_active(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamIsActiveStream>, Status> {
        let pushed = self.0.pushed.subscribe();
        let pushes = stream::unfold(pushed, |mut pushed| async move {
            pushed.changed().await.ok()?;
            let result = *pushed.borrow_and_update();
            Some((Ok(IsActiveResponse { result }), pushed))
        });
        Ok(Response::new(pushes.boxed()))
    }

    async fn get_metric_spec(&self, _: Request<ScaledObjectRef>) -> Result<Response<GetMetricSpecResponse>, Status> {
        let spec = MetricSpec { metric_name: QUERY.to_owned(), target_size: TARGET, target_size_float: 0.0 };
        Ok(Response::new(GetMetricSpecResponse { metric_specs: vec![spec] }))
    }

    async fn stream_metric_spec(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamMetricSpecStream>, Status> {
        Err(Status::unimplemented("its metrics never change"))
    }

    async fn get_metrics(&self, _: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        let value = self.value().await?;
        let value = MetricValue { metric_name: QUERY.to_owned(), metric_value: value as i64, metric_value_float: 0.0 };
        Ok(Response::new(GetMetricsResponse { metric_values: vec![value] }))
    }
}
