//! Everything a run needs, in one place and one thread: the API server, its controllers, sources, and the operator.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;
use kedge_cluster::RetryAfterLayer;
use kedge_cluster::{Clock, LeaderElection, LeaseTiming};
use kedge_operator::{BoardSource, KubeReads, Operator, Settings, credentials};
use kedge_plane::controllers::{self, Controllers};
use kedge_plane::{Call, Gvr, Options, Plane, Verb};
use kedge_scalers::Registry;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower_layer::Layer;

use crate::fault::{Cut, Fault};
use crate::journal::Journal;
use crate::metrics;
use crate::scenario::{NAMESPACE, Scenario};
use crate::source::Sources;
use crate::wire::{Life, Wire};

/// Where the operator's own objects are.
const HOME: &str = "keda";
const LEASE: &str = "operator.keda.sh";

/// Where the API server finds the metrics API.
const BACKEND: &str = "kedge.keda.svc";

/// Pods are ready this long after they are made.
const START_UP: Duration = Duration::from_secs(5);

/// The CRDs, as they are installed.
const CRDS: [&str; 4] = [
    include_str!("../../../crds/keda.sh_scaledobjects.yaml"),
    include_str!("../../../crds/keda.sh_scaledjobs.yaml"),
    include_str!("../../../crds/keda.sh_triggerauthentications.yaml"),
    include_str!("../../../crds/keda.sh_clustertriggerauthentications.yaml"),
];

/// One run's world. Clones are the same one.
#[derive(Clone)]
#[allow(missing_debug_implementations)] // the board has none
pub struct Lab(Arc<Inner>);

struct Inner {
    plane: Plane,
    sources: Sources,
    journal: Arc<Journal>,
    clock: Clock,
    operators: usize,
    replicas: Mutex<BTreeMap<String, Replica>>,
}

/// One process of the operator.
struct Replica {
    life: Arc<Life>,
    source: Arc<BoardSource>,
    task: JoinHandle<()>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Lab {
    /// A cluster with our CRDs, on which nothing has happened yet.
    pub async fn new(scenario: &Scenario, journal: Arc<Journal>) -> Self {
        let plane = prepared(scenario.begins_at);
        let inner = Inner {
            plane,
            sources: Sources::new(),
            journal,
            clock: Clock::starting_at(scenario.begins_at),
            operators: usize::try_from(scenario.operators).expect("a few"),
            replicas: Mutex::default(),
        };
        let lab = Self(Arc::new(inner));
        let asked = lab.clone();
        lab.0.plane.register_backend(BACKEND, metrics::backend(move || asked.board()));
        for number in 0..scenario.operators {
            lab.launch(&format!("kedge-{number}"));
        }
        lab
    }

    pub fn plane(&self) -> &Plane {
        &self.0.plane
    }

    pub fn sources(&self) -> &Sources {
        &self.0.sources
    }

    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The controllers of the cluster; they go on until dropped.
    pub async fn control(self) {
        let settings = controllers::Settings { start_up: START_UP, ..controllers::Settings::default() };
        Controllers::new(&self.0.plane, settings).run().await;
    }

    /// Starts processes anew that ended. Goes on until dropped.
    pub async fn supervise(self) {
        loop {
            self.0.journal.crashed.notified().await;
            let ended: Vec<(String, Duration)> = {
                let replicas = self.replicas();
                let ended = |(name, replica): (&String, &Replica)| Some((name.clone(), replica.life.ended()?));
                replicas.iter().filter_map(ended).collect()
            };
            for (name, away) in ended {
                self.replicas().remove(&name);
                tokio::time::sleep(away).await;
                self.launch(&name);
                self.0.journal.stir();
            }
        }
    }

    /// Lets happen what happens at some time.
    pub async fn disturb(self, faults: Vec<Fault>) {
        let began_at = Instant::now();
        let moment = |fault: &Fault| match fault {
            Fault::Clock { at, .. } | Fault::Partition { at, .. } | Fault::Kill { at, .. } => Some(*at),
            _ => None,
        };
        let mut timed: Vec<(Duration, Fault)> =
            faults.into_iter().filter_map(|fault| Some((moment(&fault)?, fault))).collect();
        timed.sort_by_key(|(at, _)| *at);
        for (at, fault) in timed {
            tokio::time::sleep_until(began_at + at).await;
            self.0.journal.stir();
            match fault {
                Fault::Clock { by_seconds, .. } => self.0.clock.adjust(by_seconds),
                Fault::Partition { lasts, cut, .. } => self.cut_off(cut, lasts),
                Fault::Kill { away, .. } => self.kill(away),
                _ => {}
            }
        }
    }

    /// Ends the process that acts, wherever it is.
    fn kill(&self, away: Duration) {
        let acting = self.leader().or_else(|| self.replicas().values().next().map(|one| one.life.clone()));
        if let Some(life) = acting {
            life.end(away);
            self.0.journal.crashed.notify_one();
        }
    }

    /// Cuts off the replica that holds the lease.
    fn cut_off(&self, cut: Cut, lasts: Duration) {
        if let Some(leader) = self.leader() {
            leader.cut_off(cut, Instant::now() + lasts);
        }
    }

    /// The replica that holds the lease.
    fn leader(&self) -> Option<Arc<Life>> {
        let lease = self.0.plane.object(&leases(), Some(HOME), LEASE)?;
        let holder = lease["spec"]["holderIdentity"].as_str()?.to_owned();
        self.replicas().get(&holder).map(|one| one.life.clone())
    }

    /// What the metrics API asks: the first replica that lives.
    fn board(&self) -> Option<Arc<BoardSource>> {
        let replicas = self.replicas();
        replicas.values().find(|replica| replica.life.ended().is_none()).map(|replica| replica.source.clone())
    }

    fn launch(&self, name: &str) {
        let life = Arc::new(Life::default());
        let wire = Wire {
            plane: self.0.plane.clone(),
            replica: name.to_owned(),
            journal: self.0.journal.clone(),
            life: life.clone(),
        };
        let client = kube::Client::new(RetryAfterLayer.layer(wire), "default");
        let reads = Arc::new(KubeReads::new(client.clone()));
        let registry = Registry::new(kedge_scalers::Settings::default(), self.0.sources.connector(), reads);
        let operator = Operator::start(client, self.0.clock.clone(), registry, self.settings(name));
        let source = Arc::new(operator.source());
        let task = tokio::spawn(async move {
            operator.run(std::future::pending()).await.expect("the operator does not break");
        });
        self.replicas().insert(name.to_owned(), Replica { life, source, task });
    }

    fn settings(&self, name: &str) -> Settings {
        Settings {
            namespaces: Vec::new(),
            selector: None,
            concurrency: 5,
            instance: name.to_owned(),
            version: "1.0.0".to_owned(),
            credentials: credentials::Settings {
                cluster_object_namespace: Some(HOME.to_owned()),
                ..credentials::Settings::default()
            },
            election: (self.0.operators > 1).then(|| LeaderElection {
                namespace: HOME.to_owned(),
                name: LEASE.to_owned(),
                identity: name.to_owned(),
                timing: LeaseTiming::default(),
            }),
        }
    }

    fn replicas(&self) -> MutexGuard<'_, BTreeMap<String, Replica>> {
        self.0.replicas.lock().expect("nobody panics holding it")
    }

