//! The HPA of an object: made, kept as it must be, renamed, adopted, and never somebody else's.

use std::sync::Arc;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kedge_core::hpa::compare::{LastRendered, needs_write};
use kedge_core::hpa::ownership::{HpaOwnership, check_ownership};
use kedge_core::hpa::render::{self, TargetKind, render, with_composite};
use kube::api::{Api, DeleteParams, PostParams, Preconditions};

use super::{Findings, Memory, PassError, Passes};
use crate::board::ObjectBoard;
use kedge_cluster::ObjectKey;
use kedge_cluster::target::ScaleTarget;

impl Passes {
    /// Makes the HPA what it must be. A foreign HPA in its place is a problem, not an error.
    pub(super) async fn keep_hpa(
        &self,
        object: &ScaledObject,
        target: &ScaleTarget,
        board: &ObjectBoard,
        memory: &mut Memory,
        findings: &mut Findings,
    ) -> Result<(), PassError> {
        let metrics: Vec<_> = board.triggers.iter().flat_map(|trigger| trigger.specs.clone()).collect();
        let metrics = match &board.composite {
            Some(composite) => with_composite(metrics, composite),
            None => metrics,
        };
        if metrics.is_empty() {
            return Ok(());
        }
        let kind = TargetKind { api_version: target.kind.api_version(), kind: target.kind.kind.clone() };
        let rendered = match render(object, &kind, metrics, &self.version) {
            Ok(rendered) => rendered,
            Err(error) => {
                findings.problem.get_or_insert_with(|| error.to_string());
                return Ok(());
            }
        };
        let mut rendered = rendered;
        if board.triggers.iter().any(|trigger| trigger.scaler.is_err() && trigger.specs.is_empty()) {
            forbid_scale_in(&mut rendered);
        }
        let name = rendered.metadata.name.as_deref();
        self.look_for_noted_hpa(object, name).await?;
        self.delete_own_hpas(object, name).await?;
        let key = ObjectKey::from_meta(&rendered.metadata);
        let found = match self.world.hpa(&key) {
            Some(found) => found.as_ref().clone(),
            None => self.create_hpa(&key, &rendered).await?,
        };
        let written = match check_ownership(object, &found) {
            HpaOwnership::Foreign { because } => {
                let problem = format!("failed to ensure HPA is correctly created for ScaledObject: {because}");
                findings.problem.get_or_insert(problem);
                return Ok(());
            }
            HpaOwnership::Ours | HpaOwnership::Adoptable => {
                let before = LastRendered { rendered: memory.rendered.as_ref() };
                if needs_write(&found, &rendered, before) {
                    Some(self.replace_hpa(&found, &rendered).await?)
                } else {
                    None
                }
            }
        };
        if let Some(written) = written {
            self.world.wrote_hpa(written);
        }
        findings.hpa_name = rendered.metadata.name.clone();
        memory.rendered = Some(rendered);
        Ok(())
    }

    fn hpas(&self, namespace: &str) -> Api<HorizontalPodAutoscaler> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Creates the HPA, or fetches the one that has its name already.
    async fn create_hpa(
        &self,
        key: &ObjectKey,
        rendered: &HorizontalPodAutoscaler,
    ) -> Result<HorizontalPodAutoscaler, PassError> {
        let api = self.hpas(&key.namespace);
        let hpa = match api.create(&PostParams::default(), rendered).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                api.get(&key.name).await.map_err(PassError::api("cannot read the HPA"))?
            }
            created => created.map_err(PassError::api("cannot create the HPA"))?,
        };
        self.world.wrote_hpa(hpa.clone());
        Ok(hpa)
    }

    /// Writes the whole HPA, provided that nobody wrote it since it was read: what others left in it goes.
    async fn replace_hpa(
        &self,
        found: &HorizontalPodAutoscaler,
        rendered: &HorizontalPodAutoscaler,
    ) -> Result<HorizontalPodAutoscaler, PassError> {
        let mut whole = rendered.clone();
        whole.metadata.resource_version = found.metadata.resource_version.clone();
        let key = ObjectKey::from_meta(&whole.metadata);
        let replaced = self.hpas(&key.namespace).replace(&key.name, &PostParams::default(), &whole).await;
        if let Err(kube::Error::Api(status)) = &replaced
            && status.code == 404
        {
            self.world.deleted_hpa(&key);
        }
        replaced.map_err(PassError::api("cannot update the HPA"))
    }

    /// LastRendered an HPA takes another's place, the other is looked for live if it is not known: what is known may be behind.
    async fn look_for_noted_hpa(&self, object: &ScaledObject, stays: Option<&str>) -> Result<(), PassError> {
        let noted = object.status.as_ref().and_then(|status| status.hpa_name.as_deref());
        let Some(noted) = noted.filter(|noted| !noted.is_empty() && Some(*noted) != stays) else { return Ok(()) };
        let key = ObjectKey::new(object.metadata.namespace.clone().unwrap_or_default(), noted);
        if self.world.hpa(&key).is_none() {
            let found = self.hpas(&key.namespace).get_opt(noted).await;
            let found = found.map_err(PassError::api("cannot read the HPA"))?;
            found.into_iter().for_each(|hpa| self.world.wrote_hpa(hpa));
        }
        Ok(())
    }

    /// Deletes every HPA of the object but the one that is to stay. The status alone does not know them all: a process may have
    /// ended after it made one and before it said so.
    pub(super) async fn delete_own_hpas(&self, object: &ScaledObject, stays: Option<&str>) -> Result<(), PassError> {
        for name in self.world.hpas_of(object) {
            if Some(name.as_str()) != stays {
                self.delete_hpa(object, &name).await?;
            }
        }
        Ok(())
    }

    /// The object's HPA, if it is there and ours.
    pub(super) fn own_hpa(&self, object: &ScaledObject) -> Option<Arc<HorizontalPodAutoscaler>> {
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let found = self.world.hpa(&ObjectKey::new(namespace, own_name(object)));
        found.filter(|found| check_ownership(object, found) == HpaOwnership::Ours)
    }

    async fn delete_hpa(&self, object: &ScaledObject, name: &str) -> Result<(), PassError> {
        let key = ObjectKey::new(object.metadata.namespace.clone().unwrap_or_default(), name);
        let Some(found) = self.world.hpa(&key).filter(|found| check_ownership(object, found) == HpaOwnership::Ours)
        else {
            return Ok(());
        };
        let exactly = Preconditions { uid: found.metadata.uid.clone(), resource_version: None };
        let params = DeleteParams { preconditions: Some(exactly), ..DeleteParams::default() };
        match self.hpas(&key.namespace).delete(name, &params).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(PassError::api("cannot delete the HPA")(error)),
        }
        self.world.deleted_hpa(&key);
        Ok(())
    }
}

/// The name of the object's HPA: as it was made, or as it will be.
fn own_name(object: &ScaledObject) -> String {
    let made = object.status.as_ref().and_then(|status| status.hpa_name.clone());
    made.unwrap_or_else(|| render::hpa_name(object))
}

/// Lets the HPA scale out only: a trigger that cannot be built might ask for more than the others do.
fn forbid_scale_in(hpa: &mut HorizontalPodAutoscaler) {
    let behavior = hpa.spec.behavior.get_or_insert_default();
    behavior.scale_down.get_or_insert_default().select_policy = Some("Disabled".to_owned());
}
