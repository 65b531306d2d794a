//! What a pass found, told: one status patch if anything changed, and an event for each change.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use kedge_api::names::{COMPOSITE_METRIC, conditions as kinds, events, messages, reasons};
use kedge_api::scaled_object::{HealthStatus, ScaledObjectStatus, TriggerActivity};
use kedge_api::{Condition, ScaledObject};
use kedge_core::activity::{Activity, ActivityHistory};
use kedge_core::conditions::{Facts, FallbackState, HpaState, PollState, conditions};
use kedge_core::policy::Policy;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::poll::is_forced;
use super::{Findings, Memory, PassError, Passes};
use crate::board::ObjectBoard;
use crate::world::scaling_active;
use kedge_cluster::EventType;
use kedge_cluster::ObjectKey;
use kedge_cluster::merge_patch::merge_patch;

impl Passes {
    /// Reports a pass over an object that is not paused.
    pub(super) async fn report(
        &self,
        object: &ScaledObject,
        policy: &Policy,
        memory: &Memory,
        findings: &Findings,
    ) -> Result<(), PassError> {
        let old = object.status.clone().unwrap_or_default();
        let mut new = old.clone();
        new.paused_replica_count = None;
        describe(object, findings, &mut new);
        // Where no trigger could be built there was nothing to look at.
        let blind = findings.board.as_ref().is_some_and(|board| !board.is_built_at_all()) && !is_forced(policy);
        let check = match &findings.poll {
            _ if blind => PollState::NotPolled,
            Some(poll) => {
                PollState::Polled { activity: poll.activity, triggers: poll.triggers, decision: poll.decision }
            }
            None => PollState::NotPolled,
        };
        let name = findings.hpa_name.clone().or_else(|| new.hpa_name.clone());
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let hpa = name.and_then(|name| self.world.hpa(&ObjectKey::new(namespace, name)));
        let word = hpa.as_deref().and_then(scaling_active);
        let hpa = match &word {
            None => HpaState::Unknown,
            Some((status, _, _)) if status == "True" => HpaState::Scaling,
            Some((_, reason, message)) => HpaState::NotScaling { reason, message },
        };
        let previous = old.conditions.clone().unwrap_or_default();
        let problem = findings.problem.as_deref();
        let facts = Facts {
            overrides: &policy.overrides,
            problem,
            poll: check,
            fallback: fallback_state(object, findings),
            hpa,
        };
        let mut told = conditions(&previous, &facts);
        // Between two polls the last word on the triggers stands, unless the check itself has something to say.
        if findings.poll.is_none() && findings.board.is_some() && !blind {
            keep(&mut told, &previous, kinds::ACTIVE, reasons::UNKNOWN_STATE);
            if problem.is_none() {
                keep(&mut told, &previous, kinds::READY, reasons::SCALED_OBJECT_CHECK_FAILED);
            }
        }
        new.conditions = Some(told);
        if let Some(poll) = &findings.poll {
            // Where nothing can be looked at, the condition does not say that a fallback keeps the object active.
            let was_active =
                status_of(&previous, kinds::ACTIVE) == Some("True") || blind && old.last_active_time.is_some();
            let is_active = poll.activity == Activity::Active || is_forced(policy);
            new.last_active_time = last_active(&old, was_active, is_active, memory, self.clock.now());
        }
        self.write_status(object, &old, &new).await
    }

    /// Writes down what the target had when it was first seen, before anything of ours moves it: a process that ends after the
    /// first step and before its report would leave the next one a number of ours.
    pub(super) async fn note_original(
        &self,
        object: &mut Arc<ScaledObject>,
        findings: &Findings,
    ) -> Result<(), PassError> {
        let old = object.status.clone().unwrap_or_default();
        if old.original_replica_count.is_some() || findings.original_replicas.is_none() {
            return Ok(());
        }
        let mut new = old.clone();
        describe_target(findings, &mut new);
        if let Some(written) = self.patch_status(object, &old, &new).await? {
            *object = Arc::new(written);
        }
        Ok(())
    }

