//! What is cached of ScaledJobs: the objects, their Jobs, and the pods of those. A change enqueues the ScaledJob that it concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use k8s_openapi::api::batch::v1::{Job as KubernetesJob, JobStatus};
use k8s_openapi::api::core::v1::Pod as KubernetesPod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kedge_api::ScaledJob;
use kedge_api::names::labels;
use kedge_cluster::stored::{Stored, Unreadable};
use kedge_cluster::{ListWatchEvent, NamespacedName, ObjectKey, ScalableKind, Scope};
use kedge_core::credentials::Reference;
use kedge_core::scaled_job::jobs::{Job, JobCounts, JobPod, JobState};
use kedge_core::scaled_job::policy::JobPolicy;
use serde::{Deserialize, Deserializer};
use tokio::sync::watch as signal;

use crate::cluster_cache::{Cached, Lazy, authentications, is_later, needs_reconcile};
use crate::compact::Compact;
use crate::work_queue::WorkQueue;

/// The label of pods with the name of their Job.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

/// One version of a ScaledJob.
#[derive(Clone, Debug)]
pub struct CachedScaledJob {
    pub key: ObjectKey,
    pub uid: Option<Box<str>>,
    pub generation: Option<i64>,
    pub created_at: Option<Timestamp>,
    pub trigger_types: Box<[Box<str>]>,
    /// What it refers to, unless it is being deleted.
    pub authentications: Box<[Reference]>,
    version: Option<Box<str>>,
    object: Compact<ScaledJob>,
}

/// A Job as its watch reports it.
#[derive(Clone, Debug)]
pub struct WatchedJob {
    /// The name of its ScaledJob.
    owner: NamespacedName,
    version: Option<Box<str>>,
    job: Job,
}

/// A pod of a Job as its watch reports it.
#[derive(Clone, Debug)]
pub struct WatchedPod {
    key: NamespacedName,
    job: Box<str>,
    pod: JobPod,
}

/// The cache.
#[derive(Debug)]
pub struct JobCache {
    cached: Mutex<Contents>,
    queue: Arc<WorkQueue<ObjectKey>>,
    /// Signals every change of objects, apart from changes of their status alone.
    changed: signal::Sender<()>,
}

#[derive(Debug, Default)]
struct Contents {
    objects: BTreeMap<ObjectKey, Arc<CachedScaledJob>>,
    /// The ScaledJobs that our types cannot read.
    unreadable: BTreeMap<ObjectKey, Arc<Unreadable>>,
    /// By the name of the ScaledJob.
    jobs: BTreeMap<NamespacedName, BTreeMap<Box<str>, WatchedJob>>,
    /// By the name of the pod.
    pods: BTreeMap<NamespacedName, (Box<str>, JobPod)>,
    /// The scopes whose Jobs, and whose pods, were listed.
    jobs_listed: BTreeSet<Scope>,
    pods_listed: BTreeSet<Scope>,
}

impl From<ScaledJob> for CachedScaledJob {
    fn from(mut object: ScaledJob) -> Self {
        object.metadata.managed_fields = None;
        let key = ObjectKey::from(&object);
        let (meta, spec) = (&object.metadata, &object.spec);
        Self {
            uid: meta.uid.as_deref().map(Box::from),
            generation: meta.generation,
            created_at: meta.creation_timestamp.as_ref().map(|time| time.0),
            trigger_types: spec.triggers.iter().map(|trigger| Box::from(trigger.r#type.as_str())).collect(),
            authentications: authentications(meta, &spec.triggers, &key.namespace),
            version: meta.resource_version.as_deref().map(Box::from),
            object: Compact::new(&object),
            key,
        }
    }
}

impl<'de> Deserialize<'de> for CachedScaledJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ScaledJob::deserialize(deserializer).map(Self::from)
    }
}

impl Cached for CachedScaledJob {
    type Object = ScaledJob;

    fn read_object(&self) -> ScaledJob {
        self.object.read()
    }
}

pub type LazyScaledJob = Lazy<CachedScaledJob>;

