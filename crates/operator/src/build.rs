//! Building the triggers of an object. One that cannot be built does not silence the others, and keeps the metrics it is known
//! to have.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, MetricSpec};
use kedge_api::ScaledObject;
use kedge_api::trigger::Trigger;
use kedge_core::credentials::CredentialError;
use kedge_core::fallback::{Failures, usable_fallback};
use kedge_core::formula;
use kedge_core::trigger_class::TriggerClass;
use kedge_scalers::target::{External, TargetType};
use kedge_scalers::{Owner, Registry, Role as TriggerRole, Scaler, TriggerConfig, metric_name, registry};
use tokio::time::Instant;

use crate::board::{BoardTrigger, ExternalMetric, NotBuilt, ObjectBoard, Service};
use crate::credentials::{Credentials, Resolved};
use crate::push::Push;
use crate::queue::Queue;
use crate::role::Role;
use crate::telemetry::Telemetry;
use kedge_cluster::ObjectKey;
use kedge_cluster::target::ScaleTarget;

/// Builds triggers.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Builder {
    pub registry: Registry,
    pub telemetry: Arc<Telemetry>,
    pub credentials: Arc<Credentials>,
    /// Where objects become due whose sources tell something.
    pub queue: Arc<Queue<ObjectKey>>,
    pub role: Arc<Role>,
}

/// The pause before credentials that could not be read are tried again, and sources that did not say which metrics they have.
const AGAIN: Duration = Duration::from_secs(10);

/// What is known of an object's metrics from before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Earlier<'a> {
    pub board: Option<&'a ObjectBoard>,
    pub hpa: Option<&'a HorizontalPodAutoscaler>,
}

