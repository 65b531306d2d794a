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

/// The query that it serves, and its only metric at first.
pub(super) const QUERY: &str = "jobs";

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

fn specs(names: &[&str]) -> GetMetricSpecResponse {
    let spec =
        |name: &&str| MetricSpec { metric_name: (*name).to_owned(), target_size: TARGET, target_size_float: 0.0 };
    GetMetricSpecResponse { metric_specs: names.iter().map(spec).collect() }
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
        Ok(Response::new(specs(*self.0.metric_names.borrow())))
    }

    async fn stream_metric_spec(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamMetricSpecStream>, Status> {
        let names = self.0.metric_names.subscribe();
        let changes = stream::unfold(names, |mut names| async move {
            names.changed().await.ok()?;
            let changed = specs(*names.borrow_and_update());
            Some((Ok(changed), names))
        });
        Ok(Response::new(changes.boxed()))
    }

    async fn get_metrics(&self, request: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        let value = self.value().await?;
        let metric_name = request.into_inner().metric_name;
        let value = MetricValue { metric_name, metric_value: value as i64, metric_value_float: 0.0 };
        Ok(Response::new(GetMetricsResponse { metric_values: vec![value] }))
    }
}
