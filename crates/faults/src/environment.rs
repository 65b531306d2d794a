//! The test environment of a run, on one thread: the API server, its controllers, the sources and the operator.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;
use futures::future::OptionFuture;
use kedge_cluster::RetryAfterLayer;
use kedge_cluster::{Clock, LeaderElection, LeaseTiming};
use kedge_operator::{KubeReads, Operator, ReadingsSource, Settings, credentials};
use kedge_plane::controllers::{self, Controllers};
use kedge_plane::{Call, Gvr, Options, Plane, Verb};
use kedge_scalers::Registry;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower_layer::Layer;

use crate::certificates;
use crate::fault::{Cut, Fault};
use crate::metrics;
use crate::request_log::RequestLog;
use crate::scenario::{NAMESPACE, OPERATOR_NAMESPACE, Scenario};
use crate::source::Sources;
use crate::transport::{FaultyTransport, ProcessState};

const LEASE: &str = "operator.keda.sh";

/// The service behind the metrics API.
const BACKEND: &str = "kedge.keda.svc";

/// How long after their creation Pods become ready.
const START_UP: Duration = Duration::from_secs(5);

/// The CRDs, as installed.
const CRDS: [&str; 4] = [
    include_str!("../../../crds/keda.sh_scaledobjects.yaml"),
    include_str!("../../../crds/keda.sh_scaledjobs.yaml"),
    include_str!("../../../crds/keda.sh_triggerauthentications.yaml"),
    include_str!("../../../crds/keda.sh_clustertriggerauthentications.yaml"),
];

/// The environment of one run. Clones share their state.
#[derive(Clone)]
#[allow(missing_debug_implementations)] // the readings have none
pub struct TestEnvironment(Arc<Inner>);

struct Inner {
    plane: Plane,
    sources: Sources,
    requests: Arc<RequestLog>,
    clock: Clock,
    operators: usize,
    page_size: Option<u32>,
    rotates_certificates: bool,
    runs_scaled_jobs: bool,
    replicas: Mutex<BTreeMap<String, Replica>>,
}

