//! The operator: watches fill the work queue, workers reconcile its objects. Of several replicas one leads; the standbys only keep what
//! they need to serve the metrics API.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::StreamExt;
use kedge_api::ScaledObject;
use kedge_cluster::{
    Clock, EventPublisher, LeaderElection, LeaderElector, ObjectKey, ScaleTargets, Scope, instant_after,
};
use kedge_scalers::Registry;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::cluster_cache::{ClusterCache, ScalingObserver};
use crate::cluster_watches::ClusterWatches;
use crate::credentials::usage::{Usage, WatchCoverage};
use crate::credentials::{self, Credentials, References};
use crate::history::{Histories, HistorySettings, OperatorView};
use crate::job_cache::JobCache;
use crate::leadership::Leadership;
use crate::metrics_source::ReadingsSource;
use crate::query_limits::QueryLimits;
use crate::readings::Readings;
use crate::scaled_job::JobReconciler;
use crate::scaled_job::unsupported::report_unsupported;
use crate::scaled_job::watches::JobWatches;
use crate::scaled_object::Reconciler;
use crate::scalers_builder::ScalersBuilder;
use crate::slots::Slots;
use crate::telemetry::Telemetry;
use crate::work_queue::WorkQueue;
use crate::workers::{Reconcilers, Workers};

/// How long reconciles in progress may take to end when the operator stops.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// How long the writes of events may take when the operator stops.
const EVENTS_WRITTEN_WITHIN: Duration = Duration::from_millis(500);

/// How many last activities are written at once when the operator stops.
const STOP_WRITES_AT_ONCE: usize = 100;

/// The settings of the operator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The watched namespaces; empty means all.
    pub namespaces: Vec<String>,
    /// The label selector of managed objects.
    pub selector: Option<String>,
    /// How many objects are reconciled at once.
    pub concurrency: usize,
    /// The name of this replica, in events.
    pub instance: String,
    /// The version that HPAs are labelled with.
    pub version: String,
    pub credentials: credentials::Settings,
    /// How replicas elect the leader; `None` where there is only one.
    pub election: Option<LeaderElection>,
    /// How much is kept of each object for a dashboard; `None` where none is served.
    pub history: Option<HistorySettings>,
    /// Whether ScaledJobs are run. Where they are not, each gets a condition that says so.
    pub runs_scaled_jobs: bool,
}

/// The operator, ready to run.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Operator {
    reconciler: Arc<Reconciler>,
    scaled_jobs: Option<Arc<JobReconciler>>,
    queue: Arc<WorkQueue<ObjectKey>>,
    watches: Arc<ClusterWatches>,
    scopes: Vec<Scope>,
    /// The label selector of managed objects.
    selector: Option<String>,
    concurrency: usize,
    usage: Arc<Usage>,
    election: Option<LeaderElection>,
}

/// Why a replica no longer leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Stopped,
    LeaseLost,
}

/// Why the operator ended by itself: an invariant of ours is broken.
#[derive(Debug, thiserror::Error)]
#[error("a reconcile ended abnormally: {0}")]
pub struct Broken(String);

