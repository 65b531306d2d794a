//! One reconcile of one autoscaler: reads the observed state, lets the model decide, and writes the result.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Pod;
use kedge_core::hpa::model::history::ScalingHistory;
use kedge_core::hpa::model::metric::MetricReading;
use kedge_core::hpa::model::pods::ObservedPod;
use kedge_core::hpa::model::reconcile::{
    HpaSnapshot, Observation, ObservedScale, Outcome, ReplicaSource, Selection, Step, choose_replica_source, reconcile,
};
use kedge_core::hpa::model::settings::Settings;
use serde::Deserialize;
use serde_json::Value;

use super::AUTOSCALERS;
use super::report::Reporter;
use super::target::{Target, Targets};
use crate::api::selector::LabelSelector;
use crate::controllers::client::{ControllerClient, ObjectKey, PODS};
use crate::plane::Plane;

/// What reconciles share.
#[derive(Debug)]
pub(super) struct HpaContext {
    pub(super) client: ControllerClient,
    settings: Settings,
    targets: Targets,
    reporter: Reporter,
    /// The selector of each autoscaler that there is, as its last reconcile found it.
    selectors: Mutex<BTreeMap<ObjectKey, Option<LabelSelector>>>,
}

/// What was seen besides the scale.
#[derive(Debug, Default)]
struct Surroundings {
    pods: Vec<ObservedPod>,
    readings: Vec<MetricReading>,
}

impl HpaContext {
    pub(super) fn new(client: ControllerClient, settings: Settings) -> Self {
        Self {
            targets: Targets::new(client.clone()),
            reporter: Reporter::new(client.clone()),
            client,
            settings,
            selectors: Mutex::default(),
        }
    }

    pub(super) fn plane(&self) -> &Plane {
        &self.client.plane
    }

    /// All autoscalers there are.
    pub(super) fn autoscalers(&self) -> Vec<ObjectKey> {
        let all: Vec<HorizontalPodAutoscaler> = self.client.objects(&AUTOSCALERS, None);
        all.iter().map(|autoscaler| ObjectKey::from_meta(&autoscaler.metadata)).collect()
    }

    pub(super) fn register(&self, key: &ObjectKey) {
        self.selectors().entry(key.clone()).or_default();
    }

    pub(super) fn forget(&self, key: &ObjectKey) {
        self.selectors().remove(key);
    }

    /// Reconciles one autoscaler; none if there is no such autoscaler.
    pub(super) async fn reconcile(&self, key: &ObjectKey, history: ScalingHistory) -> Option<Outcome> {
        let autoscaler: HorizontalPodAutoscaler = self.client.object(&AUTOSCALERS, key)?;
        let (spec, old) = (autoscaler.spec.clone(), autoscaler.status.clone().unwrap_or_default());
        let subject = HpaSnapshot { namespace: &key.namespace, spec: &spec, status: &old };
        let target = self.targets.find(&key.namespace, &spec.scale_target_ref).await;
        let mut scale = target.as_ref().map(observe).map_err(Clone::clone);
        let mut around = Surroundings::default();
        if let (Ok(target), Ok(scale)) = (&target, &mut scale)
            && choose_replica_source(subject, scale.current, &self.settings) == ReplicaSource::Compute
        {
            around = self.look_around(key, target, scale, subject).await;
        }
        // Windows and periods count less than seconds, which the plane's own stamps do not.
        let now = (self.plane().options().wall)();
        let seen = Observation { now, scale, readings: &around.readings, pods: &around.pods };
        let outcome = match (reconcile(subject, &seen, history, &self.settings), target) {
            (Step::Write(rescale), Ok(target)) => {
                let written = self.targets.write(target, rescale.replicas()).await;
                rescale.finish(written)
            }
            (step, _) => step.assume_written(),
        };
        self.reporter.report(&autoscaler, &outcome).await;
        Some(outcome)
    }

    /// Pods and metrics. Without the pods, metrics are not queried.
    async fn look_around(
        &self,
        key: &ObjectKey,
        target: &Target,
        scale: &mut ObservedScale,
        subject: HpaSnapshot<'_>,
    ) -> Surroundings {
        let selector = target.selector();
        if selector.is_empty() {
            scale.selection = Selection::Missing;
            return Surroundings::default();
        }
        let parsed = match LabelSelector::parse(selector) {
            Ok(parsed) => parsed,
            Err(error) => {
                scale.selection = Selection::Unreadable { error: error.message };
                return Surroundings::default();
            }
        };
        let mut pods = self.plane().objects(&PODS, Some(&key.namespace));
        pods.retain(|pod| parsed.matches(pod));
        scale.selection = self.check_shared(key, selector, parsed, &pods);
        let observed = pods.iter().filter_map(|pod| Pod::deserialize(&**pod).ok());
        let mut around =
            Surroundings { pods: observed.map(|pod| ObservedPod::from(&pod)).collect(), readings: Vec::new() };
        if scale.selection == Selection::Clear {
            around.readings = super::metrics::read(&self.client, subject, selector).await;
        }
        around
    }

    /// Remembers the selector, and looks who else selects one of these pods.
    fn check_shared(&self, key: &ObjectKey, selector: &str, parsed: LabelSelector, pods: &[Arc<Value>]) -> Selection {
        let mut selectors = self.selectors();
        if let Some(known) = selectors.get_mut(key) {
            *known = Some(parsed);
        }
        let selects = |(other, known): &(&ObjectKey, &Option<LabelSelector>)| {
            let known = known.as_ref().filter(|_| other.namespace == key.namespace);
            known.is_some_and(|known| pods.iter().any(|pod| known.matches(pod)))
        };
        let autoscalers: Vec<String> = selectors.iter().filter(selects).map(|(other, _)| other.to_string()).collect();
        match autoscalers.len() {
            0 | 1 => Selection::Clear,
            _ => Selection::Shared { selector: selector.to_owned(), autoscalers },
        }
    }

    fn selectors(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Option<LabelSelector>>> {
        self.selectors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn observe(target: &Target) -> ObservedScale {
    ObservedScale { current: target.current(), reported: target.reported(), selection: Selection::Clear }
}