    /// Ends all processes, so that nothing of the run is left.
    pub fn end(&self) {
        // The plane holds it, and it the plane.
        self.0.plane.remove_backend(BACKEND);
        self.replicas().clear();
    }

    /// Whether all processes are there.
    pub fn is_whole(&self) -> bool {
        let replicas = self.replicas();
        replicas.len() == self.0.operators && replicas.values().all(|replica| replica.life.ended().is_none())
    }

    /// Whether the operator died by itself.
    pub fn broken(&self) -> Option<String> {
        let replicas = self.replicas();
        replicas
            .iter()
            .find(|(_, replica)| replica.task.is_finished())
            .map(|(name, _)| format!("{name} ended by itself"))
    }
}

/// The resource by which replicas agree who leads.
pub fn leases() -> Gvr {
    Gvr::new("coordination.k8s.io", "v1", "leases")
}

/// A cluster with our CRDs, namespaces and the metrics API registered.
fn prepared(begins_at: DateTime<Utc>) -> Plane {
    static TEMPLATE: LazyLock<Plane> = LazyLock::new(|| {
        let plane = Plane::new(Options { wall: Arc::new(|| DateTime::UNIX_EPOCH), ..Options::default() });
        objects().iter().for_each(|object| install(&plane, object));
        plane
    });
    let from = Instant::now();
    let wall = move || begins_at + TimeDelta::from_std(from.elapsed()).unwrap_or(TimeDelta::MAX);
    TEMPLATE.fork(Options { wall: Arc::new(wall), history: usize::MAX, ..Options::default() })
}

fn install(plane: &Plane, object: &Value) {
    let (group, version) = object["apiVersion"].as_str().and_then(|text| text.split_once('/')).unwrap_or(("", "v1"));
    let plural = format!("{}s", object["kind"].as_str().unwrap_or_default().to_lowercase());
    let resource = Gvr::new(group, version, &plural);
    let call = Call { body: Some(object.clone()), ..Call::new("administrator", Verb::Create, resource) };
    let done = plane.call(call).now_or_never().expect("no other server has to be asked");
    done.expect("what every run begins with");
}

fn objects() -> Vec<Value> {
    let namespace = |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": { "name": "v1beta1.external.metrics.k8s.io" },
        "spec": {
            "group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": { "name": "kedge", "namespace": HOME }, "insecureSkipTLSVerify": true,
        },
    });
    let crds = CRDS.iter().map(|text| serde_saphyr::from_str(text).expect("a CRD"));
    [namespace(NAMESPACE), namespace(HOME), service].into_iter().chain(crds).collect()
}
