//! Building the scalers of an object. A trigger that cannot be built does not affect the others, and keeps the metrics that it is
//! known to have.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, MetricSpec};
use kedge_api::trigger::Trigger;
use kedge_core::credentials::CredentialError;
use kedge_core::fallback::Failures;
use kedge_core::trigger_class::TriggerClass;
use kedge_scalers::observer::observed;
use kedge_scalers::target::{External, TargetType};
use kedge_scalers::{Owner, Registry, Role as TriggerRole, Scaler, TriggerConfig, metric_name, registry};
use tokio::time::Instant;

use crate::compact::Compact;
use crate::credentials::references::Agreement;
use crate::credentials::{Credentials, Resolved};
use crate::leadership::Leadership;
use crate::push_listener::PushListener;
use crate::query_limits::QueryLimits;
use crate::scalable::Scalable;
use crate::scalers_cache::{CachedTrigger, ExternalMetric, NotBuilt, ObjectScalers, Service};
use crate::telemetry::{Telemetry, TriggerObserver};
use crate::work_queue::WorkQueue;
use kedge_cluster::target::ScaleTarget;
use kedge_cluster::{ObjectKey, instant_after};

/// Builds scalers.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct ScalersBuilder {
    pub registry: Registry,
    pub telemetry: Arc<Telemetry>,
    pub credentials: Arc<Credentials>,
    /// Where objects become due whose push sources send an event.
    pub queue: Arc<WorkQueue<ObjectKey>>,
    pub leadership: Arc<Leadership>,
    pub query_limits: QueryLimits,
}

/// The pause before credentials that could not be read, or may have been read from the past, are resolved again, and sources that did
/// not describe their metrics are queried again.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// What an earlier build, or the object's HPA, shows of its metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Earlier<'a> {
    pub scalers: Option<&'a ObjectScalers>,
    pub hpa: Option<&'a HorizontalPodAutoscaler>,
}

/// What scalers are built for, beside a generation of their object.
#[derive(Clone, Copy)]
struct BuiltFor {
    /// The count of changes of the credentials.
    credentials: u64,
    term: u64,
}

