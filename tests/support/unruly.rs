//! An external scaler in this process, which does what it is told to: also what no scaler should.
//!
//! Use it with `#[tokio::test(flavor = "multi_thread")]`: it answers while the test looks at the cluster.

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
pub struct Manners {
    pub way: Way,
    pub specs: Vec<MetricSpec>,
    pub values: Vec<MetricValue>,
    pub is_active: bool,
}

/// What comes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Answers,
    /// No call is ever answered.
    Hangs,
    /// Connections are reset, those there are and new ones.
    Resets,
    /// Every call is answered with an error.
    Refuses,
}

impl Manners {
    /// Good ones: one metric, `jobs`, of which a replica takes 10; there is work if there are any.
    pub fn good(jobs: f64) -> Self {
        let (specs, values) = (vec![spec("jobs", 10)], vec![value("jobs", jobs)]);
        Self { way: Way::Answers, specs, values, is_active: jobs > 0.0 }
    }

    pub fn way(self, way: Way) -> Self {
        Self { way, ..self }
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

/// A value that says it is of this metric.
pub fn value(name: &str, value: f64) -> MetricValue {
    MetricValue { metric_name: name.to_owned(), metric_value: 0, metric_value_float: value }
}

/// The scaler. It ends when this value is dropped.
#[derive(Debug)]
pub struct Unruly {
    address: SocketAddr,
    said: Arc<Said>,
    tasks: [JoinHandle<()>; 2],
}

/// What it was told, and what it was asked.
#[derive(Debug)]
struct Said {
    manners: watch::Sender<Manners>,
    asked: watch::Sender<u64>,
    metadata: watch::Sender<BTreeMap<String, String>>,
}

impl Unruly {
    /// Starts on a free port of the loopback address.
    pub async fn start(manners: Manners) -> anyhow::Result<Self> {
        let said =
            Said { manners: watch::Sender::new(manners), asked: Default::default(), metadata: Default::default() };
        let said = Arc::new(said);
        let (front, back) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
        let (address, behind) = (front.local_addr()?, back.local_addr()?);
        let server = Server::builder()
            .serve_with_incoming(ExternalScalerServer::new(Answering(said.clone())), TcpIncoming::from(back));
        let serving = tokio::spawn(async { drop(server.await) });
        let fronting = tokio::spawn(pass_on(front, behind, said.clone()));
        Ok(Self { address, said, tasks: [serving, fronting] })
    }

    /// What a trigger's `scalerAddress` is.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Behaves so from now on; also calls under way are ended so.
    pub fn behave(&self, manners: Manners) {
        self.said.manners.send_replace(manners);
    }

    /// What the trigger said in the last call.
    pub fn metadata(&self) -> BTreeMap<String, String> {
        self.said.metadata.borrow().clone()
    }

    /// Waits until it was asked so often from now on, or found not to be there.
    pub async fn asked_again(&self, times: u64) -> anyhow::Result<()> {
        let mut asked = self.said.asked.subscribe();
        let wanted = *asked.borrow() + times;
        let waiting = asked.wait_for(|count| *count >= wanted);
        tokio::time::timeout(DEADLINE, waiting).await??;
        Ok(())
    }
}

impl Drop for Unruly {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Said {
    fn count(&self) {
        self.asked.send_modify(|count| *count += 1);
    }

    fn resets(&self) -> bool {
        self.manners.borrow().way == Way::Resets
    }

    /// The manners in which a call is answered.
    async fn meet(&self, trigger: Option<&ScaledObjectRef>) -> Result<Manners, Status> {
        self.count();
        if let Some(trigger) = trigger {
            self.metadata.send_replace(trigger.scaler_metadata.clone().into_iter().collect());
        }
        let mut manners = self.manners.subscribe();
        let now = manners.wait_for(|now| now.way != Way::Hangs).await;
        let now = now.map_err(|_| Status::unavailable("the test is over"))?.clone();
        if now.way == Way::Refuses { Err(Status::internal("the jobs were not found\nnor looked for")) } else { Ok(now) }
    }
}

/// Passes connections on to the server behind, while none are to be reset.
async fn pass_on(front: TcpListener, behind: SocketAddr, said: Arc<Said>) {
    while let Ok((mut caller, _)) = front.accept().await {
        let said = said.clone();
        tokio::spawn(async move {
            let mut manners = said.manners.subscribe();
            let reset = manners.wait_for(|now| now.way == Way::Resets);
            if said.resets() {
                said.count();
            } else if let Ok(mut server) = TcpStream::connect(behind).await {
                tokio::select! {
                    _ = copy_bidirectional(&mut caller, &mut server) => {}
                    _ = reset => {}
                }
            }
            // What is dropped with unread bytes, or told to hurry, is a reset to the caller.
            let _ = caller.set_zero_linger();
        });
    }
}

#[derive(Clone)]
struct Answering(Arc<Said>);

type Told<T> = BoxStream<'static, Result<T, Status>>;

impl Answering {
    /// What is said of the manners, now and whenever it is something else.
    fn follow<T: PartialEq + Clone + Send + Sync + 'static>(&self, say: fn(&Manners) -> T) -> Told<T> {
        let state = (self.0.manners.subscribe(), None::<T>);
        let told = stream::unfold(state, move |(mut manners, last)| async move {
            let is_news = |now: &Manners| now.way == Way::Answers && last.as_ref() != Some(&say(now));
            let now = say(&*manners.wait_for(is_news).await.ok()?);
            Some((Ok(now.clone()), (manners, Some(now))))
        });
        told.boxed()
    }
}

fn specs(manners: &Manners) -> GetMetricSpecResponse {
    GetMetricSpecResponse { metric_specs: manners.specs.clone() }
}

fn is_active(manners: &Manners) -> IsActiveResponse {
    IsActiveResponse { result: manners.is_active }
}

#[tonic::async_trait]
impl ExternalScaler for Answering {
    type StreamIsActiveStream = Told<IsActiveResponse>;
    type StreamMetricSpecStream = Told<GetMetricSpecResponse>;

    async fn is_active(&self, request: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        Ok(Response::new(is_active(&self.0.meet(Some(request.get_ref())).await?)))
    }

    async fn get_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<GetMetricSpecResponse>, Status> {
        Ok(Response::new(specs(&self.0.meet(Some(request.get_ref())).await?)))
    }

    async fn get_metrics(&self, request: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        let now = self.0.meet(request.get_ref().scaled_object_ref.as_ref()).await?;
        Ok(Response::new(GetMetricsResponse { metric_values: now.values }))
    }

    async fn stream_is_active(&self, _: Request<ScaledObjectRef>) -> Result<Response<Told<IsActiveResponse>>, Status> {
        Ok(Response::new(self.follow(is_active)))
    }

    async fn stream_metric_spec(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<Told<GetMetricSpecResponse>>, Status> {
        Ok(Response::new(self.follow(specs)))
    }
}
