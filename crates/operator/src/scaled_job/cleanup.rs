//! Deleting Jobs. The decision which is in `kedge_core::scaled_job::cleanup`.

use futures::{StreamExt, stream};
use k8s_openapi::api::batch::v1::Job as KubernetesJob;
use kedge_api::names::events;
use kedge_api::scaled_job::RolloutPropagation;
use kedge_cluster::EventType;
use kedge_cluster::api_error::{self, is_not_found};
use kedge_core::scaled_job::cleanup::{outdated, surplus};
use kedge_core::scaled_job::jobs::Job;
use kedge_core::scaled_job::policy::JobPolicy;
use kedge_core::scaled_job::render::generation_of;
use kube::api::{Api, DeleteParams, PropagationPolicy};
use tracing::warn;

use super::{JobReconcileError, JobReconciler};
use crate::job_cache::LazyScaledJob;
use crate::slots::Slot;

/// How many Jobs of one object are deleted at once.
const AT_ONCE: usize = 20;

impl JobReconciler {
    /// Deletes the Jobs of an older spec, running ones too, where the object asks for that.
    pub(super) async fn delete_outdated(
        &self,
        object: &LazyScaledJob,
        policy: &JobPolicy,
        slot: &mut Slot,
    ) -> Result<(), JobReconcileError> {
        let Some(propagation) = policy.rollout else { return Ok(()) };
        let generation = generation_of(object);
        let outdated = self.cache.find_in_jobs(&object.cached.key, |jobs| names(&outdated(jobs, generation)));
        if outdated.is_empty() {
            return Ok(());
        }
        let publish = |event_type, reason, note: &str| self.events.publish(&**object, event_type, reason, note);
        let owned = format!("{} jobs owned by the previous version of the scaledJob", outdated.len());
        publish(EventType::Normal, events::ROLLOUT_CLEANUP_STARTED, &format!("Deleting {owned}"));
        let propagation = match propagation {
            RolloutPropagation::Foreground => PropagationPolicy::Foreground,
            RolloutPropagation::Background => PropagationPolicy::Background,
        };
        match self.delete_jobs(object, &outdated, propagation, slot).await {
            None => {
                publish(EventType::Normal, events::ROLLOUT_CLEANUP_COMPLETED, &format!("Deleted {owned}"));
                Ok(())
            }
            Some((name, error)) => {
                let note = format!("Failed to delete job {name}: {}", api_error::message(&error));
                publish(EventType::Warning, events::ROLLOUT_CLEANUP_FAILED, &note);
                Err(JobReconcileError::api("cannot delete a Job of an older spec")(error))
            }
        }
    }

    /// Deletes finished Jobs beyond the limits. Returns whether none is left over; others are tried again with the next reconcile.
    pub(super) async fn delete_surplus(&self, object: &LazyScaledJob, policy: &JobPolicy, slot: &mut Slot) -> bool {
        let surplus = self.cache.find_in_jobs(&object.cached.key, |jobs| names(&surplus(jobs, policy.history)));
        if surplus.is_empty() {
            return true;
        }
        match self.delete_jobs(object, &surplus, PropagationPolicy::Background, slot).await {
            None => true,
            Some((job, error)) => {
                let key = &object.cached.key;
                warn!(namespace = %key.namespace, name = %key.name, job, error = %error, "finished Job not deleted; retrying");
                false
            }
        }
    }

    /// Deletes Jobs, and returns the first failure. One that is gone already is none.
    async fn delete_jobs(
        &self,
        object: &LazyScaledJob,
        jobs: &[String],
        propagation: PropagationPolicy,
        slot: &mut Slot,
    ) -> Option<(String, kube::Error)> {
        slot.hold().await;
        let key = &object.cached.key;
        let api: Api<KubernetesJob> = Api::namespaced(self.client.clone(), &key.namespace);
        let params = DeleteParams { propagation_policy: Some(propagation), ..DeleteParams::default() };
        let delete = |name: &String| {
            let (name, api, params) = (name.clone(), api.clone(), params.clone());
            async move {
                match api.delete(&name, &params).await {
                    // The Job, while it waits for a finalizer.
                    Ok(answer) if answer.is_left() => self.cache.record_ending_job(key, &name),
                    Err(error) if !is_not_found(&error) => return Some((name, error)),
                    _ => self.cache.record_deleted_job(key, &name),
                }
                None
            }
        };
        let failures = stream::iter(jobs.iter().map(delete)).buffered(AT_ONCE).filter_map(std::future::ready);
        failures.collect::<Vec<_>>().await.into_iter().next()
    }
}

fn names(jobs: &[&Job]) -> Vec<String> {
    jobs.iter().map(|job| job.name.to_string()).collect()
}