impl Operator {
    /// Starts the watches; nothing is written before [`Operator::run`].
    pub fn start(client: Client, clock: Clock, registry: Registry, settings: Settings) -> Self {
        let queue = Arc::new(WorkQueue::new());
        let leadership = Arc::new(Leadership::default());
        let histories = settings.history.map(|history| Histories::new(history, clock.clone(), leadership.clone()));
        let observer = histories.clone().map(|histories| histories as Arc<dyn ScalingObserver>);
        let cluster = Arc::new(ClusterCache::new(queue.clone()).with_observer(observer));
        let scopes = Scope::from_namespaces(&settings.namespaces);
        let events = Arc::new(EventPublisher::new(client.clone(), clock.clone(), settings.instance.clone()));
        let telemetry = Arc::new(Telemetry::new(&settings.version));
        let jobs = settings.runs_scaled_jobs.then(|| Arc::new(JobCache::new(queue.clone())));
        let usage = Arc::new(Usage {
            telemetry: telemetry.clone(),
            client: client.clone(),
            events: events.clone(),
            cluster: cluster.clone(),
            jobs: jobs.clone(),
            scopes: scopes.clone(),
            selector: settings.credentials.selector.clone(),
            coverage: WatchCoverage::new(&settings.namespaces, settings.selector.as_deref()),
        });
        let watches = ClusterWatches::start(client.clone(), cluster.clone(), scopes.clone(), settings.selector.clone());
        let targets = Arc::new(ScaleTargets::new(client.clone()));
        let references = References::start(client.clone(), queue.clone(), &scopes);
        let credentials =
            Credentials::new(client.clone(), settings.credentials.clone(), references, registry.exchange());
        let credentials = Arc::new(credentials);
        let builder = ScalersBuilder {
            registry,
            telemetry: telemetry.clone(),
            credentials,
            queue: queue.clone(),
            leadership: leadership.clone(),
            query_limits: QueryLimits::default(),
        };
        let readings = Arc::new(Readings::new(clock.clone(), cluster.clone(), targets.clone(), builder, leadership));
        let scaled_jobs = jobs.map(|cache| {
            let watches = JobWatches::start(client.clone(), cache.clone(), scopes.clone(), settings.selector.clone());
            Arc::new(JobReconciler {
                client: client.clone(),
                clock: clock.clone(),
                cache,
                watches,
                readings: readings.clone(),
                events: events.clone(),
                telemetry: telemetry.clone(),
                version: settings.version.clone(),
            })
        });
        let reconciler = Arc::new(Reconciler {
            events,
            readings,
            version: settings.version.clone(),
            watches: watches.clone(),
            client: client.clone(),
            targets,
            telemetry,
            histories,
            clock,
            cluster,
        });
        let concurrency = settings.concurrency.max(1);
        let Settings { selector, election, .. } = settings;
        Self { reconciler, scaled_jobs, queue, watches, scopes, selector, concurrency, usage, election }
    }

    /// Returns when the caches are synced.
    #[cfg(test)]
    pub(crate) async fn caches_synced(&self) {
        self.watches.listed().await;
    }

    /// The source of the metrics API.
    pub fn source(&self) -> ReadingsSource {
        ReadingsSource { readings: self.reconciler.readings.clone() }
    }

    /// What a dashboard shows, where histories are kept.
    pub fn view(&self) -> Option<OperatorView> {
        let histories = self.reconciler.histories.clone()?;
        let leadership = self.reconciler.readings.leadership.clone();
        Some(OperatorView { histories, cluster: self.reconciler.cluster.clone(), leadership })
    }