impl From<&KubernetesJob> for WatchedJob {
    fn from(job: &KubernetesJob) -> Self {
        let meta = &job.metadata;
        let owner = meta.labels.as_ref().and_then(|labels| labels.get(labels::SCALED_JOB_NAME));
        Self {
            owner: NamespacedName::new(meta.namespace.as_deref().unwrap_or_default(), owner.map_or("", String::as_str)),
            version: meta.resource_version.as_deref().map(Box::from),
            job: Job::from(job),
        }
    }
}

/// Reads neither the spec nor the pod template, which are most of a Job.
impl<'de> Deserialize<'de> for WatchedJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Part {
            metadata: ObjectMeta,
            status: Option<JobStatus>,
        }
        let Part { metadata, status } = Part::deserialize(deserializer)?;
        Ok(Self::from(&KubernetesJob { metadata, status, ..KubernetesJob::default() }))
    }
}

impl<'de> Deserialize<'de> for WatchedPod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pod = KubernetesPod::deserialize(deserializer)?;
        let job = pod.metadata.labels.as_ref().and_then(|labels| labels.get(JOB_NAME));
        Ok(Self {
            key: NamespacedName::from_meta(&pod.metadata),
            job: job.map_or("", String::as_str).into(),
            pod: JobPod::from(&pod),
        })
    }
}

impl JobCache {
    pub fn new(queue: Arc<WorkQueue<ObjectKey>>) -> Self {
        Self { cached: Mutex::default(), queue, changed: signal::Sender::new(()) }
    }

    /// Signals when objects are created, changed or deleted.
    pub fn changes(&self) -> signal::Receiver<()> {
        self.changed.subscribe()
    }

    pub fn objects(&self) -> Vec<Arc<CachedScaledJob>> {
        self.lock().objects.values().cloned().collect()
    }

    pub fn object(&self, key: &ObjectKey) -> Option<LazyScaledJob> {
        self.lock().objects.get(key).cloned().map(LazyScaledJob::from)
    }

    /// The object, if our types cannot read it.
    pub fn unreadable(&self, key: &ObjectKey) -> Option<Arc<Unreadable>> {
        self.lock().unreadable.get(key).cloned()
    }

    /// Whether an object changed in more than its status since this version of it.
    pub fn is_changed(&self, object: &LazyScaledJob) -> bool {
        match self.object(&object.cached.key) {
            Some(now) if Arc::ptr_eq(&now.cached, &object.cached) => false,
            Some(now) => needs_reconcile(&object.metadata, &now.metadata),
            None => true,
        }
    }

    /// Enqueues every object.
    pub fn enqueue_all(&self) {
        let cached = self.lock();
        cached.objects.keys().chain(cached.unreadable.keys()).for_each(|key| self.queue.add_now(key.clone()));
    }

    /// Caches an object as a write returned it, without waiting for the watch.
    pub fn record_written_object(&self, object: ScaledJob) -> LazyScaledJob {
        let written = Arc::new(CachedScaledJob::from(object.clone()));
        let mut cached = self.lock();
        let is_newer = |cached: &Arc<CachedScaledJob>| is_later(written.version.as_deref(), cached.version.as_deref());
        if cached.objects.get(&written.key).is_some_and(is_newer) {
            cached.objects.insert(written.key.clone(), written.clone());
        }
        LazyScaledJob::written(written, object)
    }

    /// What a function finds in the Jobs of an object. There are none while they are not known.
    pub fn find_in_jobs<T>(&self, key: &ObjectKey, find: impl FnOnce(&mut dyn Iterator<Item = &Job>) -> T) -> T {
        find(&mut self.lock().jobs_of(key).map(|watched| &watched.job))
    }

