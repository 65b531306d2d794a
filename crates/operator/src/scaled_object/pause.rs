//! A full pause: no HPA and no polls; the replicas stay, or are set to a given number.

use kedge_api::ScaledObject;
use kedge_api::names::events;
use kedge_cluster::target::desired_replicas;
use kedge_cluster::{EventType, ObjectKey, instant_after};
use kedge_core::conditions::HpaState;
use kedge_core::policy::{Pause, Policy};
use kedge_core::status::{Facts, PauseFacts};
use tokio::time::Instant;

use super::status::unread_fallback;
use super::{ReconcileError, ReconcileState, Reconciler};
use crate::retries::PROBLEM_RECHECK;

impl Reconciler {
    pub(super) async fn hold_paused(
        &self,
        key: &ObjectKey,
        object: &ScaledObject,
        policy: &Policy,
        state: &mut ReconcileState,
    ) -> Result<Option<Instant>, ReconcileError> {
        self.telemetry.drop_loop(key);
        let scalers = self.readings.remove(key);
        scalers.iter().for_each(|scalers| scalers.drop_series());
        if scalers.is_some_and(|scalers| scalers.is_any_built()) {
            self.events.publish(object, EventType::Normal, events::SCALERS_STOPPED, "Stopped scalers watch");
        }
        self.delete_own_hpas(object, None).await?;
        let (pause, problem) = match self.apply_pause(object, &policy.overrides.pause).await {
            Ok(pause) => (pause, None),
            // Another client wrote first: that is no problem to report, but a reason to reconcile again at once.
            Err(PauseError::Scale(error)) if error.is_conflict() => return Err(error),
            Err(error) => (PauseFacts::Failed, Some(error.to_string())),
        };
        let facts = Facts {
            overrides: &policy.overrides,
            problem: problem.as_deref(),
            pause,
            target: None,
            triggers: None,
            scalers: None,
            poll: None,
            fallback: unread_fallback(object),
            hpa: HpaState::Unknown,
        };
        self.write_status(object, &facts, state).await?;
        if let Some(histories) = &self.histories {
            histories.record_paused(key);
        }
        // The first reconcile after the pause polls.
        state.schedule.suspend();
        let recheck = problem.map(|_| instant_after(PROBLEM_RECHECK));
        Ok(recheck.into_iter().chain(state.postponed_until.take()).min())
    }

    async fn apply_pause(&self, object: &ScaledObject, pause: &Pause) -> Result<PauseFacts, PauseError> {
        match pause {
            Pause::At(wanted) => {
                // At every reconcile: the target may have been scaled or replaced since.
                self.set_replicas(object, *wanted).await?;
                Ok(PauseFacts::PausedAt(*wanted))
            }
            Pause::Unreadable(text) => Err(PauseError::Unreadable(text.clone())),
            Pause::AsIs | Pause::No => Ok(PauseFacts::Paused),
        }
    }

    /// Sets the replicas of the target, whatever they are.
    pub(super) async fn set_replicas(&self, object: &ScaledObject, wanted: i32) -> Result<(), ReconcileError> {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let target = self.targets.resolve(namespace, &object.spec.scale_target_ref).await?;
        let scale = self.targets.fetch_scale(&target).await?;
        if desired_replicas(&scale) != wanted {
            let from = desired_replicas(&scale);
            self.confirm(object).await?;
            self.targets.set_scale(&target, scale, wanted).await?;
            if let Some(histories) = &self.histories {
                histories.record_set(&ObjectKey::from(object), (from, wanted));
            }
        }
        Ok(())
    }
}

/// Why the target does not have the paused replicas. The words are KEDA's.
#[derive(Debug, thiserror::Error)]
enum PauseError {
    #[error("failed to scale target to paused replica count: {0}")]
    Scale(#[from] ReconcileError),
    #[error(
        "failed to scale target to paused replica count: failed to parse paused replica count: `{0}` is not a whole number"
    )]
    Unreadable(String),
}
