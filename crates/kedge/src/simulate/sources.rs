//! The triggers of an object as sources: schedules are computed, resources are left out, all others answer from the load.

use std::sync::Arc;

use anyhow::{Context, bail};
use chrono::{DateTime, Utc};
use futures::FutureExt;
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_api::{ScaledObject, Trigger};
use kedge_core::activity::Contribution;
use kedge_core::milli::Milli;
use kedge_core::quantity::{Quantity, format_float};
use kedge_core::simulate::{Load, Reading};
use kedge_core::trigger_class::TriggerClass;
use kedge_scalers::metadata::convert;
use kedge_scalers::trigger_type::MetricsOrigin;
use kedge_scalers::{
    AUTH_MODES, Activity, AuthParams, Connector, Environment, NoCluster, Owner, Registry, Role, Scaler, Settings,
    TriggerConfig, keda, registry,
};

use super::load::{Moment, Shape};

/// The generated load asks for at most this many replicas at its height, the burst aside, however many are allowed.
const PEAK_REPLICAS_MAX: i32 = 10;

/// What helps where a trigger cannot be simulated.
const INSTEAD: &str = "put a prometheus trigger in its place, with the target as `threshold`";

/// Every source of an object.
pub(super) struct Sources {
    shape: Shape,
    start_at: DateTime<Utc>,
    sources: Vec<Source>,
}

/// One trigger.
pub(super) struct Source {
    /// Its name, or its type where it has none.
    pub(super) label: String,
    pub(super) kind: String,
    pub(super) answers: Answers,
}

pub(super) enum Answers {
    /// As in a cluster.
    BySchedule {
        scaler: Arc<dyn Scaler>,
        metric: MetricSpec,
    },
    FromLoad {
        metric: MetricSpec,
        activation: f64,
        peak: f64,
    },
    /// cpu and memory: what they would measure depends on the pods.
    LeftOut,
}

impl Sources {
    pub(super) fn build(
        object: &ScaledObject,
        shape: Shape,
        start_at: DateTime<Utc>,
        replicas_max: i32,
    ) -> anyhow::Result<Self> {
        let registry = Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster));
        let build = |(index, trigger)| build_source(&registry, object, index, trigger, replicas_max);
        let sources: Vec<Source> = object.spec.triggers.iter().enumerate().map(build).collect::<anyhow::Result<_>>()?;
        if sources.iter().all(|source| matches!(source.answers, Answers::LeftOut)) {
            bail!("`triggers` has only cpu and memory, which are left out; add another trigger to simulate");
        }
        Ok(Self { shape, start_at, sources })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter()
    }

    /// The metrics of the HPA.
    pub(super) fn metrics(&self) -> Vec<MetricSpec> {
        self.sources.iter().filter_map(Source::metric).cloned().collect()
    }

    pub(super) fn label(&self, trigger: usize) -> &str {
        self.sources.get(trigger).map_or("", |source| &source.label)
    }

    /// The trigger that has this metric.
    pub(super) fn label_of_metric<'a>(&'a self, metric: &'a str) -> &'a str {
        let has = |source: &&Source| source.metric().is_some_and(|known| metric_name(known) == metric);
        self.sources.iter().find(has).map_or(metric, |source| &source.label)
    }

    /// The active triggers.
    pub(super) fn active(&self, now: DateTime<Utc>) -> Vec<&str> {
        let readings = self.readings_at(now);
        let active = self.sources.iter().zip(readings).filter(|(_, one)| one.contribution == Contribution::Active);
        active.map(|(source, _)| source.label.as_str()).collect()
    }
}

impl Load for Sources {
    fn readings_at(&self, now: DateTime<Utc>) -> Vec<Reading> {
        let moment = Moment { now, elapsed: now - self.start_at };
        self.sources.iter().map(|source| source.read(&self.shape, moment)).collect()
    }
}

impl Source {
    pub(super) fn metric(&self) -> Option<&MetricSpec> {
        match &self.answers {
            Answers::BySchedule { metric, .. } | Answers::FromLoad { metric, .. } => Some(metric),
            Answers::LeftOut => None,
        }
    }