    /// How many Jobs of an object have not ended; `None` while they are not known, or pods that have to be.
    pub fn counts(&self, key: &ObjectKey, policy: &JobPolicy) -> Option<JobCounts> {
        let cached = self.lock();
        let covers = |listed: &BTreeSet<Scope>| listed.iter().any(|scope| scope.includes(&key.namespace));
        let needs_pods = policy.strategy.counts_pending();
        if !covers(&cached.jobs_listed) || needs_pods && !covers(&cached.pods_listed) {
            return None;
        }
        let started: BTreeSet<&str> = match needs_pods {
            false => BTreeSet::new(),
            true => cached.started_jobs(&key.namespace, &policy.pending_pod_conditions),
        };
        let jobs = cached.jobs_of(key).map(|watched| &watched.job);
        Some(JobCounts::of(jobs, |job| !needs_pods || started.contains(&*job.name)))
    }

    /// Caches a Job of an object as a request returned it, without waiting for the watch.
    pub fn record_job(&self, key: &ObjectKey, job: &KubernetesJob) {
        self.lock().insert_job(WatchedJob { owner: name_of(key), ..WatchedJob::from(job) });
    }

    /// Removes a Job that was deleted.
    pub fn record_deleted_job(&self, key: &ObjectKey, name: &str) {
        if let Some(jobs) = self.lock().jobs.get_mut(&name_of(key)) {
            jobs.remove(name);
        }
    }

    /// Notes that a Job is being deleted.
    pub fn record_ending_job(&self, key: &ObjectKey, name: &str) {
        if let Some(watched) = self.lock().jobs.get_mut(&name_of(key)).and_then(|jobs| jobs.get_mut(name)) {
            watched.job.is_being_deleted = true;
        }
    }

    /// Applies an event of the watch of ScaledJobs in this scope.
    pub fn apply_object_event(&self, scope: &Scope, event: ListWatchEvent<Stored<CachedScaledJob>>) {
        let is_listed = matches!(event, ListWatchEvent::Listed(_));
        let mut cached = self.lock();
        let concerned = match event {
            ListWatchEvent::Listed(all) => {
                let inside = |key: &ObjectKey| scope.includes(&key.namespace);
                let mut gone: BTreeSet<ObjectKey> = cached.objects.keys().filter(|key| inside(key)).cloned().collect();
                cached.unreadable.retain(|key, _| !inside(key));
                let mut concerned = Vec::new();
                for stored in all {
                    let key = key_of(&stored);
                    gone.remove(&key);
                    concerned.extend(cached.insert_object(key, stored));
                }
                gone.iter().for_each(|key| drop(cached.objects.remove(key)));
                concerned.extend(gone);
                concerned
            }
            ListWatchEvent::Applied(stored) => cached.insert_object(key_of(&stored), stored).into_iter().collect(),
            ListWatchEvent::Deleted(stored) => {
                let key = key_of(&stored);
                cached.objects.remove(&key);
                cached.unreadable.remove(&key);
                vec![key]
            }
        };
        drop(cached);
        if is_listed || !concerned.is_empty() {
            self.changed.send_replace(());
        }
        concerned.into_iter().for_each(|key| self.queue.add_now(key));
    }

    /// Applies an event of the watch of Jobs in this scope. A Job that ended makes its ScaledJob due: others may have to go.
    pub fn apply_job_event(&self, scope: &Scope, event: ListWatchEvent<WatchedJob>) {
        let mut cached = self.lock();
        let concerned: Vec<NamespacedName> = match event {
            ListWatchEvent::Listed(all) => {
                cached.jobs.retain(|owner, _| !scope.includes(&owner.namespace));
                for job in all {
                    cached.insert_job(job);
                }
                cached.jobs_listed.insert(scope.clone());
                cached.objects.keys().filter(|key| scope.includes(&key.namespace)).map(name_of).collect()
            }
            ListWatchEvent::Applied(job) => {
                let owner = job.owner.clone();
                cached.insert_job(job).then_some(owner).into_iter().collect()
            }
            ListWatchEvent::Deleted(job) => {
                cached.remove_job(&job);
                Vec::new()
            }
        };
        drop(cached);
        for NamespacedName { namespace, name } in concerned {
            self.queue.add_now(ObjectKey { kind: ScalableKind::ScaledJob, namespace, name });
        }
    }

