//! One pass over one object: look at it, think, write what must change, tell what happened. Every pass starts from what is
//! observed now; a pass that is interrupted anywhere is made good by the next.

mod finish;
mod hpa;
mod mark;
mod pause;
mod poll;
mod report;
mod standby;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kedge_api::names::{conditions, events};
use kedge_core::activity::ActivityHistory;
use kedge_core::policy::{Overrides, Policy, polling_interval};
use kedge_core::validate::{ValidationStep, validate};
use kube::Client;
use kube::api::Api;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::board::{Board, BoardTrigger, ObjectBoard};
use crate::build::{Builder, Earlier};
use crate::credentials::Credentials;
use crate::telemetry::Telemetry;
use crate::watches::Watches;
use crate::world::{TargetSeen, World, concerns_us};
use kedge_cluster::Clock;
use kedge_cluster::ObjectKey;
use kedge_cluster::api_error::{self, is_conflict};
use kedge_cluster::phase;
use kedge_cluster::{EventPublisher, EventType};
use kedge_cluster::{ScaleTarget, ScaleTargets, TargetError};
use poll::Poll;

/// The first and the longest pause before a failed pass is tried again.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The pause after somebody else wrote first.
const AGAIN: Duration = Duration::from_millis(100);

/// Within this time a new process, or one that begins to lead, looks at every object.
const FIRST_LOOKS: Duration = Duration::from_secs(5);

/// Everything a pass needs.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Passes {
    pub client: Client,
    pub clock: Clock,
    pub world: Arc<World>,
    pub board: Arc<Board>,
    pub targets: Arc<ScaleTargets>,
    pub builder: Builder,
    pub events: EventPublisher,
    pub watches: Arc<Watches>,
    pub telemetry: Arc<Telemetry>,
    pub credentials: Arc<Credentials>,
    /// The version that HPAs are labelled with.
    pub version: String,
}

/// What is remembered of an object between passes. It may be lost at any time: what must survive is in the status.
#[derive(Debug, Default)]
pub struct Memory {
    uid: String,
    past: Option<ActivityHistory>,
    next_poll_at: Option<Instant>,
    /// After a restart: when the second poll comes, which puts the object at its own place in its period.
    settles_at: Option<Instant>,
    /// What the last poll was made for; when it changes, the triggers are looked at at once.
    polled_for: Option<PolledFor>,
    failures: u32,
    rendered: Option<HorizontalPodAutoscaler>,
    target: Option<ScaleTarget>,
    /// The metrics that failed at the last poll, so that each failure is told once.
    failing: BTreeSet<String>,
    /// Whether triggers were built before, by this process.
    has_built: bool,
}

/// The generation of the object, how it is steered, the changes of its credentials, and which of its triggers are built.
type PolledFor = (Option<i64>, Overrides, u64, Vec<usize>);

impl Memory {
    /// Whether there is anything in it.
    pub(crate) fn is_of_use(&self) -> bool {
        !self.uid.is_empty()
    }

    /// When the object was last seen active, if it is active.
    pub(crate) fn last_seen_active(&self) -> Option<chrono::DateTime<chrono::Utc>> {
        match self.past {
            Some(ActivityHistory::Active { last_seen_at }) => last_seen_at,
            _ => None,
        }
    }
}

/// What a pass found, for its report.
#[derive(Debug, Default)]
struct Findings {
    problem: Option<String>,
    target: Option<ScaleTarget>,
    original_replicas: Option<i32>,
    hpa_name: Option<String>,
    board: Option<Arc<ObjectBoard>>,
    /// Whether the status may say what the triggers are.
    triggers_make_sense: bool,
    poll: Option<Poll>,
}

/// Why a pass could not be finished. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("{what}: {}", api_error::message(source))]
    Api { what: &'static str, source: Box<kube::Error> },
    #[error("the ScaledObject was changed while it was looked at")]
    Changed,
}

impl PassError {
    /// Whether somebody else wrote first.
    fn is_conflict(&self) -> bool {
        match self {
            Self::Changed => true,
            Self::Target(TargetError::Write { source, .. }) | Self::Api { source, .. } => is_conflict(source),
            Self::Target(_) => false,
        }
    }

    fn api(what: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |error| Self::Api { what, source: Box::new(error) }
    }
}

