//! The HPA of an object: created, updated, renamed, adopted; an HPA of another owner is left alone.

use std::sync::Arc;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kedge_cluster::api_error::{is_conflict, is_not_found};
use kedge_cluster::{NamespacedName, ScaleTarget};
use kedge_core::hpa::compare::{RenderedKeys, needs_write};
use kedge_core::hpa::ownership::{HpaOwnership, check_ownership};
use kedge_core::hpa::render::{RenderError, TargetKind, render, with_composite};
use kedge_core::hpa::scale_in::{ban_scale_in, is_scale_in_banned};
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use tokio::time::Instant;

use super::poll::trigger_state;
use super::state::EnsuredHpa;
use super::subject::{HpaStep, Subject};
use super::{ReconcileError, ReconcileState, Reconciler};
use crate::cluster_cache::CachedHpa;
use crate::scalers_cache::ObjectScalers;
use crate::write_budget::WriteBudget;

/// Postpones a write: another client undoes it, the API server drops a part of it, or a source keeps changing its metrics.
fn postpone(name: Option<String>, until: Instant, state: &mut ReconcileState) -> HpaStep {
    state.postpone(until);
    let problem = format!(
        "the HPA was written {} times within a minute, and still differs; find the client that changes it, or the trigger whose metrics change",
        WriteBudget::PER_MINUTE
    );
    HpaStep::Postponed { name, problem }
}

impl Reconciler {
    /// Makes the HPA what it must be.
    pub(super) async fn ensure_hpa(
        &self,
        Subject { object, policy, target, scalers, .. }: Subject<'_>,
        state: &mut ReconcileState,
    ) -> Result<HpaStep, ReconcileError> {
        state.ensured_hpa = None;
        let rendered = match self.render_hpa(object, target, scalers) {
            Some(Ok(rendered)) => rendered,
            Some(Err(error)) => return Ok(HpaStep::Rejected { problem: error.to_string() }),
            None => return Ok(HpaStep::NoMetrics),
        };
        let name = rendered.metadata.name.clone();
        self.fetch_recorded_hpa(object, name.as_deref()).await?;
        self.delete_own_hpas(object, name.as_deref()).await?;
        let key = NamespacedName::from_meta(&rendered.metadata);
        let is_new = self.cluster.hpa(&key).is_none();
        if is_new {
            match state.hpa_writes.take() {
                Ok(()) => self.create_hpa(&key, &rendered).await?,
                Err(until) => return Ok(postpone(name, until, state)),
            }
        }
        // Another replica may have deleted it since.
        let Some(found) = self.cluster.hpa(&key) else { return Err(ReconcileError::Changed) };
        let existing = found.hpa.read();
        if let HpaOwnership::Foreign { because } = check_ownership(object, &existing) {
            let problem = format!("failed to ensure HPA is correctly created for ScaledObject: {because}");
            return Ok(HpaStep::Rejected { problem });
        }
        if needs_write(&existing, &rendered, &state.rendered_keys) {
            if let Err(until) = state.hpa_writes.take() {
                return Ok(postpone(name, until, state));
            }
            let written = self.replace_hpa(&found, &rendered).await?;
            self.cluster.record_written_hpa(written);
        } else {
            state.ensured_hpa = Some(EnsuredHpa {
                object: object.cached.clone(),
                policy: policy.clone(),
                target: target.clone(),
                scalers: scalers.clone(),
                hpa: found.hpa,
                reported: None,
            });
        }
        state.rendered_keys = RenderedKeys::of(&rendered);
        Ok(if is_new { HpaStep::Created { name } } else { HpaStep::Ensured { name } })
    }

    /// The HPA, if neither it nor what it derives from has changed since it was ensured.
    pub(super) fn unchanged_hpa(
        &self,
        Subject { object, target, scalers, .. }: Subject<'_>,
        state: &ReconcileState,
    ) -> Option<HpaStep> {
        let ensured = state.ensured_hpa.as_ref()?;
        let is_derived_from = Arc::ptr_eq(&ensured.object, &object.cached)
            && Arc::ptr_eq(&ensured.scalers, scalers)
            && ensured.target == *target;
        let is_unchanged = is_derived_from && self.cluster.is_only_hpa(&scalers.key, &ensured.hpa);
        is_unchanged.then(|| HpaStep::Ensured { name: Some(ensured.hpa.key.name.to_string()) })
    }

