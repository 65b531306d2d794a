//! The readings service: the scalers cache, the builder that fills it, and the fallback of failing metrics. The reconciler and the metrics
//! API both read through it. It writes nothing to the cluster.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kedge_cluster::target::desired_replicas;
use kedge_cluster::{Clock, ObjectKey, ScaleTarget, ScaleTargets, TargetError};
use kedge_core::fallback::{Failures, MetricType, NoSubstitute, replicas, substitute};
use kedge_core::milli::Milli;
use kedge_core::policy::Policy;
use tokio::time::Instant;

use crate::cluster_cache::{CachedObject, CachedReplicas, ClusterCache, LazyObject};
use crate::job_cache::{CachedScaledJob, LazyScaledJob};
use crate::leadership::Leadership;
use crate::scalable::Scalable;
use crate::scalers_builder::{Earlier, ScalersBuilder};
use crate::scalers_cache::{ASKED_BY_HPA, CachedTrigger, ExternalMetric, FRESH, ObjectScalers, ScalersCache, Service};
use crate::seen_active::SeenActive;
use crate::validation::check_spec;

/// The readings of all objects.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Readings {
    pub(crate) clock: Clock,
    pub(crate) cluster: Arc<ClusterCache>,
    pub(crate) targets: Arc<ScaleTargets>,
    pub(crate) builder: ScalersBuilder,
    pub(crate) leadership: Arc<Leadership>,
    pub(crate) seen_active: SeenActive,
    cache: ScalersCache,
}

/// Scalers of an object, after they were needed.
#[derive(Debug)]
pub enum Ensured {
    /// They were cached, and are current.
    Cached(Arc<ObjectScalers>),
    /// They were built, and replaced these.
    Built { scalers: Arc<ObjectScalers>, replaced: Option<Arc<ObjectScalers>> },
}

/// A generation of an object: what scalers are built for.
#[derive(Clone, Copy, Debug)]
pub struct ObjectGeneration<'a> {
    pub key: &'a ObjectKey,
    pub uid: Option<&'a str>,
    pub generation: Option<i64>,
}

impl<'a> From<&'a CachedObject> for ObjectGeneration<'a> {
    fn from(object: &'a CachedObject) -> Self {
        Self { key: &object.key, uid: object.uid.as_deref(), generation: object.generation }
    }
}

impl<'a> From<&'a CachedScaledJob> for ObjectGeneration<'a> {
    fn from(object: &'a CachedScaledJob) -> Self {
        Self { key: &object.key, uid: object.uid.as_deref(), generation: object.generation }
    }
}

