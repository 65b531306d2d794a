//! Finding the target of an object.

use kedge_api::ScaledObject;
use kedge_cluster::target::desired_replicas;
use kedge_cluster::{ObjectKey, ScaleTarget, TargetError};
use kedge_core::status::TargetFacts;
use kedge_core::validate::ValidationStep;

use super::{ReconcileError, Reconciler};
use crate::cluster_cache::CachedReplicas;

/// The result of looking up the target.
#[derive(Debug)]
pub(super) enum TargetStep {
    Found(FoundTarget),
    /// Why there is no target to scale.
    Unusable(String),
}

/// A target that exists.
#[derive(Debug)]
pub(super) struct FoundTarget {
    pub(super) target: ScaleTarget,
    /// Its replicas, where they were read live.
    pub(super) live_replicas: Option<i32>,
}

impl FoundTarget {
    pub(super) fn facts(&self) -> TargetFacts {
        target_facts(&self.target, self.live_replicas)
    }
}

pub(super) fn target_facts(target: &ScaleTarget, original_replicas: Option<i32>) -> TargetFacts {
    TargetFacts { display_name: target.kind.display_name(), kind: target.kind.gvkr(), original_replicas }
}

impl Reconciler {
    /// Resolves the target. Its scale is read where the cache does not know it, and before the first status.
    pub(super) async fn find_target(
        &self,
        key: &ObjectKey,
        object: &ScaledObject,
    ) -> Result<TargetStep, ReconcileError> {
        let unusable =
            |error: &TargetError| TargetStep::Unusable(format!("{}: {error}", ValidationStep::Target.message()));
        let target = match self.targets.resolve(key.namespace.clone(), &object.spec.scale_target_ref).await {
            Ok(target) => target,
            Err(error @ (TargetError::UnknownKind { .. } | TargetError::InvalidName { .. })) => {
                return Ok(unusable(&error));
            }
            Err(error) => return Err(error.into()),
        };
        self.watches.ensure(&target.kind);
        let is_first = object.status.as_ref().and_then(|status| status.original_replica_count).is_none();
        if !is_first && matches!(self.cluster.replicas(&target), CachedReplicas::Known(_)) {
            return Ok(TargetStep::Found(FoundTarget { target, live_replicas: None }));
        }
        match Box::pin(self.targets.fetch_scale(&target)).await {
            Ok(scale) => {
                let replicas = desired_replicas(&scale);
                self.cluster.record_replicas(&target, CachedReplicas::Known(replicas));
                Ok(TargetStep::Found(FoundTarget { target, live_replicas: Some(replicas) }))
            }
            Err(error @ (TargetError::Missing { .. } | TargetError::NoScale { .. })) => {
                self.cluster.record_replicas(&target, CachedReplicas::Missing);
                Ok(unusable(&error))
            }
            Err(error) => Err(error.into()),
        }
    }
}
