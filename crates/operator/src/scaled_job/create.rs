//! Creating Jobs. The name of a Job says which it is, so that one whose creation went unnoticed is found and not created twice.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::{StreamExt, stream};
use k8s_openapi::api::batch::v1::Job as KubernetesJob;
use kedge_api::ScaledJob;
use kedge_api::names::{events, reasons};
use kedge_cluster::EventType;
use kedge_cluster::api_error;
use kedge_core::scaled_job::names::{job_name, next_sequence};
use kedge_core::scaled_job::render::{generation_of, render_job};
use kube::api::{Api, PostParams};
use kube::core::Request;
use tracing::{info, warn};

use super::{JobReconcileState, JobReconciler};
use crate::job_cache::LazyScaledJob;
use crate::slots::Slot;

/// How many Jobs of one object are created at once.
const AT_ONCE: usize = 20;

/// What came of one Job.
enum Outcome {
    Created,
    /// An earlier request had created it.
    Found,
    /// It may have been created all the same: the answer can be lost.
    Failed {
        sequence: u64,
        error: String,
    },
    /// It was not tried any more.
    LeftOut,
}

/// The Jobs of one poll, while they are created.
struct Batch<'a> {
    object: &'a ScaledJob,
    jobs: Api<KubernetesJob>,
    name: &'a str,
    generation: i64,
    next_sequence: AtomicU64,
    /// Set where no further Job will be accepted.
    is_over: AtomicBool,
}

impl JobReconciler {
    /// Creates Jobs, and returns why some could not be. Ends early where the object changes, or the API server accepts no more.
    pub(super) async fn create_jobs(
        &self,
        object: &LazyScaledJob,
        count: i64,
        state: &mut JobReconcileState,
        slot: &mut Slot,
    ) -> Vec<String> {
        slot.hold().await;
        let key = &object.cached.key;
        let known: BTreeSet<Box<str>> = self.cache.find_in_jobs(key, |jobs| jobs.map(|job| job.name.clone()).collect());
        let generation = generation_of(object);
        // First those of which it is not known whether they were created.
        let failed = state.failed_sequences(generation);
        failed.retain(|sequence| !known.contains(job_name(&key.name, generation, *sequence).as_str()));
        let again: Vec<u64> = failed.iter().copied().take(usize::try_from(count).unwrap_or(0)).collect();
        let after_failed = failed.last().map_or(0, |last| last + 1);
        let batch = Batch {
            object,
            jobs: Api::namespaced(self.client.clone(), &key.namespace),
            name: &key.name,
            generation,
            next_sequence: next_sequence(&key.name, generation, known.iter().map(|name| &**name))
                .max(after_failed)
                .into(),
            is_over: AtomicBool::new(false),
        };
        let others = again.len()..usize::try_from(count).unwrap_or(0);
        let sequences = again.iter().copied().map(Some).chain(others.map(|_| None));
        let outcomes = stream::iter(sequences).map(|first| self.create_job(&batch, object, first)).buffered(AT_ONCE);
        let outcomes: Vec<Outcome> = outcomes.collect().await;
        for (sequence, outcome) in again.iter().zip(&outcomes) {
            if !matches!(outcome, Outcome::LeftOut) {
                failed.remove(sequence);
            }
        }
        let created = outcomes.iter().filter(|one| matches!(one, Outcome::Created)).count();
        let found = outcomes.iter().filter(|one| matches!(one, Outcome::Found)).count();
        if found > 0 {
            info!(namespace = %key.namespace, name = %key.name, count = found, "Jobs of an earlier request found");
        }
        if created > 0 {
            let note = format!("Created {created} jobs");
            self.events.publish(&**object, EventType::Normal, events::JOBS_CREATED, &note);
        }
        let mut errors = Vec::new();
        for outcome in outcomes {
            if let Outcome::Failed { sequence, error } = outcome {
                failed.insert(sequence);
                errors.push(error);
            }
        }
        for error in errors.iter().collect::<BTreeSet<_>>() {
            let note = format!("Failed to create job {}-: {error}", key.name);
            self.events.publish(&**object, EventType::Warning, reasons::JOB_CREATE_FAILED, &note);
        }
        errors
    }

    /// Creates the Job with this sequence number, or with the next.
    async fn create_job(&self, batch: &Batch<'_>, object: &LazyScaledJob, first: Option<u64>) -> Outcome {
        let mut first = first;
        loop {
            if batch.is_over.load(Ordering::Relaxed) || self.cache.is_changed(object) {
                return Outcome::LeftOut;
            }
            let sequence = first.take().unwrap_or_else(|| batch.next_sequence.fetch_add(1, Ordering::Relaxed));
            let name = job_name(batch.name, batch.generation, sequence);
            match self.post(batch, &name).await {
                Ok(job) => {
                    self.cache.record_job(&object.cached.key, &job);
                    return Outcome::Created;
                }
                Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => {
                    if let Some(outcome) = self.find(batch, object, sequence, &name).await {
                        return outcome;
                    }
                }
                Err(error) => return failed(batch, sequence, &error),
            }
        }
    }

    /// Sends the Job as JSON: its template is kept as its author wrote it.
    async fn post(&self, batch: &Batch<'_>, name: &str) -> Result<KubernetesJob, kube::Error> {
        let body = render_job(batch.object, name, &self.version).to_string().into_bytes();
        let request = Request::new(batch.jobs.resource_url()).create(&PostParams::default(), body);
        self.client.request(request.map_err(kube::Error::BuildRequest)?).await
    }

    /// What is there under a name. `None` if it is the Job of another owner: then the next name is tried.
    async fn find(&self, batch: &Batch<'_>, object: &LazyScaledJob, sequence: u64, name: &str) -> Option<Outcome> {
        // A read may be stale: one that finds nothing is no reason for another name.
        let found = match batch.jobs.get(name).await {
            Ok(found) => found,
            Err(error) => return Some(failed(batch, sequence, &error)),
        };
        let mut owners = found.metadata.owner_references.iter().flatten();
        let is_own = owners.any(|owner| Some(&owner.uid) == batch.object.metadata.uid.as_ref());
        is_own.then(|| {
            self.cache.record_job(&object.cached.key, &found);
            Outcome::Found
        })
    }
}

fn failed(batch: &Batch<'_>, sequence: u64, error: &kube::Error) -> Outcome {
    let (namespace, name) = (batch.object.metadata.namespace.as_deref(), batch.name);
    let text = api_error::message(error).to_string();
    warn!(namespace, name, error = %text, "Job not created");
    // A quota, a denial and an invalid template hold for the others, too.
    if matches!(error, kube::Error::Api(status) if matches!(status.code, 400 | 403 | 422)) {
        batch.is_over.store(true, Ordering::Relaxed);
    }
    Outcome::Failed { sequence, error: text }
}