impl Passes {
    /// Makes a pass, and answers when the next is due.
    pub async fn pass(&self, key: &ObjectKey, memory: &mut Memory) -> Option<Instant> {
        let Some(object) = self.world.object(key) else {
            self.forget(key, memory);
            self.builder.role.forget(key);
            return None;
        };
        if object.metadata.uid.as_deref() != Some(memory.uid.as_str()) {
            self.meet(key, &object, memory);
        }
        match self.look(key, object, memory).await {
            Ok(next) => {
                memory.failures = 0;
                self.builder.role.come_to(key);
                next
            }
            Err(error) if error.is_conflict() => {
                debug!(namespace = key.namespace, name = key.name, error = %error, "somebody else wrote first; looking again");
                memory.next_poll_at = memory.next_poll_at.map(|_| Instant::now());
                Some(Instant::now() + AGAIN)
            }
            Err(error) => {
                memory.failures += 1;
                let pause = RETRY.0.saturating_mul(1 << (memory.failures - 1).min(8)).min(RETRY.1);
                warn!(namespace = key.namespace, name = key.name, error = %error, ?pause, "pass failed; trying again");
                Some(Instant::now() + pause)
            }
        }
    }

    /// Makes sure, before its target is written, that an object still is what the pass took it for: the watch may be behind,
    /// and somebody may have paused it since.
    async fn confirm(&self, object: &ScaledObject) -> Result<(), PassError> {
        let key = ObjectKey::from_meta(&object.metadata);
        let api: Api<ScaledObject> = Api::namespaced(self.client.clone(), &key.namespace);
        let live = api.get_opt(&key.name).await.map_err(PassError::api("cannot read the ScaledObject"))?;
        let Some(live) = live else {
            self.world.lost_object(&key);
            return Err(PassError::Changed);
        };
        let changed = concerns_us(object, &live);
        self.world.wrote_object(live);
        if changed { Err(PassError::Changed) } else { Ok(()) }
    }

    fn never_active(&self, object: &ScaledObject) -> ActivityHistory {
        let created_at = object.metadata.creation_timestamp.as_ref().map(kedge_api::time::from_time);
        ActivityHistory::NeverActive { created_at: created_at.unwrap_or_else(|| self.clock.now()) }
    }

