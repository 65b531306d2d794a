//! The operator as a whole: watches fill the queue, and passes empty it, a bounded number at a time, one for each object.
//! Of several replicas one leads; the others only keep what they need to answer the metrics API.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kedge_api::ScaledObject;
use kedge_scalers::Registry;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::board::Board;
use crate::build::Builder;
use crate::credentials::usage::{Sight, Usage};
use crate::credentials::{self, Credentials, References};
use crate::jobs::decline;
use crate::pass::{Memory, Passes};
use crate::queue::Queue;
use crate::role::Role;
use crate::source::BoardSource;
use crate::telemetry::Telemetry;
use crate::watches::Watches;
use crate::world::World;
use kedge_cluster::Clock;
use kedge_cluster::EventPublisher;
use kedge_cluster::ObjectKey;
use kedge_cluster::Scope;
use kedge_cluster::target::ScaleTargets;
use kedge_cluster::{LeaderElection, LeaderElector};

/// How long passes that are under way may take to end when the operator stops.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// What may be chosen about the operator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to look for objects; empty means everywhere.
    pub namespaces: Vec<String>,
    /// Which objects to look after, as a label selector.
    pub selector: Option<String>,
    /// How many objects are looked at at once.
    pub concurrency: usize,
    /// The name of this replica, in events.
    pub instance: String,
    /// The version that HPAs are labelled with.
    pub version: String,
    pub credentials: credentials::Settings,
    /// How replicas choose the one that acts; `None` where there is only one.
    pub election: Option<LeaderElection>,
}

/// The operator, ready to run.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Operator {
    passes: Arc<Passes>,
    queue: Arc<Queue<ObjectKey>>,
    watches: Arc<Watches>,
    scopes: Vec<Scope>,
    concurrency: usize,
    usage: Arc<Usage>,
    election: Option<LeaderElection>,
    role: Arc<Role>,
}

/// Why a replica leads no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Asked,
    Lost,
}

/// Why the operator ended by itself: an invariant of ours is broken.
#[derive(Debug, thiserror::Error)]
#[error("a pass over an object ended abnormally: {0}")]
pub struct Broken(String);

impl Operator {
    /// Starts watching; nothing is written before [`Operator::run`].
    pub fn start(client: Client, clock: Clock, registry: Registry, settings: Settings) -> Self {
        let queue = Arc::new(Queue::new());
        let world = Arc::new(World::new(queue.clone()));
        let scopes = match settings.namespaces.as_slice() {
            [] => vec![Scope::Cluster],
            names => names.iter().cloned().map(Scope::Namespace).collect(),
        };
        let usage = Arc::new(Usage {
            client: client.clone(),
            events: EventPublisher::new(client.clone(), clock.clone(), settings.instance.clone()),
            world: world.clone(),
            scopes: scopes.clone(),
            selector: settings.credentials.selector.clone(),
            sight: Sight::of(&settings),
        });
        let watches = Arc::new(Watches::start(client.clone(), world.clone(), scopes.clone(), settings.selector));
        let telemetry = Arc::new(Telemetry::new(&settings.version));
        let credentials = Arc::new(Credentials {
            client: client.clone(),
            references: References::start(client.clone(), queue.clone(), &scopes),
            exchange: registry.exchange(),
            settings: settings.credentials,
        });
        let role = Arc::new(Role::default());
        let passes = Arc::new(Passes {
            targets: Arc::new(ScaleTargets::new(client.clone())),
            events: EventPublisher::new(client.clone(), clock.clone(), settings.instance),
            board: Arc::new(Board::default()),
            version: settings.version,
            watches: watches.clone(),
            builder: Builder {
                registry,
                telemetry: telemetry.clone(),
                credentials: credentials.clone(),
                queue: queue.clone(),
                role: role.clone(),
            },
            telemetry,
            credentials,
            client,
            clock,
            world,
        });
        let concurrency = settings.concurrency.max(1);
        Self { passes, queue, watches, scopes, concurrency, usage, election: settings.election, role }
    }

    /// Returns when all there is was listed.
    #[cfg(test)]
    pub(crate) async fn watches_listed(&self) {
        self.watches.listed().await;
    }

    /// What the metrics API asks.
    pub fn source(&self) -> BoardSource {
        BoardSource { passes: self.passes.clone(), role: self.role.clone() }
    }