    /// The HPA as it must be; `None` where no metric is known.
    fn render_hpa(
        &self,
        object: &ScaledObject,
        target: &ScaleTarget,
        scalers: &ObjectScalers,
    ) -> Option<Result<HorizontalPodAutoscaler, RenderError>> {
        let specs: Vec<_> =
            scalers.triggers.iter().map(|trigger| (trigger_state(trigger), trigger.specs.read())).collect();
        let is_scale_in_banned = is_scale_in_banned(specs.iter().map(|(state, specs)| (*state, specs.len())));
        let metrics = specs.into_iter().flat_map(|(_, specs)| specs).collect();
        let metrics = match &scalers.composite {
            Some(composite) => with_composite(metrics, composite),
            None => metrics,
        };
        if metrics.is_empty() {
            return None;
        }
        let kind = TargetKind { api_version: target.kind.api_version(), kind: target.kind.kind.clone() };
        Some(render(object, &kind, metrics, &self.version).map(|mut hpa| {
            if is_scale_in_banned {
                ban_scale_in(&mut hpa);
            }
            hpa
        }))
    }

    fn hpa_api(&self, namespace: &str) -> Api<HorizontalPodAutoscaler> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Creates the HPA, or fetches the one that has its name already.
    async fn create_hpa(&self, key: &NamespacedName, rendered: &HorizontalPodAutoscaler) -> Result<(), ReconcileError> {
        let api = self.hpa_api(&key.namespace);
        let hpa = match api.create(&PostParams::default(), rendered).await {
            Err(error) if is_conflict(&error) => {
                api.get(&key.name).await.map_err(ReconcileError::api("cannot read the HPA"))?
            }
            created => created.map_err(ReconcileError::api("cannot create the HPA"))?,
        };
        self.cluster.record_written_hpa(hpa);
        Ok(())
    }

    /// Replaces the HPA unless another client wrote it since it was read. What others added to it is removed.
    async fn replace_hpa(
        &self,
        found: &CachedHpa,
        rendered: &HorizontalPodAutoscaler,
    ) -> Result<HorizontalPodAutoscaler, ReconcileError> {
        let mut next = rendered.clone();
        next.metadata.resource_version = found.version.clone();
        let key = NamespacedName::from_meta(&next.metadata);
        let replaced = self.hpa_api(&key.namespace).replace(&key.name, &PostParams::default(), &next).await;
        if replaced.as_ref().is_err_and(is_not_found) {
            self.cluster.record_deleted_hpa(&key);
        }
        replaced.map_err(ReconcileError::api("cannot update the HPA"))
    }

    /// Fetches the HPA that the status names, if another is to replace it and the cache does not know it: the cache may be behind.
    async fn fetch_recorded_hpa(&self, object: &ScaledObject, stays: Option<&str>) -> Result<(), ReconcileError> {
        let recorded = object.status.as_ref().and_then(|status| status.hpa_name.as_deref());
        let Some(recorded) = recorded.filter(|recorded| !recorded.is_empty() && Some(*recorded) != stays) else {
            return Ok(());
        };
        let key = NamespacedName::new(object.metadata.namespace.clone().unwrap_or_default(), recorded);
        if self.cluster.hpa(&key).is_none() {
            let found = self.hpa_api(&key.namespace).get_opt(recorded).await;
            let found = found.map_err(ReconcileError::api("cannot read the HPA"))?;
            found.into_iter().for_each(|hpa| self.cluster.record_written_hpa(hpa));
        }
        Ok(())
    }

    /// Deletes every HPA of the object but the one that stays. The status alone does not name them all: a process may have ended after it
    /// created one and before it wrote the status.
    pub(super) async fn delete_own_hpas(
        &self,
        object: &ScaledObject,
        stays: Option<&str>,
    ) -> Result<(), ReconcileError> {
        for name in self.cluster.hpas_of(object) {
            if Some(&*name) != stays {
                self.delete_hpa(object, &name).await?;
            }
        }
        Ok(())
    }

    async fn delete_hpa(&self, object: &ScaledObject, name: &str) -> Result<(), ReconcileError> {
        let key = NamespacedName::new(object.metadata.namespace.clone().unwrap_or_default(), name);
        let is_ours = |found: &HorizontalPodAutoscaler| check_ownership(object, found) == HpaOwnership::Ours;
        let found = self.cluster.hpa(&key).map(|cached| cached.hpa.read());
        let Some(found) = found.filter(|found| is_ours(found)) else { return Ok(()) };
        let exactly = Preconditions { uid: found.metadata.uid.clone(), resource_version: None };
        let params = DeleteParams { preconditions: Some(exactly), ..DeleteParams::default() };
        match self.hpa_api(&key.namespace).delete(name, &params).await {
            Ok(_) => {}
            Err(error) if is_not_found(&error) => {}
            Err(error) => return Err(ReconcileError::api("cannot delete the HPA")(error)),
        }
        self.cluster.record_deleted_hpa(&key);
        Ok(())
    }
}