    /// Begins with an object that was not known: new, or known to an earlier process.
    fn meet(&self, key: &ObjectKey, object: &ScaledObject, memory: &mut Memory) {
        self.forget(key, memory);
        let status = object.status.clone().unwrap_or_default();
        let active = status.conditions.iter().flatten().find(|condition| condition.r#type == conditions::ACTIVE);
        let was_active = active.is_some_and(|condition| condition.status == "True");
        let last = status.last_active_time.as_ref().map(kedge_api::time::from_time);
        memory.uid = object.metadata.uid.clone().unwrap_or_default();
        memory.past = Some(match (was_active, last) {
            (true, _) => ActivityHistory::Active { last_seen_at: None },
            (false, Some(at)) => ActivityHistory::Ended { at },
            (false, None) => self.never_active(object),
        });
        // A new object is looked at at once. Those of an earlier process are looked at soon, a few at a time: nobody did meanwhile. Then each
        // takes its own place in its period, so that sources are not all asked at once for ever.
        let period = interval(object);
        let (soon, place) = match status.hpa_name {
            Some(_) => (phase(&memory.uid, period.min(FIRST_LOOKS)), Some(phase(&memory.uid, period))),
            None => (Duration::ZERO, None),
        };
        memory.next_poll_at = Some(Instant::now() + soon);
        memory.settles_at = place.map(|place| Instant::now() + place);
    }

    fn forget(&self, key: &ObjectKey, memory: &mut Memory) {
        if let Some(board) = self.board.remove(key) {
            self.telemetry.forget(key, &board.triggers);
        }
        self.credentials.references.forget(key);
        if let Some(target) = memory.target.take() {
            self.world.untrack(&target);
        }
        *memory = Memory::default();
    }

    async fn look(
        &self,
        key: &ObjectKey,
        object: Arc<ScaledObject>,
        memory: &mut Memory,
    ) -> Result<Option<Instant>, PassError> {
        if object.metadata.deletion_timestamp.is_some() {
            self.finish(key, &object, memory).await?;
            return Ok(None);
        }
        let mut object = self.mark(object).await?;
        let policy = Policy::from_spec(&object.spec, object.metadata.annotations.as_ref());
        self.telemetry.paused(key, policy.overrides.is_paused());
        if policy.overrides.is_fully_paused() {
            return self.hold_paused(key, &object, &policy, memory).await;
        }
        let mut findings = Findings::default();
        let outcome = self.scale(key, &mut object, &policy, memory, &mut findings).await;
        if outcome.as_ref().is_err_and(PassError::is_conflict) {
            return outcome.map(|()| None);
        }
        if let Err(error) = &outcome {
            findings.problem.get_or_insert_with(|| error.to_string());
        }
        self.report(&object, &policy, memory, &findings).await?;
        outcome?;
        Ok(self.next_look(&object, memory, &findings))
    }

    /// Checks the object, keeps its HPA, and looks at its triggers when it is time. The object may be written meanwhile.
    async fn scale(
        &self,
        key: &ObjectKey,
        object: &mut Arc<ScaledObject>,
        policy: &Policy,
        memory: &mut Memory,
        findings: &mut Findings,
    ) -> Result<(), PassError> {
        if let Some((step, problem)) = problem_of(object) {
            // KEDA: the status names the target all the same, and the triggers if it is only the formula that is wrong.
            let found = self.find_target(object, memory, findings).await;
            findings.problem = Some(problem);
            findings.triggers_make_sense = step == ValidationStep::Modifiers && findings.target.is_some();
            return found.map(drop);
        }
        if let Some(rival) = self.world.rivals(object).first() {
            let target = &object.spec.scale_target_ref.name;
            findings.problem = Some(format!(
                "the workload '{target}' is already managed by the ScaledObject '{rival}'; delete one of them, or choose another target"
            ));
            return Ok(());
        }
        let Some(target) = self.find_target(object, memory, findings).await? else { return Ok(()) };
        self.note_original(object, findings).await?;
        let object = &**object;
        let mut board = self.board_for(key, object, &target, memory).await;
        let asked = |board: &ObjectBoard| -> PolledFor {
            (object.metadata.generation, policy.overrides.clone(), board.credentials, board.built())
        };
        let changed = memory.polled_for.as_ref().is_some_and(|before| *before != asked(&board));
        let is_due = changed || board.has_news() || memory.next_poll_at.is_none_or(|at| at <= Instant::now());
        if is_due {
            board = self.ask_again(key, object, board, memory).await;
        }
        let problems: Vec<String> = board
            .triggers
            .iter()
            .filter_map(|trigger| trigger.scaler.as_ref().err())
            .map(ToString::to_string)
            .collect();
        findings.problem = (!problems.is_empty()).then(|| problems.join("; "));
        findings.board = Some(board.clone());
        findings.triggers_make_sense = true;
        // An HPA that cannot be written is told of, and stops nobody from waking a target or laying it to sleep.
        let kept = self.keep_hpa(object, &target, &board, memory, findings).await;
        if is_due {
            memory.polled_for = Some(asked(&board));
            self.telemetry.late(key, memory.next_poll_at.map_or(Duration::ZERO, |at| at.elapsed()));
            let settles_at = memory.settles_at.take().filter(|at| *at > Instant::now());
            memory.next_poll_at = Some(settles_at.unwrap_or_else(|| Instant::now() + interval(object)));
            findings.poll = Some(self.poll(object, policy, &target, &board, memory).await?);
        }
        kept
    }

    /// The target, if it is there; else the problem is noted.
    async fn find_target(
        &self,
        object: &ScaledObject,
        memory: &mut Memory,
        findings: &mut Findings,
    ) -> Result<Option<ScaleTarget>, PassError> {
        let trouble = |error: &TargetError| {
            let message = ValidationStep::Target.message();
            format!("{message}: {error}")
        };
        let target = match self
            .targets
            .resolve(object.metadata.namespace.as_deref().unwrap_or_default(), &object.spec.scale_target_ref)
            .await
        {
            Ok(target) => target,
            Err(error @ TargetError::UnknownKind { .. }) => {
                findings.problem = Some(trouble(&error));
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(old) = memory.target.replace(target.clone()).filter(|old| *old != target) {
            self.world.untrack(&old);
        }
        self.watches.ensure(&target.kind);
        let first = object.status.as_ref().and_then(|status| status.original_replica_count).is_none();
        let seen = self.world.track(&target);
        if first || seen == TargetSeen::Unread || seen == TargetSeen::Missing {
            match self.targets.fetch_scale(&target).await {
                Ok(scale) => {
                    let replicas = kedge_cluster::target::desired_replicas(&scale);
                    self.world.read_target(&target, TargetSeen::Replicas(replicas));
                    findings.original_replicas = Some(replicas);
                }
                Err(error @ (TargetError::Missing { .. } | TargetError::NoScale { .. })) => {
                    self.world.read_target(&target, TargetSeen::Missing);
                    findings.problem = Some(trouble(&error));
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        findings.target = Some(target.clone());
        Ok(Some(target))
    }

    /// The triggers of the object, built for its generation and its credentials.
    async fn board_for(
        &self,
        key: &ObjectKey,
        object: &ScaledObject,
        target: &ScaleTarget,
        memory: &mut Memory,
    ) -> Arc<ObjectBoard> {
        if let Some(board) = self.board.get(key).filter(|board| self.is_current(board, object)) {
            // It may have been built on demand, since this pass began.
            memory.has_built = true;
            return board;
        }
        let old = self.board.get(key).filter(|old| Some(&old.uid) == object.metadata.uid.as_ref());
        let hpa = self.own_hpa(object);
        let earlier = Earlier { board: old.as_deref(), hpa: hpa.as_deref() };
        let board = self.builder.build(object, target, earlier).await;
        debug!(namespace = key.namespace, name = key.name, generation = board.generation, "scalers built");
        self.put_board(key, object, board.clone(), memory).await;
        board
    }

    /// Whether a board was built for the object, and its credentials, as they are now.
    fn is_current(&self, board: &ObjectBoard, object: &ScaledObject) -> bool {
        board.fits(object)
            && board.credentials == self.credentials.references.changes(&board.key)
            && board.refresh_at.is_none_or(|at| at > Instant::now())
    }

    /// The board, after sources that did not say which metrics they have were asked again.
    async fn ask_again(
        &self,
        key: &ObjectKey,
        object: &ScaledObject,
        board: Arc<ObjectBoard>,
        memory: &mut Memory,
    ) -> Arc<ObjectBoard> {
        match self.builder.ask_again(object, &board).await {
            Some(board) => {
                self.put_board(key, object, board.clone(), memory).await;
                board
            }
            None => board,
        }
    }

    /// Puts a board in the place of the one there was, and tells what is new about it.
    async fn put_board(&self, key: &ObjectKey, object: &ScaledObject, board: Arc<ObjectBoard>, memory: &mut Memory) {
        let old = self.board.get(key);
        if let Some(old) = &old {
            self.telemetry.forget(key, &old.triggers);
        }
        self.board.put(key.clone(), board.clone());
        let is_known = object.status.as_ref().is_some_and(|status| status.hpa_name.is_some());
        // What an earlier process built, and told, is no news.
        let untold = std::mem::replace(&mut memory.has_built, true) || !is_known;
        let before = |trigger: &BoardTrigger| old.as_ref().and_then(|old| old.trigger(trigger.index, &trigger.kind));
        for trigger in &board.triggers {
            match (&trigger.scaler, before(trigger)) {
                (_, Some(old)) if Arc::ptr_eq(old, trigger) => {}
                (Ok(_), _) if untold => {
                    let note = format!("Scaler {} is built", trigger.kind);
                    self.events.publish(object, EventType::Normal, events::SCALERS_STARTED, &note).await;
                    self.report_unexpected_parameters(object, trigger.index).await;
                }
                (Ok(_), _) => {}
                (Err(problem), Some(old)) if old.scaler.as_ref().err() == Some(problem) => {}
                (Err(problem), _) if !untold && says(object, &problem.to_string()) => {}
                (Err(problem), _) => {
                    self.events.publish(object, EventType::Warning, events::SCALER_FAILED, &problem.to_string()).await;
                }
            }
        }
        if untold && board.is_built_at_all() && !old.is_some_and(|old| old.is_built_at_all()) {
            self.events.publish(object, EventType::Normal, events::SCALERS_STARTED, "Started scalers watch").await;
        }
    }

    /// Publishes an event for each parameter that the trigger's type does not know, where this is configured.
    async fn report_unexpected_parameters(&self, object: &ScaledObject, index: usize) {
        let Some(trigger) = object.spec.triggers.get(index) else { return };
        for note in self.builder.registry.report_unexpected_parameters(trigger) {
            warn!(note, "a trigger has an unexpected parameter");
            self.events.publish(object, EventType::Warning, events::SCALER_INFO, &note).await;
        }
    }

    /// When to look again: at the next poll, or sooner to see whether a problem is gone, or to renew credentials.
    fn next_look(&self, object: &ScaledObject, memory: &Memory, findings: &Findings) -> Option<Instant> {
        let Some(board) = &findings.board else {
            let stuck = findings.problem.is_some();
            return if stuck { Some(Instant::now() + interval(object).max(RETRY.1 / 2)) } else { memory.next_poll_at };
        };
        memory.next_poll_at.into_iter().chain(board.refresh_at).min()
    }
}

/// Whether the Ready condition says so already.
fn says(object: &ScaledObject, problem: &str) -> bool {
    let conditions = object.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.r#type == conditions::READY);
    ready.any(|ready| ready.message.as_ref().is_some_and(|message| message.contains(problem)))
}

/// What makes the object unusable as it is written.
fn problem_of(object: &ScaledObject) -> Option<(ValidationStep, String)> {
    let problems = validate(&object.spec, kedge_scalers::registry::class_of);
    let first = problems.first()?;
    let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Some((first.step(), format!("{}: {}", first.step().message(), all.join("; "))))
}

/// How often the object asks to be looked at.
fn interval(object: &ScaledObject) -> Duration {
    polling_interval(&object.spec)
}

#[cfg(test)]
mod tests;
