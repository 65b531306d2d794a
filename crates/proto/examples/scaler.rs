//! An external scaler, complete: it scales by the length of a queue, which it reads from a file.
//!
//! The file holds the length, and behind it, if it is not the one of the trigger, the target: `35` or `35 20`.
//! Parameters in the trigger's metadata: `targetLength` (default 10), `activationLength` (default 0).

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use kedge_proto::externalscaler::external_scaler_server::{ExternalScaler, ExternalScalerServer};
use kedge_proto::externalscaler::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

const METRIC: &str = "queue-length";

/// How often streams are updated.
const POLL_EVERY: Duration = Duration::from_millis(200);

#[derive(Parser)]
struct Args {
    /// The file with the length of the queue
    #[arg(long)]
    queue: PathBuf,

    /// Where to listen
    #[arg(long, default_value = "0.0.0.0:9090")]
    listen: SocketAddr,

    /// A PEM file with a certificate: speak TLS
    #[arg(long, requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// A PEM file with its key
    #[arg(long, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let listener = TcpListener::bind(args.listen).await.with_context(|| format!("cannot listen on {}", args.listen))?;
    println!("listening on {}", listener.local_addr()?);

    let (stop, stopping) = watch::channel(false);
    let scaler = ExternalScalerServer::new(QueueScaler { queue: args.queue, stopping });
    let mut server = Server::builder();
    if let (Some(cert), Some(key)) = (args.tls_cert, args.tls_key) {
        let read = |path: PathBuf| fs::read(&path).with_context(|| format!("cannot read {}", path.display()));
        server = server.tls_config(ServerTlsConfig::new().identity(Identity::from_pem(read(cert)?, read(key)?)))?;
    }
    let mut terminated = signal(SignalKind::terminate())?;
    let shutdown = async move {
        terminated.recv().await;
        // Streams stay open for ever otherwise, and the server waits for them.
        stop.send_replace(true);
    };
    server.serve_with_incoming_shutdown(scaler, TcpIncoming::from(listener), shutdown).await?;
    Ok(())
}

#[derive(Clone)]
struct QueueScaler {
    queue: PathBuf,
    stopping: watch::Receiver<bool>,
}

/// The present contents of the file.
struct Queue {
    length: f64,
    target: Option<f64>,
}

impl QueueScaler {
    /// An unknown length is an error, never a zero: at zero the target would be scaled to zero.
    fn read_queue(&self) -> Result<Queue, Status> {
        let text = fs::read_to_string(&self.queue)
            .map_err(|error| Status::unavailable(format!("cannot read the queue: {error}")))?;
        let mut numbers = text.split_whitespace().map(|word| {
            word.parse::<f64>().map_err(|_| Status::unavailable(format!("the queue has {word:?} for a number")))
        });
        let length = numbers.next().ok_or_else(|| Status::unavailable("the queue is not known"))??;
        Ok(Queue { length, target: numbers.next().transpose()? })
    }

    fn is_active(&self, trigger: &ScaledObjectRef) -> Result<IsActiveResponse, Status> {
        let result = self.read_queue()?.length > parameter(trigger, "activationLength", 0.0)?;
        Ok(IsActiveResponse { result })
    }

    fn metric_specs(&self, trigger: &ScaledObjectRef) -> Result<GetMetricSpecResponse, Status> {
        let target = match self.read_queue() {
            Ok(Queue { target: Some(target), .. }) => target,
            // The metric is known, also while its value is not.
            _ => parameter(trigger, "targetLength", 10.0)?,
        };
        let spec = MetricSpec { metric_name: METRIC.to_owned(), target_size: 0, target_size_float: target };
        Ok(GetMetricSpecResponse { metric_specs: vec![spec] })
    }

    /// The results of `read`, now and whenever they change. Errors are skipped.
    fn follow<T>(self, read: impl Fn(&Self) -> Result<T, Status> + Send + Sync + 'static) -> Messages<T>
    where
        T: Clone + PartialEq + Send + Sync + 'static,
    {
        let mut stopping = self.stopping.clone();
        let messages = stream::unfold((self, read, None::<T>), |(scaler, read, last)| async move {
            loop {
                match read(&scaler) {
                    Ok(now) if last.as_ref() != Some(&now) => {
                        return Some((Ok(now.clone()), (scaler, read, Some(now))));
                    }
                    _ => tokio::time::sleep(POLL_EVERY).await,
                }
            }
        });
        messages.take_until(async move { stopping.wait_for(|stopping| *stopping).await.is_ok() }).boxed()
    }
}

type Messages<T> = BoxStream<'static, Result<T, Status>>;

/// A number from the trigger's metadata.
fn parameter(trigger: &ScaledObjectRef, name: &str, default: f64) -> Result<f64, Status> {
    match trigger.scaler_metadata.get(name) {
        None => Ok(default),
        Some(text) => text
            .parse()
            .map_err(|_| Status::invalid_argument(format!("`{name}` is {text:?}; write a number, as in \"10\""))),
    }
}

#[tonic::async_trait]
impl ExternalScaler for QueueScaler {
    type StreamIsActiveStream = Messages<IsActiveResponse>;
    type StreamMetricSpecStream = Messages<GetMetricSpecResponse>;

    async fn is_active(&self, request: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        Ok(Response::new(self.is_active(request.get_ref())?))
    }

    async fn get_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<GetMetricSpecResponse>, Status> {
        Ok(Response::new(self.metric_specs(request.get_ref())?))
    }

    async fn get_metrics(&self, request: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        let metric_name = request.into_inner().metric_name;
        if metric_name != METRIC {
            return Err(Status::not_found(format!("there is no metric {metric_name:?}; there is {METRIC:?}")));
        }
        // The float counts where it is above 0; for 0 the other field does, and it is 0 too.
        let value = MetricValue { metric_name, metric_value: 0, metric_value_float: self.read_queue()?.length };
        Ok(Response::new(GetMetricsResponse { metric_values: vec![value] }))
    }

    async fn stream_is_active(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<Messages<IsActiveResponse>>, Status> {
        let trigger = request.into_inner();
        Ok(Response::new(self.clone().follow(move |scaler| scaler.is_active(&trigger))))
    }

    async fn stream_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<Messages<GetMetricSpecResponse>>, Status> {
        let trigger = request.into_inner();
        Ok(Response::new(self.clone().follow(move |scaler| scaler.metric_specs(&trigger))))
    }
}