    /// Renders the operator's own metrics; counts of objects are taken at that moment.
    pub fn telemetry(&self) -> impl Fn() -> Vec<u8> + Send + Sync + 'static {
        let (reconciler, jobs) = (self.reconciler.clone(), self.scaled_jobs.clone());
        move || {
            let objects = reconciler.cluster.objects();
            let jobs = jobs.as_ref().map(|jobs| jobs.cache.objects()).unwrap_or_default();
            let objects = objects.iter().map(|object| (&object.key, &*object.trigger_types));
            let jobs = jobs.iter().map(|object| (&object.key, &*object.trigger_types));
            reconciler.telemetry.count(objects.chain(jobs));
            reconciler.telemetry.render()
        }
    }

    /// Runs until it is stopped, then finishes the reconciles in progress.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), Broken> {
        tokio::pin!(stop);
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            () = self.watches.listed() => info!("caches synced"),
        }
        if self.election.is_some() {
            self.reconciler.telemetry.stand_by();
        }
        let Some(election) = self.election.clone() else {
            return self.lead(stop, std::future::pending()).await.map(drop);
        };
        let leadership = self.reconciler.readings.leadership.clone();
        let mut elector = LeaderElector::new(self.reconciler.client.clone(), self.reconciler.clock.clone(), election)
            .with_holder_observer(move |holder| leadership.note_leader(holder));
        loop {
            tokio::select! {
                biased;
                () = &mut stop => return Ok(()),
                () = elector.acquire() => {}
                never = self.stand_by() => match never {},
            }
            if self.lead(stop.as_mut(), elector.hold()).await? == Ended::Stopped {
                elector.release().await;
                return Ok(());
            }
        }
    }

    /// Drops cached scalers that no longer fit the cluster, and does nothing else.
    async fn stand_by(&self) -> Infallible {
        loop {
            let key = self.queue.next().await;
            self.reconciler.readings.drop_stale(&key);
        }
    }

    /// Reconciles objects until the operator is stopped or the Lease is lost.
    async fn lead(
        &self,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        lost: impl Future<Output = ()>,
    ) -> Result<Ended, Broken> {
        tokio::pin!(lost);
        let readings = &self.reconciler.readings;
        // What another leader counted is in the status.
        readings.clear();
        readings.leadership.become_leader();
        self.reconciler.telemetry.lead();
        self.reconciler.cluster.enqueue_all();
        let mut tasks = JoinSet::new();
        let client = self.reconciler.client.clone();
        match &self.scaled_jobs {
            Some(jobs) => jobs.cache.enqueue_all(),
            None => drop(tasks.spawn(report_unsupported(client, self.scopes.clone(), self.selector.clone()))),
        }
        tasks.spawn(self.usage.clone().run());
        let events = self.reconciler.events.clone();
        tasks.spawn(async move { match events.write_published().await {} });
        if let Some(histories) = self.reconciler.histories.clone() {
            let (client, cluster) = (self.reconciler.client.clone(), self.reconciler.cluster.clone());
            tasks.spawn(async move { match histories.attribute_changes(client, cluster).await {} });
        }
        let (mut workers, slots) = (Workers::default(), Slots::new(self.concurrency));
        let ended = self.reconcile_due(&mut workers, &slots, &mut stop, &mut lost).await?;
        if ended == Ended::Stopped {
            tokio::select! {
                biased;
                () = &mut lost => {}
                () = self.stop(&mut workers, &slots) => {}
            }
        }
        // Nothing is written from here on.
        workers.running.shutdown().await;
        tasks.shutdown().await;
        self.reconciler.events.clear();
        readings.leadership.become_standby();
        if let Some(histories) = &self.reconciler.histories {
            histories.clear();
        }
        self.reconciler.telemetry.stand_by();
        readings.clear();
        Ok(ended)
    }

    /// Reconciles the objects that are due, until an end.
    async fn reconcile_due(
        &self,
        workers: &mut Workers,
        slots: &Arc<Slots>,
        mut stop: impl Future<Output = ()> + Unpin,
        mut lost: impl Future<Output = ()> + Unpin,
    ) -> Result<Ended, Broken> {
        let reconcilers =
            Reconcilers { scaled_objects: self.reconciler.clone(), scaled_jobs: self.scaled_jobs.clone() };
        // It keeps its turn while other things happen.
        let free = slots.acquire();
        tokio::pin!(free);
        loop {
            tokio::select! {
                biased;
                () = &mut lost => return Ok(Ended::LeaseLost),
                () = &mut stop => return Ok(Ended::Stopped),
                Some(done) = workers.running.join_next(), if !workers.running.is_empty() => {
                    workers.finish(done.map_err(|error| Broken(error.to_string()))?, &self.queue);
                }
                slot = &mut free, if workers.needs_slot() => {
                    free.set(slots.acquire());
                    workers.start_waiting(slot, &reconcilers);
                }
                key = self.queue.next() => workers.add(key, slots, &reconcilers),
            }
        }
    }

    /// Lets reconciles end, and records when active objects were last active: the next leader counts from there.
    async fn stop(&self, workers: &mut Workers, slots: &Slots) {
        if tokio::time::timeout(STOP_WITHIN, workers.drain(slots)).await.is_err() {
            warn!("some reconciles did not end in time");
        }
        let active = workers.states.iter().filter_map(|(key, state)| Some((key, state.last_seen_active()?)));
        let write = |(key, at)| self.write_last_active(key, at);
        let events_until = instant_after(EVENTS_WRITTEN_WITHIN);
        // All the while the Lease is held, and no other replica scales.
        futures::stream::iter(active).for_each_concurrent(STOP_WRITES_AT_ONCE, write).await;
        if tokio::time::timeout_at(events_until, self.reconciler.events.written()).await.is_err() {
            warn!("some events were not written in time");
        }
    }

    async fn write_last_active(&self, key: &ObjectKey, at: DateTime<Utc>) {
        let patch = json!({ "status": { "lastActiveTime": kedge_api::time::to_time(at) } });
        let api: Api<ScaledObject> = Api::namespaced(self.reconciler.client.clone(), &key.namespace);
        if let Err(error) = api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            warn!(namespace = %key.namespace, name = %key.name, error = %error, "last activity not written");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::time::Instant;

    use super::*;
    use crate::test_cluster::TestCluster;

    #[tokio::test(start_paused = true)]
    async fn the_lease_is_released_though_a_renewal_was_on_its_way() {
        let cluster = TestCluster::new();
        let election = LeaderElection {
            namespace: "keda".to_owned(),
            name: "kedge".to_owned(),
            identity: "one".to_owned(),
            timing: Default::default(),
        };
        let noon = "2026-06-01T12:00:00Z".parse().unwrap();
        let mut elector = LeaderElector::new(cluster.client(), Clock::starting_at(noon), election);
        elector.acquire().await;
        let path = "/apis/coordination.k8s.io/v1/namespaces/keda/leases/kedge";
        let mut renewed = cluster.object(path).unwrap();
        assert_eq!(renewed["spec"]["holderIdentity"], "one");
        renewed["spec"]["renewTime"] = json!("2026-06-01T12:00:02.000000Z");
        cluster.apply(path, renewed);
        elector.release().await;
        let holder = cluster.object(path).unwrap()["spec"]["holderIdentity"].clone();
        assert!(holder.is_null() || holder == "", "{holder}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_writes_the_last_activities_side_by_side() {
        const OBJECTS: u32 = 200;
        const EACH: Duration = Duration::from_secs(1);
        let cluster = TestCluster::new();
        (0..OBJECTS).for_each(|index| cluster.apply_known(&format!("web-{index}"), 4, json!({})));
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(cluster.operator().run(async { drop(stopped.await) }));
        tokio::time::sleep(Duration::from_secs(60)).await;
        cluster.slow_down("/status", EACH);
        let started = Instant::now();
        stop.send(()).unwrap();
        running.await.unwrap().unwrap();
        let took = started.elapsed();
        assert!(took < OBJECTS * EACH / 10, "{took:?}");
        let written = cluster.requests().iter().rev().take_while(|request| request.ends_with("/status")).count();
        assert!(written >= 200, "{written} were written");
    }

    const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/shop/events";

    /// Stops an operator after it has scaled a target, and returns how long the stop took.
    async fn scale_and_stop(cluster: &TestCluster) -> Duration {
        let deployment = "/apis/apps/v1/namespaces/shop/deployments/web";
        cluster.apply_known("web", 0, json!({}));
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(cluster.operator().run(async { drop(stopped.await) }));
        while cluster.object(deployment).unwrap()["spec"]["replicas"] == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let started = Instant::now();
        stop.send(()).unwrap();
        running.await.unwrap().unwrap();
        started.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_written_before_the_operator_ends() {
        let cluster = TestCluster::new();
        cluster.slow_down("/events", EVENTS_WRITTEN_WITHIN / 2);
        scale_and_stop(&cluster).await;
        assert!(cluster.objects(EVENTS).iter().any(|event| event["reason"] == "KEDAScaleTargetActivated"));
    }

    #[tokio::test(start_paused = true)]
    async fn neither_reconciles_nor_the_stop_wait_for_events_that_cannot_be_written() {
        let cluster = TestCluster::new();
        cluster.slow_down("/events", Duration::from_secs(3600));
        let took = scale_and_stop(&cluster).await;
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert!(cluster.objects(EVENTS).is_empty());
    }
}