    /// The operator's own metrics, counted anew where they are counts.
    pub fn telemetry(&self) -> impl Fn() -> Vec<u8> + Send + Sync + 'static {
        let passes = self.passes.clone();
        move || {
            passes.telemetry.count(passes.world.triggers().into_iter());
            passes.telemetry.render()
        }
    }

    /// Works until told to stop, then finishes what is under way.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), Broken> {
        tokio::pin!(stop);
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            () = self.watches.listed() => info!("everything is listed; starting"),
        }
        let Some(election) = self.election.clone() else {
            return self.lead(stop, std::future::pending()).await.map(drop);
        };
        let mut elector = LeaderElector::new(self.passes.client.clone(), self.passes.clock.clone(), election);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => return Ok(()),
                () = elector.acquire() => {}
                never = self.stand_by() => match never {},
            }
            if self.lead(stop.as_mut(), elector.hold()).await? == Ended::Asked {
                elector.release().await;
                return Ok(());
            }
        }
    }

    /// Does nothing but drop what no longer fits the cluster.
    async fn stand_by(&self) -> Infallible {
        loop {
            let key = self.queue.next().await;
            self.passes.drop_stale(&key);
        }
    }

    /// Looks after the objects, until told to stop, or until others may.
    async fn lead(
        &self,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        lost: impl Future<Output = ()>,
    ) -> Result<Ended, Broken> {
        tokio::pin!(lost);
        // What another replica counted is in the status.
        self.passes.board.clear();
        self.role.begin_to_lead();
        self.passes.world.wake_all();
        let mut jobs = JoinSet::new();
        jobs.spawn(decline(self.passes.client.clone(), self.scopes.clone()));
        jobs.spawn(self.usage.clone().keep());
        let mut crew = Crew::default();
        let ended = loop {
            tokio::select! {
                biased;
                () = &mut lost => break Ended::Lost,
                () = &mut stop => break Ended::Asked,
                Some(done) = crew.running.join_next(), if !crew.running.is_empty() => {
                    crew.take_back(done.map_err(|error| Broken(error.to_string()))?, &self.queue);
                }
                key = self.queue.next(), if crew.running.len() < self.concurrency => crew.send(key, &self.passes),
            }
        };
        if ended == Ended::Asked {
            tokio::select! {
                biased;
                () = &mut lost => {}
                () = self.stop(&mut crew) => {}
            }
        }
        // Nothing is written from here on.
        crew.running.shutdown().await;
        jobs.shutdown().await;
        self.role.stand_by();
        self.passes.board.clear();
        Ok(ended)
    }

    /// Lets passes end, and writes down when active objects were last active: the next process counts from there.
    async fn stop(&self, crew: &mut Crew) {
        let rest = async {
            while let Some(done) = crew.running.join_next().await {
                if let Ok((key, memory, _)) = done {
                    crew.memories.insert(key, memory);
                }
            }
        };
        if tokio::time::timeout(STOP_WITHIN, rest).await.is_err() {
            warn!("some objects were still being looked at");
        }
        for (key, memory) in &crew.memories {
            let Some(at) = memory.last_seen_active() else { continue };
            let patch = json!({ "status": { "lastActiveTime": kedge_api::time::to_time(at) } });
            let api: Api<ScaledObject> = Api::namespaced(self.passes.client.clone(), &key.namespace);
            if let Err(error) = api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
                warn!(namespace = key.namespace, name = key.name, error = %error, "last activity not written");
            }
        }
    }
}

/// The passes under way, and what is remembered of the objects that are not being looked at.
#[derive(Default)]
struct Crew {
    running: JoinSet<(ObjectKey, Memory, Option<Instant>)>,
    busy: BTreeSet<ObjectKey>,
    /// Objects that became due while they were being looked at.
    again: BTreeSet<ObjectKey>,
    memories: BTreeMap<ObjectKey, Memory>,
}

impl Crew {
    fn send(&mut self, key: ObjectKey, passes: &Arc<Passes>) {
        if !self.busy.insert(key.clone()) {
            self.again.insert(key);
            return;
        }
        let mut memory = self.memories.remove(&key).unwrap_or_default();
        let passes = passes.clone();
        self.running.spawn(async move {
            let next = passes.pass(&key, &mut memory).await;
            (key, memory, next)
        });
    }

    fn take_back(&mut self, (key, memory, next): (ObjectKey, Memory, Option<Instant>), queue: &Queue<ObjectKey>) {
        self.busy.remove(&key);
        if self.again.remove(&key) {
            queue.add_now(key.clone());
        }
        if let Some(next) = next {
            queue.add(key.clone(), next);
        }
        if memory.is_of_use() {
            self.memories.insert(key, memory);
        }
    }
}
