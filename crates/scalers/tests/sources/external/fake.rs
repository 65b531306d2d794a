//! An external scaler with responses set by the test, on a real socket or on a network in memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use kedge_proto::externalscaler::external_scaler_server::{ExternalScaler, ExternalScalerServer};
use kedge_proto::externalscaler::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::transport::server::{Connected, Server};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};
use tonic::{Request, Response, Status};

/// What it answers.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub(crate) specs: Result<Vec<MetricSpec>, Status>,
    pub(crate) values: Result<Vec<MetricValue>, Status>,
    pub(crate) active: Result<bool, Status>,
    /// How long every answer takes.
    pub(crate) delay: Duration,
    /// What `StreamMetricSpec` sends, if it is there at all; each new list is sent.
    pub(crate) streamed: Option<watch::Receiver<Vec<MetricSpec>>>,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            specs: Ok(vec![spec("jobs", 10, 0.0)]),
            values: Ok(vec![value(35, 0.0)]),
            active: Ok(true),
            delay: Duration::ZERO,
            streamed: None,
        }
    }
}

pub(crate) fn spec(name: &str, whole: i64, float: f64) -> MetricSpec {
    MetricSpec { metric_name: name.to_owned(), target_size: whole, target_size_float: float }
}

pub(crate) fn value(whole: i64, float: f64) -> MetricValue {
    MetricValue { metric_name: "some".to_owned(), metric_value: whole, metric_value_float: float }
}

/// A scaler; clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Fake(Arc<State>);

#[derive(Debug)]
struct State {
    answers: Mutex<Answers>,
    calls: Mutex<Vec<ReceivedCall>>,
    connections: AtomicUsize,
    /// What `StreamIsActive` sends: at first nothing, then each change.
    pub(crate) pushed: watch::Sender<bool>,
}

/// One call as it came.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedCall {
    pub(crate) method: &'static str,
    pub(crate) reference: ScaledObjectRef,
    pub(crate) metric: Option<String>,
    pub(crate) headers: tonic::metadata::MetadataMap,
}

impl Fake {
    pub(crate) fn new(answers: Answers) -> Self {
        let (answers, pushed) = (Mutex::new(answers), watch::Sender::new(false));
        Self(Arc::new(State { answers, calls: Mutex::default(), connections: AtomicUsize::new(0), pushed }))
    }

    pub(crate) fn respond_with(&self, answers: Answers) {
        *self.0.answers.lock().unwrap() = answers;
    }

    /// Sends a message to all streams of `StreamIsActive`.
    pub(crate) fn push(&self, active: bool) {
        self.0.pushed.send_replace(active);
    }

    /// How many listen to `StreamIsActive`.
    pub(crate) fn listeners(&self) -> usize {
        self.0.pushed.receiver_count()
    }

    pub(crate) fn calls(&self) -> Vec<ReceivedCall> {
        self.0.calls.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.calls().iter().filter(|call| call.method == method).count()
    }

    pub(crate) fn connections(&self) -> usize {
        self.0.connections.load(Ordering::SeqCst)
    }

    /// Listens on a free port for as long as the test runs, and answers where.
    pub(crate) async fn listen(&self) -> String {
        self.listen_with(None).await
    }

    pub(crate) async fn listen_with(&self, tls: Option<ServerTlsConfig>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(self.clone().serve_tcp(listener, tls));
        address
    }

    pub(crate) async fn serve_tcp(self, listener: TcpListener, tls: Option<ServerTlsConfig>) {
        let incoming = stream::unfold(listener, |listener| async move {
            let accepted = listener.accept().await.map(|(stream, _)| stream);
            Some((accepted, listener))
        });
        self.serve(incoming.boxed(), tls).await;
    }

    /// Serves whatever connections come.
    pub(crate) async fn serve<IO>(self, incoming: BoxStream<'static, std::io::Result<IO>>, tls: Option<ServerTlsConfig>)
    where
        IO: tokio::io::AsyncRead + tokio::io::AsyncWrite + Connected + Unpin + Send + 'static,
        IO::ConnectInfo: Clone + Send + Sync + 'static,
    {
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).unwrap();
        }
        let state = Arc::clone(&self.0);
        let counted = incoming.inspect(move |_| {
            state.connections.fetch_add(1, Ordering::SeqCst);
        });
        server.serve_with_incoming(ExternalScalerServer::new(self), counted).await.unwrap();
    }

    async fn note<T>(
        &self,
        method: &'static str,
        request: &Request<T>,
        reference: &ScaledObjectRef,
        metric: Option<&str>,
    ) -> Answers {
        let (reference, metric) = (reference.clone(), metric.map(str::to_owned));
        let headers = request.metadata().clone();
        self.0.calls.lock().unwrap().push(ReceivedCall { method, reference, metric, headers });
        let answers = self.0.answers.lock().unwrap().clone();
        tokio::time::sleep(answers.delay).await;
        answers
    }
}

/// The TLS of a server, with the CA of its clients, if they need a certificate.
pub(crate) fn tls(
    identity: &crate::tls::Identity,
    clients: Option<&crate::tls::CertificateAuthority>,
) -> ServerTlsConfig {
    let config = ServerTlsConfig::new().identity(Identity::from_pem(identity.cert.pem(), identity.key.serialize_pem()));
    match clients {
        Some(ca) => config.client_ca_root(Certificate::from_pem(ca.pem())),
        None => config,
    }
}

#[tonic::async_trait]
impl ExternalScaler for Fake {
    type StreamIsActiveStream = BoxStream<'static, Result<IsActiveResponse, Status>>;
    type StreamMetricSpecStream = BoxStream<'static, Result<GetMetricSpecResponse, Status>>;

    async fn is_active(&self, request: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        let result = self.note("IsActive", &request, request.get_ref(), None).await.active?;
        Ok(Response::new(IsActiveResponse { result }))
    }

    async fn get_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<GetMetricSpecResponse>, Status> {
        let metric_specs = self.note("GetMetricSpec", &request, request.get_ref(), None).await.specs?;
        Ok(Response::new(GetMetricSpecResponse { metric_specs }))
    }

    async fn get_metrics(&self, request: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        let message = request.get_ref();
        let reference = message.scaled_object_ref.clone().unwrap();
        let answers = self.note("GetMetrics", &request, &reference, Some(&message.metric_name)).await;
        Ok(Response::new(GetMetricsResponse { metric_values: answers.values? }))
    }

    async fn stream_is_active(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamIsActiveStream>, Status> {
        self.note("StreamIsActive", &request, request.get_ref(), None).await.active?;
        let messages = changes(self.0.pushed.subscribe()).map(|result| Ok(IsActiveResponse { result }));
        Ok(Response::new(messages.boxed()))
    }

    async fn stream_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamMetricSpecStream>, Status> {
        let answers = self.note("StreamMetricSpec", &request, request.get_ref(), None).await;
        let mut specs = answers.streamed.ok_or_else(|| Status::unimplemented("no such stream"))?;
        specs.mark_changed();
        let messages = changes(specs).map(|metric_specs| Ok(GetMetricSpecResponse { metric_specs }));
        Ok(Response::new(messages.boxed()))
    }
}

/// Each change, for as long as there may be another.
fn changes<T: Clone + Send + Sync + 'static>(receiver: watch::Receiver<T>) -> BoxStream<'static, T> {
    stream::unfold(receiver, |mut receiver| async move {
        receiver.changed().await.ok()?;
        let value = receiver.borrow_and_update().clone();
        Some((value, receiver))
    })
    .boxed()
}
