//! An external scaler in this process whose faults a test sets.
//!
//! Use it with `#[tokio::test(flavor = "multi_thread")]`: it responds while the test reads the cluster.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use kedge_proto::externalscaler::external_scaler_server::{ExternalScaler, ExternalScalerServer};
use kedge_proto::externalscaler::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};
use kedge_test_cluster::wait::DEADLINE;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// How it behaves.
#[derive(Clone, Debug)]
pub struct Behaviour {
    pub call_result: CallResult,
    pub specs: Vec<MetricSpec>,
    pub values: Vec<MetricValue>,
    pub is_active: bool,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallResult {
    Answers,
    /// No call is ever answered.
    Hangs,
    /// Connections are reset, those there are and new ones.
    Resets,
    /// Every call is answered with an error.
    Refuses,
}

impl Behaviour {
    /// Valid responses: one metric `jobs` with a target of 10 per replica, active if there are any jobs.
    pub fn good(jobs: f64) -> Self {
        let (specs, values) = (vec![spec("jobs", 10)], vec![value("jobs", jobs)]);
        Self { call_result: CallResult::Answers, specs, values, is_active: jobs > 0.0 }
    }

    pub fn call_result(self, call_result: CallResult) -> Self {
        Self { call_result, ..self }
    }

    pub fn specs(self, specs: impl IntoIterator<Item = MetricSpec>) -> Self {
        Self { specs: specs.into_iter().collect(), ..self }
    }

    pub fn values(self, values: impl IntoIterator<Item = MetricValue>) -> Self {
        Self { values: values.into_iter().collect(), ..self }
    }

    pub fn idle(self) -> Self {
        Self { is_active: false, ..self }
    }
}

/// A metric with a target.
pub fn spec(name: &str, target: i64) -> MetricSpec {
    MetricSpec { metric_name: name.to_owned(), target_size: target, target_size_float: 0.0 }
}

/// A value with the name of this metric.
pub fn value(name: &str, value: f64) -> MetricValue {
    MetricValue { metric_name: name.to_owned(), metric_value: 0, metric_value_float: value }
}

/// The scaler. It ends when this value is dropped.
#[derive(Debug)]
pub struct FaultyScaler {
    address: SocketAddr,
    state: Arc<ScalerState>,
    tasks: [JoinHandle<()>; 2],
}

/// The behaviour that the test set, and the calls so far.
#[derive(Debug)]
struct ScalerState {
    behaviour: watch::Sender<Behaviour>,
    calls: watch::Sender<u64>,
    metadata: watch::Sender<BTreeMap<String, String>>,
}

impl FaultyScaler {
    /// Starts on a free port of the loopback address.
    pub async fn start(behaviour: Behaviour) -> anyhow::Result<Self> {
        let state = ScalerState {
            behaviour: watch::Sender::new(behaviour),
            calls: Default::default(),
            metadata: Default::default(),
        };
        let state = Arc::new(state);
        let (front, back) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
        let (address, behind) = (front.local_addr()?, back.local_addr()?);
        let server = Server::builder()
            .serve_with_incoming(ExternalScalerServer::new(Service(state.clone())), TcpIncoming::from(back));
        let serving = tokio::spawn(async { drop(server.await) });
        let fronting = tokio::spawn(forward(front, behind, state.clone()));
        Ok(Self { address, state, tasks: [serving, fronting] })
    }

    /// The `scalerAddress` of a trigger.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Sets the behaviour from now on, also for calls that are not answered yet.
    pub fn set_behaviour(&self, behaviour: Behaviour) {
        self.state.behaviour.send_replace(behaviour);
    }

    /// The metadata of the trigger in the last call.
    pub fn metadata(&self) -> BTreeMap<String, String> {
        self.state.metadata.borrow().clone()
    }

    /// Waits for this many further calls. Connections that are reset count as calls.
    pub async fn until_called(&self, times: u64) -> anyhow::Result<()> {
        let mut calls = self.state.calls.subscribe();
        let wanted = *calls.borrow() + times;
        let waiting = calls.wait_for(|count| *count >= wanted);
        tokio::time::timeout(DEADLINE, waiting).await??;
        Ok(())
    }
}

impl Drop for FaultyScaler {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl ScalerState {
    fn count(&self) {
        self.calls.send_modify(|count| *count += 1);
    }