/// One process of the operator.
struct Replica {
    process: Arc<ProcessState>,
    source: Arc<ReadingsSource>,
    task: JoinHandle<()>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestEnvironment {
    /// Prepares a cluster with our CRDs, and starts the operator.
    pub async fn new(scenario: &Scenario, requests: Arc<RequestLog>) -> Self {
        let plane = prepared(scenario.begins_at);
        if scenario.rotates_certificates {
            install(&plane, &certificates::webhooks());
        }
        let inner = Inner {
            plane,
            sources: Sources::new(),
            requests,
            clock: Clock::starting_at(scenario.begins_at),
            operators: usize::try_from(scenario.operators).expect("a few"),
            page_size: scenario.page_size,
            rotates_certificates: scenario.rotates_certificates,
            runs_scaled_jobs: scenario.drained.is_some(),
            replicas: Mutex::default(),
        };
        let environment = Self(Arc::new(inner));
        let served = environment.clone();
        environment.0.plane.register_backend(BACKEND, metrics::backend(move || served.readings()));
        for number in 0..scenario.operators {
            environment.launch(&format!("kedge-{number}"));
        }
        environment
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

    /// Runs the controllers of the cluster until dropped.
    pub async fn run_controllers(self) {
        let settings = controllers::Settings { start_up: START_UP, ..controllers::Settings::default() };
        Controllers::new(&self.0.plane, settings).run().await;
    }

    /// Restarts processes that ended, until dropped.
    pub async fn restart_ended_processes(self) {
        loop {
            self.0.requests.crashed.notified().await;
            let ended: Vec<(String, Duration)> = {
                let replicas = self.replicas();
                let ended = |(name, replica): (&String, &Replica)| Some((name.clone(), replica.process.ended()?));
                replicas.iter().filter_map(ended).collect()
            };
            for (name, downtime) in ended {
                self.replicas().remove(&name);
                tokio::time::sleep(downtime).await;
                self.launch(&name);
                self.0.requests.mark_active();
            }
        }
    }

    /// Injects the faults that have a time.
    pub async fn inject_timed_faults(self, faults: Vec<Fault>) {
        let started_at = Instant::now();
        let time_of = |fault: &Fault| match fault {
            Fault::Clock { at, .. } | Fault::Partition { at, .. } | Fault::Kill { at, .. } => Some(*at),
            _ => None,
        };
        let mut timed: Vec<(Duration, Fault)> =
            faults.into_iter().filter_map(|fault| Some((time_of(&fault)?, fault))).collect();
        timed.sort_by_key(|(at, _)| *at);
        for (at, fault) in timed {
            tokio::time::sleep_until(started_at + at).await;
            self.0.requests.mark_active();
            match fault {
                Fault::Clock { by_seconds, .. } => self.0.clock.adjust(by_seconds),
                Fault::Partition { lasts, cut, .. } => self.cut_off(cut, lasts),
                Fault::Kill { downtime, .. } => self.kill(downtime),
                _ => {}
            }
        }
    }

    /// Ends the leader, or the only process.
    fn kill(&self, downtime: Duration) {
        let process = self.leader().or_else(|| self.replicas().values().next().map(|one| one.process.clone()));
        if let Some(process) = process {
            process.end(downtime);
            self.0.requests.crashed.notify_one();
        }
    }

    /// Partitions the replica that holds the lease.
    fn cut_off(&self, cut: Cut, lasts: Duration) {
        if let Some(leader) = self.leader() {
            leader.cut_off(cut, Instant::now() + lasts);
        }
    }

    /// The replica that holds the lease.
    fn leader(&self) -> Option<Arc<ProcessState>> {
        let lease = self.0.plane.object(&leases(), Some(OPERATOR_NAMESPACE), LEASE)?;
        let holder = lease["spec"]["holderIdentity"].as_str()?.to_owned();
        self.replicas().get(&holder).map(|one| one.process.clone())
    }

    /// The readings behind the metrics API: those of the first running replica.
    fn readings(&self) -> Option<Arc<ReadingsSource>> {
        let replicas = self.replicas();
        replicas.values().find(|replica| replica.process.ended().is_none()).map(|replica| replica.source.clone())
    }

    fn launch(&self, name: &str) {
        let process = Arc::new(ProcessState::default());
        let transport = FaultyTransport {
            plane: self.0.plane.clone(),
            replica: name.to_owned(),
            requests: self.0.requests.clone(),
            process: process.clone(),
            page_size: self.0.page_size,
        };
        let client = kube::Client::new(RetryAfterLayer.layer(transport), "default");
        let settings = self.settings(name);
        let reads = Arc::new(KubeReads::new(client.clone(), settings.credentials.clone()));
        let registry = Registry::new(kedge_scalers::Settings::default(), self.0.sources.connector(), reads);
        let rotation = self.0.rotates_certificates.then(|| certificates::rotate(client.clone(), self.0.clock.clone()));
        let operator = Operator::start(client, self.0.clock.clone(), registry, settings);
        let source = Arc::new(operator.source());
        let task = tokio::spawn(async move {
            let rotation = OptionFuture::from(rotation);
            tokio::select! {
                biased;
                done = operator.run(std::future::pending()) => done.expect("the operator does not break"),
                Some(never) = rotation => match never {},
            }
        });
        self.replicas().insert(name.to_owned(), Replica { process, source, task });
    }

    fn settings(&self, name: &str) -> Settings {
        Settings {
            namespaces: Vec::new(),
            selector: None,
            concurrency: 5,
            instance: name.to_owned(),
            version: "1.0.0".to_owned(),
            credentials: credentials::Settings {
                cluster_object_namespace: Some(OPERATOR_NAMESPACE.to_owned()),
                ..credentials::Settings::default()
            },
            election: (self.0.operators > 1).then(|| LeaderElection {
                namespace: OPERATOR_NAMESPACE.to_owned(),
                name: LEASE.to_owned(),
                identity: name.to_owned(),
                timing: LeaseTiming::default(),
            }),
            history: None,
            runs_scaled_jobs: self.0.runs_scaled_jobs,
        }
    }

    fn replicas(&self) -> MutexGuard<'_, BTreeMap<String, Replica>> {
        self.0.replicas.lock().expect("no holder panics")
    }

    /// Ends all processes, and releases everything that the run holds.
    pub fn shut_down(&self) {
        // The plane and its backend hold each other.
        self.0.plane.remove_backend(BACKEND);
        self.replicas().clear();
    }

    /// Whether all processes run.
    pub fn all_running(&self) -> bool {
        let replicas = self.replicas();
        replicas.len() == self.0.operators && replicas.values().all(|replica| replica.process.ended().is_none())
    }

    /// The process that ended without a fault, if there is one.
    pub fn ended_by_itself(&self) -> Option<String> {
        let replicas = self.replicas();
        replicas
            .iter()
            .find(|(_, replica)| replica.task.is_finished())
            .map(|(name, _)| format!("{name} ended without a fault"))
    }
}

/// The resource of leader election.
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
    let done = plane.call(call).now_or_never().expect("no other server is involved");
    done.expect("the initial objects are valid");
}

fn objects() -> Vec<Value> {
    let namespace = |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": { "name": "v1beta1.external.metrics.k8s.io" },
        "spec": {
            "group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": { "name": "kedge", "namespace": OPERATOR_NAMESPACE }, "insecureSkipTLSVerify": true,
        },
    });
    let crds = CRDS.iter().map(|text| serde_saphyr::from_str(text).expect("a CRD"));
    [namespace(NAMESPACE), namespace(OPERATOR_NAMESPACE), service].into_iter().chain(crds).collect()
}
