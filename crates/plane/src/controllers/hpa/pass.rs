//! One look at one autoscaler: what there is to see is read, the model decides, and what it says is written.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Pod;
use kedge_core::hpa::model::memory::Memory;
use kedge_core::hpa::model::metric::MetricReading;
use kedge_core::hpa::model::pods::ObservedPod;
use kedge_core::hpa::model::reconcile::{
    Course, Observation, ObservedScale, Outcome, Selection, Step, Subject, choose_course, reconcile,
};
use kedge_core::hpa::model::settings::Settings;
use serde::Deserialize;

use super::AUTOSCALERS;
use super::report::Reporter;
use super::target::{Target, Targets};
use crate::call::{Call, Verb};
use crate::controllers::hand::{Hand, Key};
use crate::error::ApiError;
use crate::plane::Plane;
use crate::resource::Gvr;

/// What passes work with.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) hand: Hand,
    settings: Settings,
    targets: Targets,
    reporter: Reporter,
    /// The selector of each autoscaler that there is, as its last pass has found it.
    selectors: Mutex<BTreeMap<Key, Option<String>>>,
}

/// What was seen besides the scale.
#[derive(Debug, Default)]
struct Surroundings {
    pods: Vec<ObservedPod>,
    readings: Vec<MetricReading>,
}

impl Desk {
    pub(super) fn new(hand: Hand, settings: Settings) -> Self {
        Self {
            targets: Targets::new(hand.clone()),
            reporter: Reporter::new(hand.clone()),
            hand,
            settings,
            selectors: Mutex::default(),
        }
    }

    pub(super) fn plane(&self) -> &Plane {
        &self.hand.plane
    }

    /// All autoscalers there are.
    pub(super) fn autoscalers(&self) -> Vec<Key> {
        let all: Vec<HorizontalPodAutoscaler> = self.hand.objects(&AUTOSCALERS, None);
        all.iter().map(|autoscaler| Key::of(&autoscaler.metadata)).collect()
    }

    pub(super) fn register(&self, key: &Key) {
        self.selectors().entry(key.clone()).or_default();
    }

    pub(super) fn forget(&self, key: &Key) {
        self.selectors().remove(key);
    }

    /// One pass; none if there is no such autoscaler.
    pub(super) async fn pass(&self, key: &Key, memory: Memory) -> Option<Outcome> {
        let autoscaler: HorizontalPodAutoscaler = self.hand.object(&AUTOSCALERS, key)?;
        let (spec, old) = (autoscaler.spec.clone(), autoscaler.status.clone().unwrap_or_default());
        let subject = Subject { namespace: &key.namespace, spec: &spec, status: &old };
        let target = self.targets.find(&key.namespace, &spec.scale_target_ref).await;
        let mut scale = target.as_ref().map(observe).map_err(Clone::clone);
        let mut around = Surroundings::default();
        if let (Ok(target), Ok(scale)) = (&target, &mut scale)
            && choose_course(subject, scale.current, &self.settings) == Course::Compute
        {
            around = self.look_around(key, target, scale, subject).await;
        }
        let seen = Observation { now: self.plane().now(), scale, readings: &around.readings, pods: &around.pods };
        let outcome = match (reconcile(subject, &seen, memory, &self.settings), target) {
            (Step::Write(rescale), Ok(target)) => {
                let written = self.targets.write(target, rescale.replicas()).await;
                rescale.finish(written)
            }
            (step, _) => step.settle(),
        };
        self.reporter.tell(&autoscaler, &outcome).await;
        Some(outcome)
    }

    /// Pods and metrics. Where the pods cannot be told, metrics are not asked for.
    async fn look_around(
        &self,
        key: &Key,
        target: &Target,
        scale: &mut ObservedScale,
        subject: Subject<'_>,
    ) -> Surroundings {
        let selector = target.selector();
        if selector.is_empty() {
            scale.selection = Selection::Missing;
            return Surroundings::default();
        }
        let pods = match self.pods(&key.namespace, selector).await {
            Ok(pods) => pods,
            Err(error) => {
                scale.selection = Selection::Unreadable { error: error.message };
                return Surroundings::default();
            }
        };
        scale.selection = self.check_shared(key, selector);
        let mut around = Surroundings { pods: pods.iter().map(ObservedPod::from).collect(), readings: Vec::new() };
        if scale.selection == Selection::Clear || pods.is_empty() {
            around.readings = super::metrics::read(&self.hand, subject, selector).await;
        }
        around
    }

    async fn pods(&self, namespace: &str, selector: &str) -> Result<Vec<Pod>, ApiError> {
        let call = Call {
            user: self.hand.user().to_owned(),
            verb: Verb::List,
            resource: Gvr::new("", "v1", "pods"),
            namespace: Some(namespace.to_owned()),
            name: None,
            subresource: None,
            params: vec![("labelSelector".to_owned(), selector.to_owned())],
            body: None,
        };
        let list = self.plane().call(call).await?;
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(items.iter().filter_map(|pod| Pod::deserialize(pod).ok()).collect())
    }

    /// Remembers the selector, and whether others select the same pods.
    fn check_shared(&self, key: &Key, selector: &str) -> Selection {
        let mut selectors = self.selectors();
        if let Some(known) = selectors.get_mut(key) {
            *known = Some(selector.to_owned());
        }
        let is_rival = |(other, known): &(&Key, &Option<String>)| {
            other.namespace == key.namespace && known.as_deref() == Some(selector)
        };
        let autoscalers: Vec<String> = selectors.iter().filter(is_rival).map(|(other, _)| other.to_string()).collect();
        match autoscalers.len() {
            0 | 1 => Selection::Clear,
            _ => Selection::Shared { selector: selector.to_owned(), autoscalers },
        }
    }

    fn selectors(&self) -> MutexGuard<'_, BTreeMap<Key, Option<String>>> {
        self.selectors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn observe(target: &Target) -> ObservedScale {
    ObservedScale { current: target.current(), reported: target.reported(), selection: Selection::Clear }
}
