//! Starting and stopping a playground.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use chrono::{DateTime, Utc};
use kedge_dashboard::view::{LoggedStep, ObjectDetail, ObjectSummary, Standby};
use kedge_dashboard::{Controls, DashboardSource};
use kedge_operator::OperatorView;
use kedge_plane::controllers::{Accounts, Controllers, Nodes, Settings};
use kedge_plane::serve::resource_metrics;
use kedge_plane::{ApiError, Plane};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::controls::{PlaygroundControls, SPEED_MAX};
use crate::dials::Dials;
use crate::kubectl::{AccessError, KubectlAccess};
use crate::manifests::{self, NotApplied};
use crate::scenario::Scenario;
use crate::sources::{SourceCa, Sources};
use crate::virtual_time::VirtualTime;
use crate::{cluster, components, usage};

/// How long pods take from their creation until they are ready.
const POD_START_UP: std::time::Duration = std::time::Duration::from_secs(2);

/// The stack of the thread with the virtual clock: deep manifests are read there.
const STACK_BYTES: usize = 32 << 20;

/// What a playground is started with.
#[derive(Debug)]
pub struct Options {
    /// How many times faster than the machine's clock time passes.
    pub speed: f64,
    pub starts_at: DateTime<Utc>,
    /// Where the Kubernetes API listens; port 0 is any.
    pub api_address: SocketAddr,
    /// What is applied at the start.
    pub manifests: Vec<Value>,
    /// Who turns the dials, until a user does.
    pub scenario: Option<&'static Scenario>,
}

/// Why a playground does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("--speed {0} is not above 0 and at most {SPEED_MAX}")]
    Speed(f64),
    #[error("cannot listen on {address}; choose another port")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot write the kubeconfig")]
    Kubeconfig(#[source] io::Error),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the cluster cannot be set up: {0}")]
    Cluster(String),
    #[error("the playground cannot have a thread")]
    Thread(#[source] io::Error),
    #[error(transparent)]
    Manifest(#[from] NotApplied),
}

/// A running playground. It ends when it is stopped or dropped, and leaves nothing behind.
pub struct Playground {
    /// What was made up or left out at the start, in words.
    pub notices: Vec<String>,
    /// Where the Kubernetes API listens.
    pub api_address: SocketAddr,
    pub kubeconfig: PathBuf,
    view: OperatorView,
    controls: PlaygroundControls,
    worker: Worker,
    _servers: JoinSet<()>,
    _folder: TempDir,
}

impl fmt::Debug for Playground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Playground").field("api_address", &self.api_address).finish_non_exhaustive()
    }
}

impl Playground {
    /// Starts one, and returns when the manifests are applied.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let Options { speed, starts_at, api_address: address, manifests: objects, scenario } = options;
        if !(speed > 0.0 && speed <= SPEED_MAX) {
            return Err(StartError::Speed(speed));
        }
        let listening = TcpListener::bind(address).await;
        let listener = listening.map_err(|source| StartError::Listen { address, source })?;
        let api_address = listener.local_addr().map_err(|source| StartError::Listen { address, source })?;
        let access = KubectlAccess::new(api_address)?;
        let folder = tempfile::Builder::new().prefix("kedge-playground-").tempdir().map_err(StartError::Kubeconfig)?;
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, &access.kubeconfig).map_err(StartError::Kubeconfig)?;

        let time = Arc::new(VirtualTime::new(starts_at, speed));
        let plane = cluster::new(time.clone());
        let dials = Arc::new(Dials::default());
        let sources = Sources::new(plane.clone(), dials.clone(), SourceCa::new()?);
        let world = World { plane: plane.clone(), time: time.clone(), dials: dials.clone(), sources: sources.clone() };
        let (worker, view) = Worker::start(world, access.ca_pem, scenario).await?;
        let mut servers = JoinSet::new();
        let served = kedge_plane::serve::serve(plane.clone(), listener, access.tls, None);
        servers.spawn(async move { match served.await {} });
        let notices = manifests::apply(&plane, &objects).await?;
        let controls = PlaygroundControls { plane, dials, sources, time };
        let _folder = folder;
        Ok(Self { notices, api_address, kubeconfig, view, controls, worker, _servers: servers, _folder })
    }

    /// What the page and the terminal show.
    pub fn view(&self) -> Arc<dyn DashboardSource> {
        Arc::new(PlaygroundView { view: self.view.clone(), time: self.controls.time.clone() })
    }

    /// What can be changed from the page and the terminal.
    pub fn controls(&self) -> Arc<dyn Controls> {
        Arc::new(self.controls.clone())
    }

    /// Returns when the operator has ended by itself, which it should not.
    pub async fn ended(&mut self) {
        self.worker.ended().await;
    }

    /// Stops everything.
    pub async fn stop(self) {
        let Self { worker, .. } = self;
        worker.stop().await;
    }
}