impl Builder {
    /// Builds all triggers of an object for its present generation and credentials. Those that are as they were are kept.
    pub async fn build(&self, object: &ScaledObject, target: &ScaleTarget, earlier: Earlier<'_>) -> Arc<ObjectBoard> {
        let key = ObjectKey::from_meta(&object.metadata);
        let references = &self.credentials.references;
        let (changes, began) = (references.changes(&key), references.now());
        let same = earlier.board.filter(|board| board.fits(object));
        let mut resolution = self.credentials.begin(object, target);
        let (mut triggers, mut again) = (Vec::new(), None);
        for (index, trigger) in object.spec.triggers.iter().enumerate() {
            let old = same.and_then(|board| board.trigger(index, &trigger.r#type)).filter(|old| old.scaler.is_ok());
            let resolved = resolution.resolve(trigger).await;
            let failed =
                resolved.as_ref().err().is_some_and(|problems| problems.iter().any(CredentialError::is_transient));
            again = again.or(failed.then_some(AGAIN));
            triggers.push(match (resolved, old) {
                (Ok(resolved), Some(old)) if old.credentials == resolved => old.clone(),
                // What works goes on with what it has.
                (Err(problems), Some(old)) if problems.iter().all(CredentialError::is_transient) => old.clone(),
                (resolved, _) => Arc::new(self.build_trigger(object, index, trigger, resolved, earlier).await),
            });
        }
        // Polls may be far apart, and until it is built nobody listens to it.
        let silent = triggers.iter().any(|trigger| matches!(trigger.scaler, Err(NotBuilt::NoAnswer(_))));
        again = again.or(silent.then_some(AGAIN));
        let (used, refresh_in) = resolution.end();
        references.set(&key, began, used);
        let refresh_at = again.into_iter().chain(refresh_in).min().map(|wait| Instant::now() + wait);
        self.board(object, triggers, changes, refresh_at)
    }

    /// Asks again those sources that did not say which metrics they have, or said that they have others. `None` if there is
    /// nothing new.
    pub async fn ask_again(&self, object: &ScaledObject, board: &ObjectBoard) -> Option<Arc<ObjectBoard>> {
        let earlier = Earlier { board: Some(board), hpa: None };
        // All at once: one that hangs must not hold up the others.
        let asked = board.triggers.iter().map(|trigger| self.asked_again(object, trigger, earlier));
        let answers = join_all(asked).await;
        let is_news = answers.iter().any(Option::is_some);
        let triggers = board.triggers.iter().zip(answers);
        let triggers = triggers.map(|(old, new)| new.map_or_else(|| old.clone(), Arc::new)).collect();
        is_news.then(|| self.board(object, triggers, board.credentials, board.refresh_at))
    }

    /// The trigger anew, if its source has something new to say.
    async fn asked_again(
        &self,
        object: &ScaledObject,
        trigger: &BoardTrigger,
        earlier: Earlier<'_>,
    ) -> Option<BoardTrigger> {
        let Err(NotBuilt::NoAnswer(_)) = &trigger.scaler else {
            return self.redescribed(object, trigger, earlier).await;
        };
        let spec = object.spec.triggers.get(trigger.index)?;
        let resolved = Ok(trigger.credentials.clone());
        let again = self.build_trigger(object, trigger.index, spec, resolved, earlier).await;
        (again.scaler.as_ref().err() != trigger.scaler.as_ref().err()).then_some(again)
    }

    /// The same trigger with the metrics that its source says it has now, if it said that they changed.
    async fn redescribed(
        &self,
        object: &ScaledObject,
        trigger: &BoardTrigger,
        earlier: Earlier<'_>,
    ) -> Option<BoardTrigger> {
        let scaler = trigger.scaler.as_ref().ok()?;
        trigger.push.as_ref().filter(|push| push.take_specs())?;
        // What cannot be told now is told again.
        let specs = scaler.describe().await.ok().filter(|specs| *specs != trigger.specs)?;
        let described = describe(object, earlier, &specs);
        let scaler = check(object, trigger.index, &trigger.kind, &specs).map(|()| scaler.clone());
        Some(BoardTrigger {
            index: trigger.index,
            kind: trigger.kind.clone(),
            name: trigger.name.clone(),
            scaler,
            specs,
            metrics: described,
            service: trigger.service,
            push: trigger.push.clone(),
            credentials: trigger.credentials.clone(),
        })
    }

    fn board(
        &self,
        object: &ScaledObject,
        triggers: Vec<Arc<BoardTrigger>>,
        credentials: u64,
        refresh_at: Option<Instant>,
    ) -> Arc<ObjectBoard> {
        Arc::new(ObjectBoard {
            key: ObjectKey::from_meta(&object.metadata),
            telemetry: self.telemetry.clone(),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            generation: object.metadata.generation.unwrap_or_default(),
            fallback: usable_fallback(&object.spec).cloned(),
            triggers,
            // That it can be read is checked before.
            composite: formula::settings::parse(&object.spec, registry::class_of).unwrap_or_default(),
            credentials,
            refresh_at,
            retired: AtomicBool::new(false),
        })
    }

    async fn build_trigger(
        &self,
        object: &ScaledObject,
        index: usize,
        trigger: &Trigger,
        resolved: Result<Resolved, Vec<CredentialError>>,
        earlier: Earlier<'_>,
    ) -> BoardTrigger {
        let (built, credentials) = match resolved {
            Ok(resolved) => (self.build_scaler(object, index, trigger, &resolved).await, resolved),
            Err(problems) => (Err(unresolved(index, trigger, &problems)), Resolved::default()),
        };
        let (scaler, specs) = match built {
            Ok((scaler, specs)) => (Ok(scaler), specs),
            Err(why) => (Err(why), known_specs(object, index, trigger, earlier)),
        };
        let metrics = describe(object, earlier, &specs);
        let push = scaler.as_ref().ok().and_then(|scaler| self.listen(object, scaler));
        let service = if trigger.use_cached_metrics == Some(true) { Service::LastPoll } else { Service::Live };
        let (kind, name) = (trigger.r#type.clone(), trigger.name.clone());
        BoardTrigger { index, kind, name, scaler, specs, metrics, service, push, credentials }
    }

    /// Listens to a source that tells by itself. Only the replica that acts does.
    fn listen(&self, object: &ScaledObject, scaler: &Arc<dyn Scaler>) -> Option<Arc<Push>> {
        let events = Some(scaler).filter(|_| self.role.leads())?.push()?;
        Some(Arc::new(Push::listen(events, ObjectKey::from_meta(&object.metadata), self.queue.clone())))
    }

    async fn build_scaler(
        &self,
        object: &ScaledObject,
        index: usize,
        trigger: &Trigger,
        resolved: &Resolved,
    ) -> Result<(Arc<dyn Scaler>, Vec<MetricSpec>), NotBuilt> {
        let kind = &trigger.r#type;
        let owner = Owner {
            namespace: object.metadata.namespace.as_deref().unwrap_or_default(),
            name: object.metadata.name.as_deref().unwrap_or_default(),
            role: if has_formula(object) { TriggerRole::FormulaInput } else { TriggerRole::Metric },
        };
        let config = TriggerConfig::new(owner, index, trigger);
        let config = config.resolved(&resolved.auth, &resolved.environment, resolved.identity.as_ref());
        let scaler = self.registry.build(&config).map_err(|error| NotBuilt::Mistake(error.to_string()))?;
        let specs = scaler.describe().await;
        let specs = specs.map_err(|error| NotBuilt::NoAnswer(format!("trigger {index} ({kind}): {error}")))?;
        check(object, index, kind, &specs)?;
        Ok((scaler, specs))
    }
}

/// The external metrics among these, with the failures that are known of them.
fn describe(object: &ScaledObject, earlier: Earlier<'_>, specs: &[MetricSpec]) -> Vec<Arc<ExternalMetric>> {
    let failures = |name: &str| known_failures(object, earlier.board, name);
    specs.iter().filter_map(|spec| ExternalMetric::of(spec, failures)).map(Arc::new).collect()
}

/// Whether the HPA can have these metrics.
fn check(object: &ScaledObject, index: usize, kind: &str, specs: &[MetricSpec]) -> Result<(), NotBuilt> {
    if has_formula(object) { Ok(()) } else { check_targets(index, kind, specs) }
}

/// Whether the triggers only feed a formula: then their own targets do not count.
fn has_formula(object: &ScaledObject) -> bool {
    let modifiers = object.spec.advanced.as_ref().and_then(|advanced| advanced.scaling_modifiers.as_ref());
    modifiers.is_some_and(formula::settings::is_used)
}

/// Why there is no scaler when its credentials could not be resolved.
fn unresolved(index: usize, trigger: &Trigger, problems: &[CredentialError]) -> NotBuilt {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    NotBuilt::Mistake(format!("trigger {index} ({}): {}", trigger.r#type, texts.join(", and ")))
}

/// The API server takes no HPA with a target of zero, and one such metric would keep the others out of it.
fn check_targets(index: usize, kind: &str, specs: &[MetricSpec]) -> Result<(), NotBuilt> {
    let metrics = specs.iter().filter_map(|spec| ExternalMetric::of(spec, |_| Failures::default()));
    match metrics.into_iter().find(|metric| metric.target.0 <= 0) {
        None => Ok(()),
        Some(metric) => Err(NotBuilt::Mistake(format!(
            "trigger {index} ({kind}): the target of metric {} is 0, or too small to be written; raise it to 0.001 at least",
            metric.name
        ))),
    }
}

/// The metrics of a trigger that is not built: those it had, those its HPA has, or, where a fallback wants one to speak
/// through, one that stands for it with a target of one a replica.
fn known_specs(object: &ScaledObject, index: usize, trigger: &Trigger, earlier: Earlier<'_>) -> Vec<MetricSpec> {
    let kind = &trigger.r#type;
    if let Some(before) = earlier.board.and_then(|board| board.trigger(index, kind)).filter(|old| !old.specs.is_empty())
    {
        return before.specs.clone();
    }
    let prefix = metric_name::full_name(index, "");
    let in_hpa = earlier.hpa.and_then(|hpa| hpa.spec.metrics.as_ref()).into_iter().flatten();
    let own = |spec: &&MetricSpec| spec.external.as_ref().is_some_and(|one| one.metric.name.starts_with(&prefix));
    let known: Vec<MetricSpec> = in_hpa.filter(own).cloned().map(without_selector).collect();
    if !known.is_empty() || object.spec.fallback.is_none() || is_resource(kind) {
        return known;
    }
    vec![External::one_each(metric_name::full_name(index, kind), TargetType::AverageValue).spec()]
}

/// Whether the HPA controller measures the values of a trigger by itself.
fn is_resource(trigger_type: &str) -> bool {
    registry::class_of(trigger_type).and_then(TriggerClass::resource).is_some()
}

fn without_selector(mut spec: MetricSpec) -> MetricSpec {
    if let Some(external) = &mut spec.external {
        external.metric.selector = None;
    }
    spec
}

/// The failures of a metric so far: as counted before, or as the status remembers.
fn known_failures(object: &ScaledObject, earlier: Option<&ObjectBoard>, name: &str) -> Failures {
    let counted = earlier.and_then(|board| board.metrics().find(|(_, metric)| metric.name == name));
    if let Some((_, metric)) = counted {
        return metric.failures();
    }
    failures_in_status(object, name)
}

/// The failures that the status remembers.
pub(crate) fn failures_in_status(object: &ScaledObject, name: &str) -> Failures {
    let health = object.status.as_ref().and_then(|status| status.health.as_ref());
    let known = health.and_then(|health| health.get(name));
    Failures(known.and_then(|health| health.number_of_failures).unwrap_or(0))
}

#[cfg(test)]
mod tests;
