//! The finalizer and the label of a managed object, and its deletion: the HPA is deleted, the target gets its original replicas back if the
//! object asks for that, then the finalizer is removed.

use kedge_api::ScaledObject;
use kedge_api::names::{FINALIZER, events, labels};
use kedge_cluster::api_error::is_not_found;
use kedge_cluster::{EventType, ObjectKey, TargetError};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tracing::warn;

use super::{ReconcileError, ReconcileState, Reconciler, can_be_label_value};
use crate::cluster_cache::LazyObject;

/// How often the restoring of replicas is tried again after it was denied: for about half a minute.
const RETRIES_WHEN_DENIED: u32 = 5;

/// How often it is tried again after anything else, such as an outage: for about half an hour.
const RETRIES: u32 = 35;

impl Reconciler {
    /// Adds the finalizer and the label with the object's name where they are missing, in one write.
    pub(super) async fn ensure_marks(&self, object: LazyObject) -> Result<LazyObject, ReconcileError> {
        let meta = &object.metadata;
        let name = meta.name.as_deref().unwrap_or_default();
        let finalizers = meta.finalizers.as_deref().unwrap_or_default();
        let label = meta.labels.as_ref().and_then(|labels| labels.get(labels::SCALED_OBJECT_NAME));
        // A name that is too long is reported later, and the object can be deleted.
        let labelled = label.is_some_and(|label| label == name) || !can_be_label_value(name);
        if finalizers.iter().any(|one| one == FINALIZER) && labelled {
            return Ok(object);
        }
        let mut wanted = finalizers.to_vec();
        if !wanted.iter().any(|one| one == FINALIZER) {
            wanted.push(FINALIZER.to_owned());
        }
        // The resource version makes the patch fail if another client changed the finalizers meanwhile.
        let label = can_be_label_value(name).then_some(name);
        let labels = label.map(|name| json!({ labels::SCALED_OBJECT_NAME: name })).unwrap_or_else(|| json!({}));
        let patch = json!({ "metadata": {
            "resourceVersion": meta.resource_version,
            "finalizers": wanted,
            "labels": labels,
        }});
        Box::pin(self.patch_object(&object, &patch)).await
    }