    /// Patches the status if it changed, and tells of the changes.
    pub(super) async fn write_status(
        &self,
        object: &ScaledObject,
        old: &ScaledObjectStatus,
        new: &ScaledObjectStatus,
    ) -> Result<(), PassError> {
        if self.patch_status(object, old, new).await?.is_none() {
            return Ok(());
        }
        let (before, after) =
            (old.conditions.as_deref().unwrap_or_default(), new.conditions.as_deref().unwrap_or_default());
        for (tone, reason, note) in changes(before, after) {
            self.events.publish(object, tone, reason, &note).await;
        }
        Ok(())
    }

    /// Patches the status if it changed; answers the object as it is then.
    async fn patch_status(
        &self,
        object: &ScaledObject,
        old: &ScaledObjectStatus,
        new: &ScaledObjectStatus,
    ) -> Result<Option<ScaledObject>, PassError> {
        let value = |status: &ScaledObjectStatus| serde_json::to_value(status).unwrap_or_default();
        let Some(change) = merge_patch(&value(old), &value(new)) else { return Ok(None) };
        // The version makes this fail, and be thought of anew, if somebody wrote the object meanwhile.
        let patch = json!({ "metadata": { "resourceVersion": object.metadata.resource_version }, "status": change });
        let key = ObjectKey::from_meta(&object.metadata);
        let api: Api<ScaledObject> = Api::namespaced(self.client.clone(), &key.namespace);
        let written = api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        let written = written.map_err(PassError::api("cannot write the status"))?;
        self.world.wrote_object(written.clone());
        Ok(Some(written))
    }
}