impl ScalersBuilder {
    /// Builds the scalers of an object for its present generation and credentials. Unchanged triggers are kept.
    pub async fn build(&self, object: &Scalable<'_>, target: &ScaleTarget, earlier: Earlier<'_>) -> Arc<ObjectScalers> {
        let key = &object.key;
        let references = &self.credentials.references;
        let (changes, began) = (references.changes(key), references.now());
        // Before any listener is started: it would be missing from what is built for a later term.
        let term = self.leadership.term();
        let same =
            earlier.scalers.filter(|scalers| scalers.fits(object.uid, object.generation) && scalers.term == term);
        let mut resolution = self.credentials.begin(object, target);
        let (mut triggers, mut is_incomplete) = (Vec::new(), false);
        for (index, trigger) in object.triggers.iter().enumerate() {
            let old = same.and_then(|scalers| scalers.trigger(index, &trigger.r#type)).filter(|old| old.scaler.is_ok());
            let resolved = resolution.resolve(trigger).await;
            let failed =
                resolved.as_ref().err().is_some_and(|problems| problems.iter().any(CredentialError::is_transient));
            is_incomplete |= failed;
            triggers.push(match (resolved, old) {
                (Ok(resolved), Some(old)) if old.credentials == resolved => old.clone(),
                // A working scaler keeps the credentials that it has.
                (Err(problems), Some(old)) if problems.iter().all(CredentialError::is_transient) => old.clone(),
                (resolved, _) => Arc::new(self.build_trigger(object, index, trigger, resolved, earlier).await),
            });
        }
        // Polls may be far apart, and a push source is not listened to until its scaler is built.
        is_incomplete |= triggers.iter().any(|trigger| trigger.is_silent());
        let (used, refresh_in) = resolution.end();
        is_incomplete |= references.set(key, began, used) == Agreement::InDoubt;
        let again = is_incomplete.then_some(RETRY_PAUSE);
        let refresh_at = again.into_iter().chain(refresh_in).min().map(instant_after);
        self.object_scalers(object, triggers, BuiltFor { credentials: changes, term }, refresh_at)
    }

    /// Rebuilds the triggers whose sources did not describe their metrics, or announced other ones. `None` where nothing changed.
    pub async fn rebuild_changed(&self, object: &Scalable<'_>, scalers: &ObjectScalers) -> Option<Arc<ObjectScalers>> {
        let earlier = Earlier { scalers: Some(scalers), hpa: None };
        let changes: Vec<_> =
            scalers.push_listeners().filter_map(|push| Some((push, push.metrics_change()?))).collect();
        // All at once: a source that hangs must not delay the others.
        let rebuilt = scalers.triggers.iter().map(|trigger| self.rebuild_trigger(object, trigger, earlier));
        let rebuilt = join_all(rebuilt).await;
        // Not before: the wait may be given up.
        changes.into_iter().for_each(|(push, change)| push.handle_metrics_change(change));
        let is_changed = rebuilt.iter().any(Option::is_some);
        let triggers = scalers.triggers.iter().zip(rebuilt);
        let triggers = triggers.map(|(old, new)| new.map_or_else(|| old.clone(), Arc::new)).collect();
        let built_for = BuiltFor { credentials: scalers.credentials, term: scalers.term };
        is_changed.then(|| self.object_scalers(object, triggers, built_for, scalers.refresh_at))
    }

    /// The rebuilt trigger, if its source describes other metrics than before.
    async fn rebuild_trigger(
        &self,
        object: &Scalable<'_>,
        trigger: &CachedTrigger,
        earlier: Earlier<'_>,
    ) -> Option<CachedTrigger> {
        let Err(NotBuilt::NoAnswer(_)) = &trigger.scaler else {
            return self.redescribe(object, trigger, earlier).await;
        };
        let spec = object.triggers.get(trigger.index)?;
        let resolved = Ok(trigger.credentials.clone());
        let again = self.build_trigger(object, trigger.index, spec, resolved, earlier).await;
        (again.scaler.as_ref().err() != trigger.scaler.as_ref().err()).then_some(again)
    }

    /// The same trigger with the metrics that its source describes now, if the source announced a change.
    async fn redescribe(
        &self,
        object: &Scalable<'_>,
        trigger: &CachedTrigger,
        earlier: Earlier<'_>,
    ) -> Option<CachedTrigger> {
        let scaler = trigger.scaler.as_ref().ok()?;
        trigger.push.as_ref().and_then(|push| push.metrics_change())?;
        // A source that does not answer now announces the change again.
        let specs = scaler.describe().await.ok().filter(|specs| *specs != trigger.specs.read())?;
        let described = describe(object, earlier, &specs);
        let scaler = check(object, trigger.index, &trigger.trigger_type, &specs).map(|()| scaler.clone());
        Some(CachedTrigger {
            index: trigger.index,
            trigger_type: trigger.trigger_type.clone(),
            name: trigger.name.clone(),
            scaler,
            specs: Compact::new(&specs),
            metrics: described,
            service: trigger.service,
            query_limit: trigger.query_limit.clone(),
            push: trigger.push.clone(),
            credentials: trigger.credentials.clone(),
        })
    }

    fn object_scalers(
        &self,
        object: &Scalable<'_>,
        triggers: Vec<Arc<CachedTrigger>>,
        built_for: BuiltFor,
        refresh_at: Option<Instant>,
    ) -> Arc<ObjectScalers> {
        Arc::new(ObjectScalers {
            key: object.key.clone(),
            telemetry: self.telemetry.clone(),
            queue: self.queue.clone(),
            uid: object.uid.unwrap_or_default().to_owned(),
            generation: object.generation.unwrap_or_default(),
            fallback: object.fallback.cloned(),
            triggers,
            polling_interval: object.polling_interval,
            is_left_to_hpa: object.is_left_to_hpa,
            // A source that is slower than the polls would be queried all the time.
            query_limit: object.polling_interval.max(self.registry.default_timeout()),
            first_answer_limit: self.registry.default_timeout(),
            composite: object.composite(),
            credentials: built_for.credentials,
            term: built_for.term,
            refresh_at,
            credentials_denied: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        })
    }

    async fn build_trigger(
        &self,
        object: &Scalable<'_>,
        index: usize,
        trigger: &Trigger,
        resolved: Result<Resolved, Vec<CredentialError>>,
        earlier: Earlier<'_>,
    ) -> CachedTrigger {
        let (built, credentials) = match resolved {
            Ok(resolved) => {
                let built = self.build_scaler(object, index, trigger, &resolved).await;
                (built.map_err(|why| with_absent(index, trigger, why, &resolved.absent)), resolved)
            }
            Err(problems) => (Err(unresolved(index, trigger, &problems)), Resolved::default()),
        };
        let (scaler, specs) = match built {
            Ok((scaler, specs)) => (Ok(scaler), specs),
            Err(why) => (Err(why), known_specs(object, index, trigger, earlier)),
        };
        let metrics = describe(object, earlier, &specs);
        let push = scaler.as_ref().ok().and_then(|scaler| self.listen(object, trigger, scaler));
        let service = if trigger.use_cached_metrics == Some(true) { Service::LastPoll } else { Service::Live };
        let (trigger_type, name) = (trigger.r#type.clone(), trigger.name.clone());
        let host = scaler.as_ref().ok().and_then(|scaler| scaler.host());
        let query_limit = host.map(|host| self.query_limits.limit(&object.key.namespace, host));
        let specs = Compact::new(&specs);
        CachedTrigger { index, trigger_type, name, scaler, specs, metrics, service, query_limit, push, credentials }
    }

    /// Listens to a push source. Only the leader does.
    fn listen(&self, object: &Scalable<'_>, trigger: &Trigger, scaler: &Arc<dyn Scaler>) -> Option<Arc<PushListener>> {
        let events = Some(scaler).filter(|_| self.leadership.leads())?.push()?;
        let observer = self.observer(object, trigger);
        Some(Arc::new(PushListener::start(events, observer, object.key.clone(), self.queue.clone())))
    }

    /// Observes requests that read no metric.
    fn observer(&self, object: &Scalable<'_>, trigger: &Trigger) -> Arc<TriggerObserver> {
        Arc::new(TriggerObserver {
            telemetry: self.telemetry.clone(),
            key: object.key.clone(),
            trigger_type: trigger.r#type.clone(),
            trigger_name: trigger.name.clone().unwrap_or_default(),
        })
    }

    async fn build_scaler(
        &self,
        object: &Scalable<'_>,
        index: usize,
        trigger: &Trigger,
        resolved: &Resolved,
    ) -> Result<(Arc<dyn Scaler>, Vec<MetricSpec>), NotBuilt> {
        let trigger_type = &trigger.r#type;
        let owner = Owner {
            namespace: &object.key.namespace,
            name: &object.key.name,
            role: if object.has_formula() { TriggerRole::FormulaInput } else { TriggerRole::Metric },
        };
        let config = TriggerConfig::new(owner, index, trigger);
        let config = config.resolved(&resolved.auth, &resolved.environment, resolved.identity.as_ref());
        let scaler = self.registry.build(&config).map_err(|error| NotBuilt::Invalid(error.to_string()))?;
        let specs = observed(self.observer(object, trigger), scaler.describe()).await;
        let specs = specs.map_err(|error| NotBuilt::NoAnswer(format!("trigger {index} ({trigger_type}): {error}")))?;
        check(object, index, trigger_type, &specs)?;
        Ok((scaler, specs))
    }
}

/// The external metrics among these, with the failures that are known of them.
fn describe(object: &Scalable<'_>, earlier: Earlier<'_>, specs: &[MetricSpec]) -> Vec<Arc<ExternalMetric>> {
    let failures = |name: &str| known_failures(object, earlier.scalers, name);
    specs.iter().filter_map(|spec| ExternalMetric::from_spec(spec, failures)).map(Arc::new).collect()
}

/// Whether the HPA accepts these metrics.
fn check(object: &Scalable<'_>, index: usize, trigger_type: &str, specs: &[MetricSpec]) -> Result<(), NotBuilt> {
    if object.has_formula() { Ok(()) } else { check_targets(index, trigger_type, specs) }
}

/// The error of a trigger whose credentials could not be resolved.
fn unresolved(index: usize, trigger: &Trigger, problems: &[CredentialError]) -> NotBuilt {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    NotBuilt::Invalid(format!("trigger {index} ({}): {}", trigger.r#type, texts.join(", and ")))
}

/// Why a trigger is not built, where something that it refers to does not exist: that comes first.
fn with_absent(index: usize, trigger: &Trigger, why: NotBuilt, absent: &[CredentialError]) -> NotBuilt {
    match why {
        NotBuilt::Invalid(error) if !absent.is_empty() => {
            NotBuilt::Invalid(format!("{}; {error}", unresolved(index, trigger, absent)))
        }
        other => other,
    }
}

/// Why the HPA cannot have these metrics. The API server rejects an HPA with a target of zero: one such metric would keep the others
/// out of it.
pub fn target_problem(specs: &[MetricSpec]) -> Option<String> {
    let mut metrics = specs.iter().filter_map(|spec| ExternalMetric::from_spec(spec, |_| Failures::default()));
    let metric = metrics.find(|metric| metric.target.0 <= 0)?;
    Some(format!("the target of metric {} is 0, or too small to be written; raise it to 0.001 at least", metric.name))
}

fn check_targets(index: usize, trigger_type: &str, specs: &[MetricSpec]) -> Result<(), NotBuilt> {
    match target_problem(specs) {
        None => Ok(()),
        Some(problem) => Err(NotBuilt::Invalid(format!("trigger {index} ({trigger_type}): {problem}"))),
    }
}

/// The metrics of a trigger that is not built: those it had, those its HPA has, or, where a fallback needs one to be served through, a
/// placeholder with a target of one per replica.
fn known_specs(object: &Scalable<'_>, index: usize, trigger: &Trigger, earlier: Earlier<'_>) -> Vec<MetricSpec> {
    let trigger_type = &trigger.r#type;
    let before = earlier.scalers.and_then(|scalers| scalers.trigger(index, trigger_type)).map(|old| old.specs.read());
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        return before;
    }
    let prefix = metric_name::full_name(index, "");
    let in_hpa = earlier.hpa.and_then(|hpa| hpa.spec.metrics.as_ref()).into_iter().flatten();
    let own = |spec: &&MetricSpec| spec.external.as_ref().is_some_and(|one| one.metric.name.starts_with(&prefix));
    let known: Vec<MetricSpec> = in_hpa.filter(own).cloned().map(without_selector).collect();
    if !known.is_empty() || !object.declares_fallback || is_resource(trigger_type) {
        return known;
    }
    vec![External::one_each(metric_name::full_name(index, trigger_type), TargetType::AverageValue).spec()]
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

/// The failures of a metric so far: as counted before, or as the status records them.
fn known_failures(object: &Scalable<'_>, earlier: Option<&ObjectScalers>, name: &str) -> Failures {
    let counted = earlier.and_then(|scalers| scalers.metrics().find(|(_, metric)| metric.name == name));
    if let Some((_, metric)) = counted {
        return metric.failures();
    }
    object.recorded_failures(name)
}

#[cfg(test)]
mod tests;