    /// Cleans up after a deleted object, and removes the finalizer.
    pub(super) async fn finalize(
        &self,
        key: &ObjectKey,
        object: &ScaledObject,
        state: &mut ReconcileState,
    ) -> Result<(), ReconcileError> {
        let finalizers = object.metadata.finalizers.clone().unwrap_or_default();
        if !finalizers.iter().any(|one| one == FINALIZER) {
            return Ok(());
        }
        if self.readings.get(key).is_some_and(|scalers| scalers.is_any_built()) {
            self.events.publish(object, EventType::Normal, events::SCALERS_STOPPED, "Stopped scalers watch");
        }
        let (uid, failures) = (std::mem::take(&mut state.uid), state.retries.failures);
        self.forget(key, state);
        // The tries are counted until it is gone.
        (state.uid, state.retries.failures) = (uid, failures);
        // First, so that the HPA does not scale the target again after its replicas were restored.
        self.delete_own_hpas(object, None).await?;
        self.restore_replicas(object, failures).await?;
        self.events.publish(object, EventType::Warning, events::SCALED_OBJECT_DELETED, "ScaledObject was deleted");
        let left: Vec<&String> = finalizers.iter().filter(|one| *one != FINALIZER).collect();
        let patch = json!({ "metadata": { "resourceVersion": object.metadata.resource_version, "finalizers": left } });
        match self.patch_object(object, &patch).await {
            Err(ReconcileError::Api { source, .. }) if is_not_found(&source) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Gives the target its original replicas, if the object asks for that. A deletion does not wait for ever: after some tries
    /// that failed, the target is left as it is.
    async fn restore_replicas(&self, object: &ScaledObject, failures: u32) -> Result<(), ReconcileError> {
        let asked = object.spec.advanced.as_ref().and_then(|advanced| advanced.restore_to_original_replica_count);
        let original = object.status.as_ref().and_then(|status| status.original_replica_count);
        let (Some(true), Some(original)) = (asked, original) else { return Ok(()) };
        match self.set_replicas(object, original).await {
            // A target that does not exist has nothing to restore.
            Err(ReconcileError::Target(
                error @ (TargetError::Missing { .. }
                | TargetError::NoScale { .. }
                | TargetError::UnknownKind { .. }
                | TargetError::InvalidName { .. }),
            )) => {
                warn!(name = object.metadata.name, error = %error, "replicas not restored");
                Ok(())
            }
            Err(error) if failures >= retries_of(&error) && !error.is_conflict() => {
                warn!(name = object.metadata.name, error = %error, "replicas not restored");
                let note = format!("The target keeps its replicas, {original} are not restored: {error}");
                let reason = events::SCALE_TARGET_DEACTIVATION_FAILED;
                self.events.publish(object, EventType::Warning, reason, &note);
                Ok(())
            }
            done => done,
        }
    }

    /// Patches the object itself, and caches the result at once.
    async fn patch_object(
        &self,
        object: &ScaledObject,
        patch: &serde_json::Value,
    ) -> Result<LazyObject, ReconcileError> {
        let (namespace, name) = (object.metadata.namespace.as_deref(), object.metadata.name.as_deref());
        let api: Api<ScaledObject> = Api::namespaced(self.client.clone(), namespace.unwrap_or_default());
        let written = api.patch(name.unwrap_or_default(), &PatchParams::default(), &Patch::Merge(patch)).await;
        let written = written.map_err(ReconcileError::api("cannot mark the ScaledObject"))?;
        Ok(self.cluster.record_written_object(written))
    }
}

fn retries_of(error: &ReconcileError) -> u32 {
    if error.is_denied() { RETRIES_WHEN_DENIED } else { RETRIES }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kedge_api::names::events;
    use serde_json::{Value, json};

    use crate::test_cluster::TestCluster;

    const OBJECT: &str = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects/web";

    /// A cluster with an object that is being deleted and asks for its original replicas.
    fn being_deleted(target: &str) -> TestCluster {
        let cluster = TestCluster::new();
        let advanced = json!({ "restoreToOriginalReplicaCount": true });
        cluster.apply_known("web", 4, json!({ "advanced": advanced, "scaleTargetRef": { "name": target } }));
        let mut object = cluster.object(OBJECT).unwrap();
        object["metadata"]["finalizers"] = json!(["finalizer.keda.sh"]);
        object["status"]["originalReplicaCount"] = json!(2);
        cluster.apply(OBJECT, object);
        cluster.delete(OBJECT);
        assert!(cluster.object(OBJECT).is_some(), "it waits for its finalizer");
        cluster
    }

    async fn run(cluster: &TestCluster, lasts: Duration) {
        let running = tokio::spawn(cluster.operator().run(std::future::pending()));
        tokio::time::sleep(lasts).await;
        running.abort();
    }

    fn replicas(cluster: &TestCluster) -> Value {
        cluster.object("/apis/apps/v1/namespaces/shop/deployments/web").unwrap()["spec"]["replicas"].clone()
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_object_restores_its_replicas() {
        let cluster = being_deleted("web");
        run(&cluster, Duration::from_secs(5)).await;
        assert_eq!((cluster.object(OBJECT), replicas(&cluster)), (None, json!(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_deletion_does_not_wait_for_ever_for_replicas_that_cannot_be_restored() {
        let cluster = being_deleted("web");
        cluster.break_path("/apis/apps/v1/namespaces/shop/deployments/web/scale", 403);
        run(&cluster, Duration::from_secs(10)).await;
        assert!(cluster.object(OBJECT).is_some(), "it is tried again");
        run(&cluster, Duration::from_secs(120)).await;
        assert_eq!((cluster.object(OBJECT), replicas(&cluster)), (None, json!(4)));
        let published = cluster.objects("/apis/events.k8s.io/v1/namespaces/shop/events");
        let failed = published.iter().filter(|event| event["reason"] == events::SCALE_TARGET_DEACTIVATION_FAILED);
        let notes: Vec<&Value> = failed.map(|event| &event["note"]).collect();
        assert!(notes.len() == 1 && notes[0].as_str().unwrap().contains("2 are not restored"), "{published:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_leads_elsewhere_is_not_requested() {
        let cluster = being_deleted("web/scale?x=");
        run(&cluster, Duration::from_secs(5)).await;
        assert_eq!((cluster.object(OBJECT), replicas(&cluster)), (None, json!(4)));
        assert!(
            cluster.requests().iter().all(|request| !request.contains("/deployments/")),
            "{:?}",
            cluster.requests()
        );
    }
}
