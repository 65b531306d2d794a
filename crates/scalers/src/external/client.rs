//! The calls of the contract, as the operator makes them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use kedge_proto::externalscaler::external_scaler_client::ExternalScalerClient;
use kedge_proto::externalscaler::{GetMetricsRequest, MetricSpec, MetricValue, ScaledObjectRef};

use crate::error::{Endpoint, ReadError};
use crate::grpc::{Channel, request};

/// Calls one external scaler for one trigger, each call with a deadline. Clones share the connection.
#[derive(Clone)]
pub struct ExternalClient {
    channel: Arc<Channel>,
    /// May hold what the environment of the target holds.
    reference: ScaledObjectRef,
    /// How long a call may take.
    limit: Duration,
}

impl ExternalClient {
    pub(super) fn new(channel: Arc<Channel>, reference: ScaledObjectRef, limit: Duration) -> Self {
        Self { channel, reference, limit }
    }

    pub fn endpoint(&self) -> Endpoint {
        self.channel.endpoint()
    }

    pub async fn is_active(&self) -> Result<bool, ReadError> {
        let request = request(self.reference.clone(), Some(self.limit));
        let call = async |client, origin| ExternalScalerClient::with_origin(client, origin).is_active(request).await;
        Ok(self.channel.call("IsActive", self.limit, call).await?.result)
    }

    pub async fn get_metric_spec(&self) -> Result<Vec<MetricSpec>, ReadError> {
        let request = request(self.reference.clone(), Some(self.limit));
        let call =
            async |client, origin| ExternalScalerClient::with_origin(client, origin).get_metric_spec(request).await;
        Ok(self.channel.call("GetMetricSpec", self.limit, call).await?.metric_specs)
    }

    /// The values of a metric, by the name that the scaler gave it.
    pub async fn get_metrics(&self, metric: &str) -> Result<Vec<MetricValue>, ReadError> {
        let (reference, metric_name) = (Some(self.reference.clone()), metric.to_owned());
        let request = request(GetMetricsRequest { scaled_object_ref: reference, metric_name }, Some(self.limit));
        let call = async |client, origin| ExternalScalerClient::with_origin(client, origin).get_metrics(request).await;
        Ok(self.channel.call("GetMetrics", self.limit, call).await?.metric_values)
    }

    /// Listens until the scaler ends the stream. An error is the last item. Opening has no deadline.
    pub fn stream_is_active(&self) -> BoxStream<'static, Result<bool, ReadError>> {
        let request = request(self.reference.clone(), None);
        let messages = Arc::clone(&self.channel).stream("StreamIsActive", async move |client, origin| {
            ExternalScalerClient::with_origin(client, origin).stream_is_active(request).await
        });
        messages.map(|message| Ok(message?.result)).boxed()
    }

    /// Listens until the scaler ends the stream. An error is the last item. Opening has no deadline.
    pub fn stream_metric_spec(&self) -> BoxStream<'static, Result<Vec<MetricSpec>, ReadError>> {
        let request = request(self.reference.clone(), None);
        let messages = Arc::clone(&self.channel).stream("StreamMetricSpec", async move |client, origin| {
            ExternalScalerClient::with_origin(client, origin).stream_metric_spec(request).await
        });
        messages.map(|message| Ok(message?.metric_specs)).boxed()
    }
}

impl fmt::Debug for ExternalClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExternalClient").field(&self.channel).finish()
    }
}
