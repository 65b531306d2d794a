//! The histories as the dashboard shows them.

use std::collections::BTreeSet;
use std::sync::Arc;

use kedge_api::ScaledObject;
use kedge_api::names::conditions as condition_types;
use kedge_cluster::ObjectKey;
use kedge_cluster::lease::instance_of;
use kedge_core::policy::{Activation, Policy};
use kedge_dashboard::DashboardSource;
use kedge_dashboard::view::{
    LoggedStep, MetricView, ObjectDetail, ObjectState, ObjectSummary, Samples, Standby, Step, Timer,
};

use super::Histories;
use super::object::{Metric, ObjectHistory};
use crate::cluster_cache::{ClusterCache, LazyObject};
use crate::leadership::Leadership;

/// How many samples the list shows of each object.
const RECENT: usize = 60;

/// What the dashboard of an operator shows.
#[derive(Clone, Debug)]
pub struct OperatorView {
    pub(crate) histories: Arc<Histories>,
    pub(crate) cluster: Arc<ClusterCache>,
    pub(crate) leadership: Arc<Leadership>,
}

impl DashboardSource for OperatorView {
    fn now(&self) -> i64 {
        self.histories.clock.now().timestamp_millis()
    }

    fn standby(&self) -> Option<Standby> {
        let leader = || self.leadership.leader().map(|identity| instance_of(&identity).to_owned());
        (!self.leadership.leads()).then(|| Standby { leader: leader() })
    }

    fn namespaces(&self) -> BTreeSet<String> {
        self.cluster.objects().iter().map(|object| object.key.namespace.to_string()).collect()
    }

    fn objects(&self) -> Vec<ObjectSummary> {
        let mut objects = self.cluster.objects();
        objects.sort_by(|one, other| one.key.cmp(&other.key));
        // Asked before: one lock at a time.
        let stabilized: Vec<bool> = objects.iter().map(|object| self.cluster.is_stabilized(&object.key)).collect();
        let histories = self.histories.lock();
        let summary = |(object, is_stabilized): (LazyObject, bool)| {
            summarize(&object, histories.get(&object.cached.key), is_stabilized)
        };
        objects.into_iter().map(LazyObject::from).zip(stabilized).map(summary).collect()
    }

    fn object(&self, namespace: &str, name: &str) -> Option<ObjectDetail> {
        let key = ObjectKey::scaled_object(namespace, name);
        let object = self.cluster.object(&key)?;
        let is_stabilized = self.cluster.is_stabilized(&key);
        let histories = self.histories.lock();
        let history = histories.get(&key);
        Some(ObjectDetail {
            summary: summarize(&object, history, is_stabilized),
            samples: history.map(samples).unwrap_or_default(),
            steps: history.map(steps).unwrap_or_default(),
            timers: history.map(timers).unwrap_or_default(),
        })
    }

    fn steps_after(&self, id: u64) -> Vec<LoggedStep> {
        let histories = self.histories.lock();
        let new = histories.iter().flat_map(|(key, history)| {
            let steps = history.steps.iter().rev().take_while(move |step| step.id > id);
            steps.map(|step| LoggedStep {
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
                step: step.clone(),
            })
        });
        let mut new: Vec<LoggedStep> = new.collect();
        new.sort_by_key(|logged| logged.step.id);
        new
    }
}

fn summarize(object: &ScaledObject, history: Option<&ObjectHistory>, is_stabilized: bool) -> ObjectSummary {
    let policy = Policy::from_spec(&object.spec, object.metadata.annotations.as_ref());
    let (_, kind) = object.spec.scale_target_ref.api_version_and_kind();
    let samples = history.map_or(&[][..], |history| history.samples.as_slice());
    let recent = &samples[samples.len().saturating_sub(RECENT)..];
    ObjectSummary {
        namespace: object.metadata.namespace.clone().unwrap_or_default(),
        name: object.metadata.name.clone().unwrap_or_default(),
        target: format!("{kind} {}", object.spec.scale_target_ref.name),
        min: policy.min,
        max: policy.max,
        idle: policy.idle,
        replicas: history.and_then(|history| history.replicas),
        ready_replicas: history.and_then(|history| history.ready),
        is_stabilized,
        state: history.map_or(ObjectState::Waiting, |history| history.state),
        is_forced: policy.overrides.activation == Activation::Forced,
        problem: problem(object),
        metrics: history.map(|history| history.metrics.iter().map(metric).collect()).unwrap_or_default(),
        latest: history.and_then(|history| history.steps.back().cloned()),
        recent: recent.iter().map(|sample| sample.replicas).collect(),
    }
}

/// What the condition Ready says, where it is not true.
fn problem(object: &ScaledObject) -> Option<String> {
    let conditions = object.status.as_ref()?.conditions.iter().flatten();
    let ready = conditions.into_iter().find(|one| one.r#type == condition_types::READY)?;
    (ready.status == "False").then(|| ready.message.clone().unwrap_or_default())
}

fn metric(metric: &Metric) -> MetricView {
    MetricView {
        name: metric.name.clone(),
        label: metric.label.clone(),
        target: metric.target,
        is_per_replica: metric.is_per_replica,
        // What is no number cannot be sent as one.
        value: metric.value.filter(|value| value.is_finite()),
        error: metric.error.clone(),
        read_at: metric.read_at.map(|at| at.timestamp_millis()),
    }
}

fn samples(history: &ObjectHistory) -> Samples {
    let samples = history.samples.as_slice();
    let column = |index: usize| {
        let values = samples.iter().map(move |sample| sample.values.get(index).copied().flatten());
        values.map(|value| value.filter(|value| value.is_finite())).collect()
    };
    Samples {
        at: samples.iter().map(|sample| sample.at.timestamp_millis()).collect(),
        replicas: samples.iter().map(|sample| sample.replicas).collect(),
        ready: samples.iter().map(|sample| sample.ready).collect(),
        states: samples.iter().map(|sample| sample.state).collect(),
        values: (0..history.metrics.len()).map(column).collect(),
    }
}

fn steps(history: &ObjectHistory) -> Vec<Step> {
    history.steps.iter().rev().cloned().collect()
}

fn timers(history: &ObjectHistory) -> Vec<Timer> {
    let timer = |(name, at): (&str, chrono::DateTime<chrono::Utc>)| Timer {
        name: name.to_owned(),
        ends_at: at.timestamp_millis(),
    };
    [history.cooldown_until.map(|at| ("cooldown", at)), history.next_poll_at.map(|at| ("next poll", at))]
        .into_iter()
        .flatten()
        .map(timer)
        .collect()
}