    fn read(&self, shape: &Shape, moment: Moment) -> Reading {
        match &self.answers {
            Answers::LeftOut => Reading::left_to_hpa(),
            Answers::BySchedule { scaler, metric } => read_schedule(scaler.as_ref(), metric_name(metric), moment.now),
            Answers::FromLoad { metric, activation, peak } => match shape.value(moment, *peak) {
                Some(value) => known(metric_name(metric), value, value > *activation),
                None => Reading::failed(metric_name(metric), "the source does not answer"),
            },
        }
    }
}

fn read_schedule(scaler: &dyn Scaler, metric: &str, now: DateTime<Utc>) -> Reading {
    match scaler.read(metric, now).now_or_never() {
        Some(Ok(read)) => known(metric, read.values.first().copied().unwrap_or(0.0), read.activity == Activity::Active),
        Some(Err(error)) => Reading::failed(metric, error.to_string()),
        None => Reading::failed(metric, "the source would have to be asked"),
    }
}

/// The value as it would be published.
fn known(metric: &str, value: f64, is_active: bool) -> Reading {
    let milli = Quantity::parse(&format_float(value)).map_or(0, |quantity| quantity.milli_value());
    let contribution = if is_active { Contribution::Active } else { Contribution::Inactive };
    Reading::known(metric, Milli(milli), contribution)
}

fn build_source(
    registry: &Registry,
    object: &ScaledObject,
    index: usize,
    trigger: &Trigger,
    replicas_max: i32,
) -> anyhow::Result<Source> {
    let kind = trigger.r#type.clone();
    let label = trigger.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| kind.clone());
    let described = registry::find(&kind);
    if described.and_then(|known| known.class.resource()).is_some() {
        return Ok(Source { label, kind, answers: Answers::LeftOut });
    }
    if described.is_none() && keda::has_trigger_type(&kind) {
        bail!("trigger {index} ({kind}): Kedge does not have this trigger type of KEDA yet; {INSTEAD}");
    }
    let scaler = build_scaler(registry, object, index, trigger)?;
    if described.is_some_and(|known| known.metrics == MetricsOrigin::Source) {
        bail!(
            "trigger {index} ({kind}): its scaler alone knows the metrics and targets, and is not asked here; {INSTEAD}"
        );
    }
    let metric = describe(scaler.as_ref()).with_context(|| format!("trigger {index} ({kind})"))?;
    let answers = if described.is_some_and(|known| known.class == TriggerClass::Schedule) {
        Answers::BySchedule { scaler, metric }
    } else {
        let activation = described.and_then(|known| known.activation).and_then(|field| trigger.metadata.get(field));
        let activation = activation.and_then(|text| convert::float(text.trim()).ok());
        let peak = target(&metric) * f64::from(replicas_max.min(PEAK_REPLICAS_MAX));
        Answers::FromLoad { metric, activation: activation.unwrap_or(0.0), peak }
    };
    Ok(Source { label, kind, answers })
}

/// No source is queried, so that no authentication is needed.
fn build_scaler(
    registry: &Registry,
    object: &ScaledObject,
    index: usize,
    trigger: &Trigger,
) -> anyhow::Result<Arc<dyn Scaler>> {
    let mut trigger = trigger.clone();
    trigger.metadata.retain(|key, _| !AUTH_MODES.has_name(key));
    let owner = Owner {
        namespace: object.metadata.namespace.as_deref().unwrap_or("default"),
        name: object.metadata.name.as_deref().unwrap_or_default(),
        role: Role::Metric,
    };
    let (auth, environment) = (AuthParams::default(), Environment::default());
    let config = TriggerConfig::new(owner, index, &trigger).resolved(&auth, &environment, None);
    Ok(registry.build(&config)?)
}

fn describe(scaler: &dyn Scaler) -> anyhow::Result<MetricSpec> {
    let described = scaler.describe().now_or_never().context("its source would have to be asked for its metrics")??;
    let metric = described.into_iter().find(|metric| metric.external.is_some());
    metric.context("it has no external metric")
}

pub(super) fn metric_name(metric: &MetricSpec) -> &str {
    metric.external.as_ref().map_or("", |external| &external.metric.name)
}

/// What the HPA compares the value with.
pub(super) fn target(metric: &MetricSpec) -> f64 {
    let target = metric.external.as_ref().map(|external| &external.target);
    let text = target.and_then(|target| target.average_value.as_ref().or(target.value.as_ref()));
    text.and_then(|text| Quantity::parse(&text.0).ok()).map_or(1.0, |quantity| quantity.approx_f64())
}