/// Fills in what the object is and has.
fn describe(object: &ScaledObject, findings: &Findings, status: &mut ScaledObjectStatus) {
    describe_target(findings, status);
    let distinct = |texts: Vec<&str>| {
        let mut seen: Vec<&str> = Vec::new();
        texts.into_iter().for_each(|text| {
            if !seen.contains(&text) {
                seen.push(text)
            }
        });
        seen.join(",")
    };
    if findings.triggers_make_sense {
        status.triggers_types =
            Some(distinct(object.spec.triggers.iter().map(|trigger| trigger.r#type.as_str()).collect()));
        let references = object.spec.triggers.iter().filter_map(|trigger| trigger.authentication_ref.as_ref());
        status.authentications_types = Some(distinct(references.map(|reference| reference.name.as_str()).collect()));
    }
    let Some(board) = &findings.board else { return };
    status.hpa_name = findings.hpa_name.clone().or(status.hpa_name.take());
    status.composite_scaler_name = board.composite.as_ref().map(|_| COMPOSITE_METRIC.to_owned());
    let names: Vec<String> = board.metrics().map(|(_, metric)| metric.name.clone()).collect();
    status.external_metric_names = (!names.is_empty()).then_some(names);
    let specs = board.triggers.iter().flat_map(|trigger| &trigger.specs);
    let resources: Vec<String> =
        specs.filter_map(|spec| spec.resource.as_ref()).map(|resource| resource.name.clone()).collect();
    status.resource_metric_names = (!resources.is_empty()).then_some(resources);
    status.health = health(board);
    if let Some(poll) = &findings.poll {
        let activity = |(name, works): (&String, &bool)| (name.clone(), TriggerActivity { is_active: Some(*works) });
        let all: BTreeMap<_, _> = poll.active.iter().map(activity).collect();
        status.triggers_activity = (!all.is_empty()).then_some(all);
    }
}

/// Fills in what the target is, and had.
fn describe_target(findings: &Findings, status: &mut ScaledObjectStatus) {
    if let Some(target) = &findings.target {
        status.scale_target_kind = Some(target.kind.display_name());
        status.scale_target_gvkr = Some(target.kind.gvkr());
        status.original_replica_count = status.original_replica_count.or(findings.original_replicas);
    }
}

/// The failures of each metric, kept while there is a fallback.
fn health(board: &ObjectBoard) -> Option<BTreeMap<String, HealthStatus>> {
    board.fallback.as_ref()?;
    let one = |failures: i32| HealthStatus {
        number_of_failures: Some(failures),
        status: Some(if failures == 0 { "Happy" } else { "Failing" }.to_owned()),
    };
    let all: BTreeMap<_, _> =
        board.metrics().map(|(_, metric)| (metric.name.clone(), one(metric.failures().0))).collect();
    (!all.is_empty()).then_some(all)
}

fn fallback_state(object: &ScaledObject, findings: &Findings) -> FallbackState {
    if object.spec.fallback.is_none() {
        return FallbackState::Absent;
    }
    let Some(board) = &findings.board else { return FallbackState::NotYetKnown };
    match &board.fallback {
        None => FallbackState::Absent,
        Some(fallback) if board.metrics().any(|(_, metric)| metric.failures().exceed_threshold(fallback)) => {
            FallbackState::InUse
        }
        // Whoever asked: a read by the HPA tells as much as a poll.
        Some(_) if board.metrics().any(|(_, metric)| !metric.is_read()) => FallbackState::NotYetKnown,
        Some(_) => FallbackState::Idle,
    }
}

/// When the object was last active: written as activity begins and as it ends, not at every look in between.
fn last_active(
    old: &ScaledObjectStatus,
    was_active: bool,
    is_active: bool,
    memory: &Memory,
    now: DateTime<Utc>,
) -> Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time> {
    let seen_at = match memory.past {
        Some(ActivityHistory::Ended { at }) => at,
        Some(ActivityHistory::Active { last_seen_at: Some(at) }) => at,
        _ => now,
    };
    match (was_active, is_active) {
        (false, true) => Some(kedge_api::time::to_time(now)),
        (true, false) => Some(kedge_api::time::to_time(seen_at)),
        _ => old.last_active_time.clone(),
    }
}

fn status_of<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a str> {
    conditions.iter().find(|condition| condition.r#type == kind).map(|condition| condition.status.as_str())
}

/// Keeps a condition as it was, unless it was what the check said.
fn keep(told: &mut [Condition], previous: &[Condition], kind: &str, unless: &str) {
    let before = previous.iter().find(|condition| condition.r#type == kind);
    if let Some(before) = before.filter(|before| before.reason.as_deref() != Some(unless) && before.reason.is_some()) {
        told.iter_mut().filter(|condition| condition.r#type == kind).for_each(|condition| *condition = before.clone());
    }
}

/// The events that a change of conditions is worth.
fn changes(before: &[Condition], after: &[Condition]) -> Vec<(EventType, &'static str, String)> {
    let find = |conditions: &[Condition], kind: &str| conditions.iter().find(|one| one.r#type == kind).cloned();
    let mut told = Vec::new();
    if let Some(ready) = find(after, kinds::READY) {
        let old = find(before, kinds::READY);
        let failed = ready.reason.as_deref() == Some(reasons::SCALED_OBJECT_CHECK_FAILED);
        if failed && old.as_ref().is_none_or(|old| old.message != ready.message) {
            told.push((
                EventType::Warning,
                reasons::SCALED_OBJECT_CHECK_FAILED,
                ready.message.clone().unwrap_or_default(),
            ));
        }
        if ready.status == "True" && old.is_none_or(|old| old.status != "True") {
            told.push((
                EventType::Normal,
                reasons::SCALED_OBJECT_READY,
                "ScaledObject is ready for scaling".to_owned(),
            ));
        }
    }
    let is = |conditions: &[Condition], kind: &str| status_of(conditions, kind) == Some("True");
    let pairs = [
        (
            kinds::PAUSED,
            (reasons::SCALED_OBJECT_PAUSED, messages::SCALED_OBJECT_PAUSED),
            (reasons::SCALED_OBJECT_UNPAUSED, messages::SCALED_OBJECT_UNPAUSED),
        ),
        (
            kinds::FALLBACK,
            (events::SCALED_OBJECT_FALLBACK_ACTIVATED, "ScaledObject fallback is active"),
            (events::SCALED_OBJECT_FALLBACK_DEACTIVATED, "ScaledObject fallback is no longer active"),
        ),
    ];
    for (kind, begins, ends) in pairs {
        match (is(before, kind), is(after, kind)) {
            (false, true) => told.push((EventType::Normal, begins.0, begins.1.to_owned())),
            (true, false) => told.push((EventType::Normal, ends.0, ends.1.to_owned())),
            _ => {}
        }
    }
    told
}
