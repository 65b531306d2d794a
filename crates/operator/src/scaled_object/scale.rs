//! The step between zero and the minimum that a decision asks for.

use std::collections::BTreeMap;
use std::time::Duration;

use kedge_api::names::events;
use kedge_cluster::api_error::is_conflict;
use kedge_cluster::target::desired_replicas;
use kedge_cluster::{EventType, ScaleTarget, TargetError};
use kedge_core::decide::{Cause, Decision, decide};
use tracing::{debug, info};

use super::poll::Findings;
use super::subject::Subject;
use super::{ReconcileError, ReconcileState, Reconciler};
use crate::cluster_cache::CachedReplicas;
use crate::slots::Slot;

/// The age of readings beyond which no target is scaled in on them: a slow API server took the time, and a trigger may be active by now.
const READINGS_AGE_MAX: Duration = Duration::from_secs(10);

/// A change of replicas that was tried.
struct ScaleStep<'a> {
    target: &'a ScaleTarget,
    from: i32,
    to: i32,
    because: Cause,
    /// Whether each metric is active, by name.
    active: &'a BTreeMap<String, bool>,
}

impl Reconciler {
    /// Decides, and scales the target where that is the decision.
    pub(super) async fn apply_decision(
        &self,
        subject: Subject<'_>,
        findings: &Findings,
        current: Option<i32>,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<Decision, ReconcileError> {
        let Subject { object, policy, .. } = subject;
        let decision = decide(policy, &findings.observe(current), self.clock.now());
        let key = &object.cached.key;
        debug!(namespace = %key.namespace, name = %key.name, ?decision, "decided");
        match decision {
            Decision::ScaleTo { .. } => {
                slot.hold().await;
                Box::pin(self.scale_target(subject, findings, decision, state)).await
            }
            Decision::Hold(_) => Ok(decision),
        }
    }

    /// Scales the target, as was decided on its cached replicas. Its live scale is read first, and the decision made again on it;
    /// meanwhile the object is confirmed, which must still be what the decision was made for.
    async fn scale_target(
        &self,
        subject: Subject<'_>,
        findings: &Findings,
        on_cached: Decision,
        state: &mut ReconcileState,
    ) -> Result<Decision, ReconcileError> {
        let Subject { object, policy, target, .. } = subject;
        let now = self.clock.now();
        let confirm = self.confirm_before(subject, findings, on_cached, state);
        let (scale, confirmed) = tokio::join!(self.targets.fetch_scale(target), confirm);
        let scale = match scale {
            Ok(scale) => scale,
            Err(TargetError::Missing { .. } | TargetError::NoScale { .. }) => {
                self.cluster.record_replicas(target, CachedReplicas::Missing);
                return Ok(decide(policy, &findings.observe(None), now));
            }
            Err(error) => return Err(error.into()),
        };
        let live = desired_replicas(&scale);
        self.cluster.record_replicas(target, CachedReplicas::Known(live));
        let decision = decide(policy, &findings.observe(Some(live)), now);
        let Decision::ScaleTo { replicas: wanted, because } = decision else { return Ok(decision) };
        confirmed?;
        if is_activation(decision) && !is_activation(on_cached) {
            self.confirm_before(subject, findings, decision, state).await?;
        }
        if wanted < live && findings.read_at.elapsed() > READINGS_AGE_MAX {
            return Err(ReconcileError::Late);
        }
        let written = self.targets.set_scale(target, scale, wanted).await;
        if let Err(TargetError::Write { source, .. }) = &written
            && is_conflict(source)
        {
            self.cluster.record_replicas(target, CachedReplicas::Stale);
            return written.map(|_| decision).map_err(ReconcileError::from);
        }
        let step = ScaleStep { target, from: live, to: wanted, because, active: &findings.active };
        if let Some((event_type, reason, note)) = step.event(written.is_ok()) {
            self.events.publish(&**object, event_type, reason, &note);
        }
        written?;
        let key = &object.cached.key;
        info!(namespace = %key.namespace, name = %key.name, from = live, to = wanted, because = ?because, "scaled");
        self.cluster.record_replicas(target, CachedReplicas::Known(wanted));
        if let Some(histories) = &self.histories {
            histories.record_scaled(subject.scalers, (live, wanted), decision);
        }
        Ok(decision)
    }

    /// Confirms that the object is unchanged, before its target is scaled: by a write that records an activation, or by a read.
    async fn confirm_before(
        &self,
        subject: Subject<'_>,
        findings: &Findings,
        decision: Decision,
        state: &mut ReconcileState,
    ) -> Result<(), ReconcileError> {
        if is_activation(decision) {
            let poll = findings.facts(subject.scalers, decision);
            self.record_activation(subject, &poll, state).await
        } else {
            self.confirm(subject.object).await
        }
    }
}

fn is_activation(decision: Decision) -> bool {
    matches!(decision, Decision::ScaleTo { because: Cause::TriggerActive | Cause::ForcedActive, .. })
}

impl ScaleStep<'_> {
    /// KEDA's event for a step. KEDA publishes none for a target that is raised to its minimum.
    fn event(&self, succeeded: bool) -> Option<(EventType, &'static str, String)> {
        let Self { from, to, .. } = self;
        let target = self.target.display_name();
        let names: Vec<&str> =
            self.active.iter().filter(|(_, active)| **active).map(|(name, _)| name.as_str()).collect();
        Some(match (self.because, succeeded) {
            (Cause::BelowMinimum, _) => return None,
            (Cause::TriggerActive, true) => (
                EventType::Normal,
                events::SCALE_TARGET_ACTIVATED,
                match names.is_empty() {
                    true => format!("Scaled {target} from {from} to {to}"),
                    false => format!("Scaled {target} from {from} to {to}, triggered by {}", names.join(";")),
                },
            ),
            (Cause::ForcedActive, true) => (
                EventType::Normal,
                events::SCALE_TARGET_ACTIVATED,
                format!("Scaled {target} from {from} to {to}, caused by forced activation annotation"),
            ),
            (Cause::TriggerActive | Cause::ForcedActive, false) => (
                EventType::Warning,
                events::SCALE_TARGET_ACTIVATION_FAILED,
                format!("Failed to scale {target} from {from} to {to}"),
            ),
            (Cause::CooldownPassed, true) => (
                EventType::Normal,
                events::SCALE_TARGET_DEACTIVATED,
                format!("Deactivated {target} from {from} to {to}"),
            ),
            (Cause::CooldownPassed, false) => (
                EventType::Warning,
                events::SCALE_TARGET_DEACTIVATION_FAILED,
                format!("Failed to deactivate {target} from {from} to {to}"),
            ),
        })
    }
}