    /// Applies an event of the watch of pods in this scope.
    pub fn apply_pod_event(&self, scope: &Scope, event: ListWatchEvent<WatchedPod>) {
        let mut cached = self.lock();
        let insert = |cached: &mut Contents, one: WatchedPod| drop(cached.pods.insert(one.key, (one.job, one.pod)));
        match event {
            ListWatchEvent::Listed(all) => {
                cached.pods.retain(|key, _| !scope.includes(&key.namespace));
                all.into_iter().for_each(|one| insert(&mut cached, one));
                if cached.pods_listed.insert(scope.clone()) {
                    drop(cached);
                    self.enqueue_all();
                }
            }
            ListWatchEvent::Applied(one) => insert(&mut cached, one),
            ListWatchEvent::Deleted(one) => drop(cached.pods.remove(&one.key)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.cached.lock().expect("no holder of the lock panics")
    }
}

impl Contents {
    fn jobs_of(&self, key: &ObjectKey) -> impl Iterator<Item = &WatchedJob> {
        self.jobs.get(&name_of(key)).into_iter().flat_map(BTreeMap::values)
    }

    /// The names of the Jobs of a namespace with a pod that has started.
    fn started_jobs(&self, namespace: &Arc<str>, conditions: &BTreeSet<String>) -> BTreeSet<&str> {
        let first = NamespacedName { namespace: namespace.clone(), name: "".into() };
        let pods = self.pods.range(first..).take_while(|(key, _)| key.namespace == *namespace);
        pods.filter(|(_, (_, pod))| pod.has_started(conditions)).map(|(_, (job, _))| &**job).collect()
    }

    /// Caches an object, and returns its key if it differs from before in more than its status.
    fn insert_object(&mut self, key: ObjectKey, stored: Stored<CachedScaledJob>) -> Option<ObjectKey> {
        match stored {
            Stored::Unreadable(one) => {
                self.objects.remove(&key);
                self.unreadable.insert(key.clone(), Arc::new(*one));
                Some(key)
            }
            Stored::Readable(object) => {
                self.unreadable.remove(&key);
                let before = self.objects.get(&key);
                let is_same = |before: &Arc<CachedScaledJob>| {
                    before.version.is_some() && (&before.uid, &before.version) == (&object.uid, &object.version)
                };
                if before.is_some_and(is_same) {
                    return None;
                }
                let metadata = |object: &CachedScaledJob| object.object.read().metadata;
                let is_changed = before.is_none_or(|before| needs_reconcile(&metadata(before), &metadata(&object)));
                self.objects.insert(key.clone(), Arc::new(object));
                is_changed.then_some(key)
            }
        }
    }

    /// Caches a Job unless it is cached in a later version. Returns whether it has ended since.
    fn insert_job(&mut self, watched: WatchedJob) -> bool {
        let jobs = self.jobs.entry(watched.owner.clone()).or_default();
        let before = jobs.get(&watched.job.name);
        if before.is_some_and(|before| !is_later(watched.version.as_deref(), before.version.as_deref())) {
            return false;
        }
        let is_finished = |watched: &WatchedJob| watched.job.state != JobState::Unfinished;
        let has_ended = is_finished(&watched) && !before.is_some_and(is_finished);
        jobs.insert(watched.job.name.clone(), watched);
        has_ended
    }

    fn remove_job(&mut self, watched: &WatchedJob) {
        if let Some(jobs) = self.jobs.get_mut(&watched.owner) {
            jobs.remove(&watched.job.name);
            if jobs.is_empty() {
                self.jobs.remove(&watched.owner);
            }
        }
    }
}

fn name_of(key: &ObjectKey) -> NamespacedName {
    NamespacedName { namespace: key.namespace.clone(), name: key.name.clone() }
}

fn key_of(stored: &Stored<CachedScaledJob>) -> ObjectKey {
    match stored {
        Stored::Readable(object) => object.key.clone(),
        Stored::Unreadable(one) => ObjectKey::from_meta(ScalableKind::ScaledJob, &one.metadata),
    }
}
