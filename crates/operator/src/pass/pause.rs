//! A full pause: no HPA, no looks at the triggers, and the replicas stay, or are set once to a given number.

use kedge_api::ScaledObject;
use kedge_api::names::events;
use kedge_core::conditions::{Facts, FallbackState, HpaState, PollState, conditions};
use kedge_core::policy::{Pause, Policy};
use tokio::time::Instant;

use super::{Memory, PassError, Passes, RETRY};
use kedge_cluster::EventType;
use kedge_cluster::ObjectKey;
use kedge_cluster::target::desired_replicas;

impl Passes {
    pub(super) async fn hold_paused(
        &self,
        key: &ObjectKey,
        object: &ScaledObject,
        policy: &Policy,
        memory: &mut Memory,
    ) -> Result<Option<Instant>, PassError> {
        if self.board.remove(key).is_some_and(|board| board.is_built_at_all()) {
            self.events.publish(object, EventType::Normal, events::SCALERS_STOPPED, "Stopped scalers watch").await;
        }
        self.delete_own_hpas(object, None).await?;
        let old = object.status.clone().unwrap_or_default();
        let mut new = old.clone();
        let mut problem = None;
        match &policy.overrides.pause {
            Pause::At(wanted) => {
                // KEDA: drift is left alone once the number was reached.
                let done = match old.paused_replica_count == Some(*wanted) {
                    true => Ok(()),
                    false => self.set_replicas(object, *wanted).await,
                };
                match done {
                    Ok(()) => new.paused_replica_count = Some(*wanted),
                    // Somebody else wrote first: that is no problem to tell of, but a reason to look again at once.
                    Err(error) if error.is_conflict() => return Err(error),
                    Err(error) => problem = Some(format!("failed to scale target to paused replica count: {error}")),
                }
            }
            Pause::Unreadable(text) => {
                problem = Some(format!(
                    "failed to scale target to paused replica count: failed to parse paused replica count: `{text}` is not a whole number"
                ));
            }
            Pause::AsIs | Pause::No => new.paused_replica_count = None,
        }
        let facts = Facts {
            overrides: &policy.overrides,
            problem: problem.as_deref(),
            poll: PollState::Paused,
            fallback: if object.spec.fallback.is_some() { FallbackState::NotYetKnown } else { FallbackState::Absent },
            hpa: HpaState::Unknown,
        };
        new.conditions = Some(conditions(old.conditions.as_deref().unwrap_or_default(), &facts));
        self.write_status(object, &old, &new).await?;
        // When the pause ends, everything is looked at at once.
        memory.next_poll_at = Some(Instant::now());
        Ok(problem.map(|_| Instant::now() + RETRY.1 / 2))
    }

    /// Sets the replicas of the target, whatever they are.
    pub(super) async fn set_replicas(&self, object: &ScaledObject, wanted: i32) -> Result<(), PassError> {
        let target = self
            .targets
            .resolve(object.metadata.namespace.as_deref().unwrap_or_default(), &object.spec.scale_target_ref)
            .await?;
        let scale = self.targets.fetch_scale(&target).await?;
        if desired_replicas(&scale) != wanted {
            self.confirm(object).await?;
            self.targets.set_scale(&target, scale, wanted).await?;
        }
        Ok(())
    }
}