    fn resets(&self) -> bool {
        self.behaviour.borrow().call_result == CallResult::Resets
    }

    /// Counts a call, and returns the behaviour that it is answered with.
    async fn respond(&self, trigger: Option<&ScaledObjectRef>) -> Result<Behaviour, Status> {
        self.count();
        if let Some(trigger) = trigger {
            self.metadata.send_replace(trigger.scaler_metadata.clone().into_iter().collect());
        }
        let mut behaviour = self.behaviour.subscribe();
        let now = behaviour.wait_for(|now| now.call_result != CallResult::Hangs).await;
        let now = now.map_err(|_| Status::unavailable("the test is over"))?.clone();
        if now.call_result == CallResult::Refuses {
            Err(Status::internal("the jobs were not found\nnor looked for"))
        } else {
            Ok(now)
        }
    }
}

/// Forwards connections to the server behind, unless they are to be reset.
async fn forward(front: TcpListener, behind: SocketAddr, state: Arc<ScalerState>) {
    while let Ok((mut caller, _)) = front.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            let mut behaviour = state.behaviour.subscribe();
            let reset = behaviour.wait_for(|now| now.call_result == CallResult::Resets);
            if state.resets() {
                state.count();
            } else if let Ok(mut server) = TcpStream::connect(behind).await {
                tokio::select! {
                    _ = copy_bidirectional(&mut caller, &mut server) => {}
                    _ = reset => {}
                }
            }
            // Closing with unread bytes, or without lingering, is a reset to the caller.
            let _ = caller.set_zero_linger();
        });
    }
}

#[derive(Clone)]
struct Service(Arc<ScalerState>);

type ResponseStream<T> = BoxStream<'static, Result<T, Status>>;

impl Service {
    /// A part of the behaviour, now and after each change.
    fn follow<T: PartialEq + Clone + Send + Sync + 'static>(&self, select: fn(&Behaviour) -> T) -> ResponseStream<T> {
        let state = (self.0.behaviour.subscribe(), None::<T>);
        let changes = stream::unfold(state, move |(mut behaviour, last)| async move {
            let is_changed =
                |now: &Behaviour| now.call_result == CallResult::Answers && last.as_ref() != Some(&select(now));
            let now = select(&*behaviour.wait_for(is_changed).await.ok()?);
            Some((Ok(now.clone()), (behaviour, Some(now))))
        });
        changes.boxed()
    }
}

fn specs(behaviour: &Behaviour) -> GetMetricSpecResponse {
    GetMetricSpecResponse { metric_specs: behaviour.specs.clone() }
}

fn is_active(behaviour: &Behaviour) -> IsActiveResponse {
    IsActiveResponse { result: behaviour.is_active }
}

#[tonic::async_trait]
impl ExternalScaler for Service {
    type StreamIsActiveStream = ResponseStream<IsActiveResponse>;
    type StreamMetricSpecStream = ResponseStream<GetMetricSpecResponse>;

    async fn is_active(&self, request: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        Ok(Response::new(is_active(&self.0.respond(Some(request.get_ref())).await?)))
    }

    async fn get_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<GetMetricSpecResponse>, Status> {
        Ok(Response::new(specs(&self.0.respond(Some(request.get_ref())).await?)))
    }

    async fn get_metrics(&self, request: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        let now = self.0.respond(request.get_ref().scaled_object_ref.as_ref()).await?;
        Ok(Response::new(GetMetricsResponse { metric_values: now.values }))
    }

    async fn stream_is_active(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<ResponseStream<IsActiveResponse>>, Status> {
        Ok(Response::new(self.follow(is_active)))
    }

    async fn stream_metric_spec(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<ResponseStream<GetMetricSpecResponse>>, Status> {
        Ok(Response::new(self.follow(specs)))
    }
}