/// What the operator shows, at the time of the playground: the clock of the operator is that of its thread.
struct PlaygroundView {
    view: OperatorView,
    time: Arc<VirtualTime>,
}

impl DashboardSource for PlaygroundView {
    fn now(&self) -> i64 {
        self.time.now().timestamp_millis()
    }

    fn standby(&self) -> Option<Standby> {
        self.view.standby()
    }

    fn namespaces(&self) -> BTreeSet<String> {
        self.view.namespaces()
    }

    fn objects(&self) -> Vec<ObjectSummary> {
        self.view.objects()
    }

    fn object(&self, namespace: &str, name: &str) -> Option<ObjectDetail> {
        self.view.object(namespace, name)
    }

    fn steps_after(&self, id: u64) -> Vec<LoggedStep> {
        self.view.steps_after(id)
    }
}

/// What the thread with the virtual clock works on.
struct World {
    plane: Plane,
    time: Arc<VirtualTime>,
    dials: Arc<Dials>,
    sources: Sources,
}

/// The thread with the virtual clock.
struct Worker {
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
    thread: JoinHandle<()>,
}

impl Worker {
    async fn start(
        world: World,
        ca_pem: String,
        scenario: Option<&'static Scenario>,
    ) -> Result<(Self, OperatorView), StartError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.map_err(StartError::Thread)?;
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let work = move || {
            runtime.block_on(world.run(ca_pem, scenario, ready, stopped));
            // It may have given up waiting.
            let _ = end.send(());
        };
        let thread = thread::Builder::new().name("playground".to_owned()).stack_size(STACK_BYTES).spawn(work);
        let thread = thread.map_err(StartError::Thread)?;
        let view = started.await.map_err(|_| StartError::Cluster("its thread ended".to_owned()))?;
        Ok((Self { stop, ended, thread }, view.map_err(|error| StartError::Cluster(error.message))?))
    }

    async fn ended(&mut self) {
        // Dropped by a panic, or sent: it has ended.
        let _ = (&mut self.ended).await;
    }

    async fn stop(self) {
        let Self { stop, ended: _, thread } = self;
        let _ = stop.send(());
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the playground ended abnormally");
        }
    }
}

impl World {
    async fn run(
        self,
        ca_pem: String,
        scenario: Option<&'static Scenario>,
        ready: oneshot::Sender<Result<OperatorView, ApiError>>,
        stopped: oneshot::Receiver<()>,
    ) {
        let Self { plane, time, dials, sources } = self;
        let clock = time.begin();
        let usage_of = usage::usage_of(plane.clone(), dials.clone());
        let furnished = async {
            cluster::furnish(&plane).await?;
            resource_metrics::register(&plane, usage_of).await
        };
        if let Err(error) = furnished.await {
            // Who started this has gone, or hears of it.
            let _ = ready.send(Err(error));
            return;
        }
        let settings = Settings { start_up: POD_START_UP, ..Settings::default() };
        tokio::spawn(Controllers::new(&plane, settings).run());
        tokio::spawn(Nodes::new(&plane).run());
        tokio::spawn(Accounts::new(&plane, &ca_pem).run());
        if let Some(scenario) = scenario {
            tokio::spawn(scenario.play(dials));
        }
        let (operator, view) = components::start(&plane, clock, &sources);
        let _ = ready.send(Ok(view));
        let stop = async { drop(stopped.await) };
        tokio::select! {
            biased;
            ended = operator.run(stop) => {
                if let Err(error) = ended {
                    tracing::error!(%error, "the operator ended");
                }
            }
            never = time.drive() => match never {},
        }
    }
}