/// Why a fallback cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum NoFallback {
    #[error(transparent)]
    Rule(#[from] NoSubstitute),
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl Readings {
    pub fn new(
        clock: Clock,
        cluster: Arc<ClusterCache>,
        targets: Arc<ScaleTargets>,
        builder: ScalersBuilder,
        leadership: Arc<Leadership>,
    ) -> Self {
        Self {
            clock,
            cluster,
            targets,
            builder,
            leadership,
            seen_active: SeenActive::default(),
            cache: ScalersCache::default(),
        }
    }

    pub fn get(&self, key: &ObjectKey) -> Option<Arc<ObjectScalers>> {
        self.cache.get(key)
    }

    /// Caches scalers whose build ended late.
    #[cfg(test)]
    pub fn put_late(&self, scalers: Arc<ObjectScalers>) {
        self.cache.put(scalers);
    }

    /// Drops all scalers and readings.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// Drops the scalers of an object, as during a pause.
    pub fn remove(&self, key: &ObjectKey) -> Option<Arc<ObjectScalers>> {
        self.cache.remove(key)
    }

    /// Drops everything about an object: scalers, series and references.
    pub fn forget(&self, key: &ObjectKey) {
        if let Some(scalers) = self.cache.remove(key) {
            scalers.drop_series();
        }
        self.builder.telemetry.drop_object(key);
        self.builder.credentials.references.forget(key);
        if self.cluster.object(key).is_none() {
            self.seen_active.forget(key);
        }
    }

    /// The cached scalers of an object, if they are for its generation and credentials.
    pub fn current<'a>(&self, object: impl Into<ObjectGeneration<'a>>) -> Option<Arc<ObjectScalers>> {
        let object = object.into();
        self.cache.get(object.key).filter(|cached| self.is_current(cached, object))
    }

    /// The scalers of an object for its generation and credentials.
    pub async fn ensure(&self, object: &LazyObject, target: &ScaleTarget) -> Ensured {
        if let Some(current) = self.current(&*object.cached) {
            return Ensured::Cached(current);
        }
        self.build(&Scalable::from(&**object), target, self.cluster.own_hpa(object)).await
    }

    /// The scalers of a ScaledJob for its generation and credentials. Sources that did not describe their metrics are queried again.
    pub async fn ensure_for_job(&self, object: &LazyScaledJob, workload: &ScaleTarget) -> Ensured {
        let scalable = Scalable::from(&**object);
        match self.current(&*object.cached) {
            Some(current) => self.rebuild(&scalable, current).await,
            None => self.build(&scalable, workload, None).await,
        }
    }

    async fn build(
        &self,
        object: &Scalable<'_>,
        target: &ScaleTarget,
        hpa: Option<HorizontalPodAutoscaler>,
    ) -> Ensured {
        let old = self.cache.get(&object.key).filter(|old| Some(old.uid.as_str()) == object.uid);
        let earlier = Earlier { scalers: old.as_deref(), hpa: hpa.as_ref() };
        let scalers = self.builder.build(object, target, earlier).await;
        let replaced = self.replace(scalers.clone());
        Ensured::Built { scalers, replaced }
    }

    /// The scalers, after sources that did not describe their metrics, or announced other ones, were queried again.
    pub async fn rebuild_changed(&self, object: &ScaledObject, scalers: Arc<ObjectScalers>) -> Ensured {
        self.rebuild(&Scalable::from(object), scalers).await
    }

    async fn rebuild(&self, object: &Scalable<'_>, scalers: Arc<ObjectScalers>) -> Ensured {
        match self.builder.rebuild_changed(object, &scalers).await {
            Some(scalers) => Ensured::Built { replaced: self.replace(scalers.clone()), scalers },
            None => Ensured::Cached(scalers),
        }
    }

    fn replace(&self, scalers: Arc<ObjectScalers>) -> Option<Arc<ObjectScalers>> {
        let replaced = self.cache.get(&scalers.key);
        if let Some(replaced) = &replaced {
            replaced.drop_series();
        }
        self.cache.put(scalers);
        replaced
    }

    /// Whether the scalers were built for the object, and its credentials, as they are now.
    fn is_current(&self, scalers: &ObjectScalers, object: ObjectGeneration<'_>) -> bool {
        scalers.fits(object.uid, object.generation)
            && scalers.term == self.leadership.term()
            && scalers.credentials == self.builder.credentials.references.changes(&scalers.key)
            && scalers.refresh_at.is_none_or(|at| at > Instant::now())
            && !scalers.credentials_denied.load(Ordering::Relaxed)
    }

    /// The scalers of an object on a standby, or on a leader before its first reconcile of the object: cached, or built now. Else why
    /// there are none.
    pub async fn on_demand(&self, object: &LazyObject) -> Result<Arc<ObjectScalers>, String> {
        if let Some(scalers) = self.current(&*object.cached) {
            return Ok(scalers);
        }
        let scalable = Scalable::from(&**object);
        let key = &scalable.key;
        if let Some(invalid) = check_spec(&object.spec) {
            return Err(invalid.message);
        }
        if Policy::from_spec(&object.spec, object.metadata.annotations.as_ref()).overrides.is_paused() {
            return Err("it is paused".to_owned());
        }
        let hpa = self.cluster.own_hpa(object);
        let target = self.targets.resolve(key.namespace.clone(), &object.spec.scale_target_ref).await;
        let target = target.map_err(|error| error.to_string())?;
        let old = self.cache.get(key).filter(|old| old.fits(scalable.uid, scalable.generation));
        let earlier = Earlier { scalers: old.as_deref(), hpa: hpa.as_ref() };
        let scalers = self.builder.build(&scalable, &target, earlier).await;
        // A reconcile, or another request, may have finished first.
        if let Some(newer) = self.current(&*object.cached) {
            return Ok(newer);
        }
        self.drop_stale(key);
        self.cache.put(scalers.clone());
        Ok(scalers)
    }

    /// Drops the scalers of an object that changed or no longer exists.
    pub fn drop_stale(&self, key: &ObjectKey) {
        let object = self.cluster.object(key);
        if object.is_none() {
            self.builder.telemetry.drop_object(key);
            self.builder.credentials.references.forget(key);
            self.seen_active.forget(key);
        }
        let is_current = |scalers: &ObjectScalers| {
            object.as_ref().is_some_and(|object| self.is_current(scalers, (&*object.cached).into()))
        };
        if self.cache.get(key).is_some_and(|scalers| !is_current(&scalers))
            && let Some(old) = self.cache.remove(key)
        {
            old.drop_series();
        }
    }

    /// How old a reading served to the metrics API may be.
    pub fn age_max(&self, scalers: &ObjectScalers, trigger: &CachedTrigger) -> Duration {
        match trigger.service {
            // Of any age: polls keep it as fresh as the object asks for.
            Service::LastPoll if self.leadership.leads() => Duration::MAX,
            // A standby polls nothing: it queries no more often than the leader polls.
            Service::LastPoll => scalers.polling_interval,
            Service::Live => FRESH,
        }
    }

    /// How old a reading that the HPA asked for may be to serve a poll.
    pub fn age_max_of_poll(&self, scalers: &ObjectScalers) -> Duration {
        match scalers.is_left_to_hpa && self.cluster.is_hpa_scaling(&scalers.key) {
            true => ASKED_BY_HPA.max(scalers.polling_interval),
            false => FRESH,
        }
    }

    /// The consecutive failures of a metric. Only the leader counts them; a standby reads what the leader wrote.
    pub fn failures(&self, object: &LazyObject, metric: &ExternalMetric) -> Failures {
        match self.leadership.leads() {
            true => metric.failures(),
            false => Scalable::from(&**object).recorded_failures(&metric.name),
        }
    }

    /// The replicas of a target: as cached, or as read now.
    pub async fn current_replicas(&self, target: &ScaleTarget) -> Option<i32> {
        match self.cluster.replicas(target) {
            CachedReplicas::Known(current) => Some(current),
            CachedReplicas::Stale | CachedReplicas::Missing => {
                self.targets.fetch_scale(target).await.ok().as_ref().map(desired_replicas)
            }
        }
    }

    /// The value served for a metric that keeps failing, if the object has a fallback and the failures exceed its threshold.
    pub async fn fallback_value(
        &self,
        object: &LazyObject,
        scalers: &ObjectScalers,
        metric: &ExternalMetric,
    ) -> Option<Result<Milli, NoFallback>> {
        let failures = self.failures(object, metric);
        let fallback = scalers.fallback.as_ref().filter(|fallback| failures.exceed_threshold(fallback))?;
        let value = async {
            let target = self.targets.resolve(scalers.key.namespace.clone(), &object.spec.scale_target_ref).await?;
            // The HPA multiplies by the ready pods, so the fallback divides by them.
            let ready = match metric.metric_type {
                MetricType::AverageValue => None,
                MetricType::Value => Some(self.targets.count_ready_pods(&target).await?),
            };
            let wanted = replicas(fallback, self.current_replicas(&target).await)?;
            Ok(substitute(wanted, metric.target, metric.metric_type, ready)?)
        };
        Some(value.await)
    }
}
