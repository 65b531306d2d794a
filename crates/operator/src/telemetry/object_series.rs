//! The numbers about each object. They are kept as numbers, by object, and become text when they are scraped: there are thousands of
//! objects, each has a dozen series, and few are ever read.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use kedge_cluster::{ObjectKey, ScalableKind};

use super::exposition::{Family, FamilyType, FamilyWriter};

const METRIC_LABELS: &[&str] = &["metric", "namespace", "scaledObject", "scaler", "triggerIndex", "type"];
const OBJECT_LABELS: &[&str] = &["namespace", "scaledObject"];

const VALUE: Family = gauge("keda_scaler_metrics_value", "The newest value of a metric.", METRIC_LABELS);
const LATENCY: Family =
    gauge("keda_scaler_metrics_latency_seconds", "How long the newest query of a metric took.", METRIC_LABELS);
const ACTIVE: Family = gauge("keda_scaler_active", "Whether a metric is active: 1 or 0.", METRIC_LABELS);
const METRIC_ERRORS: Family = counter("keda_scaler_detail_errors_total", "Failed queries of a metric.", METRIC_LABELS);
const OBJECT_ERRORS: Family =
    counter("keda_scaled_object_errors_total", "Failed queries of all metrics of a ScaledObject.", OBJECT_LABELS);
const JOB_ERRORS: Family = counter(
    "keda_scaled_job_errors_total",
    "Failed queries of all metrics of a ScaledJob.",
    &["namespace", "scaledJob"],
);
const PAUSED: Family = gauge("keda_scaled_object_paused", "Whether a ScaledObject is paused: 1 or 0.", OBJECT_LABELS);
const LOOP_LATENCY: Family = gauge(
    "keda_internal_scale_loop_latency_seconds",
    "The delay between the due time and the start of the newest poll of an object.",
    &["namespace", "resource", "type"],
);
const HTTP_REQUESTS: Family = counter(
    "keda_scaler_http_requests_total",
    "HTTP requests to sources, redirects included.",
    &["metric_name", "namespace", "scaled_resource", "scaler", "status_code", "trigger_name"],
);
const EMPTY_RESPONSES: Family = counter(
    "keda_scaler_empty_upstream_responses_total",
    "Answers of Prometheus servers without a value.",
    &["ignoreNullValues", "metricName", "namespace", "resourceType", "scaledResource", "triggerName"],
);

/// All families about objects.
pub(super) const FAMILIES: [Family; 10] = [
    VALUE,
    LATENCY,
    ACTIVE,
    METRIC_ERRORS,
    OBJECT_ERRORS,
    JOB_ERRORS,
    PAUSED,
    LOOP_LATENCY,
    HTTP_REQUESTS,
    EMPTY_RESPONSES,
];

const fn gauge(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Family {
    Family { name, help, metric_type: FamilyType::Gauge, labels }
}

const fn counter(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Family {
    Family { name, help, metric_type: FamilyType::Counter, labels }
}

/// The series of one object.
#[derive(Debug, Default)]
pub(super) struct ObjectSeries {
    pub(super) paused: Option<bool>,
    /// How late its newest poll began, in seconds.
    pub(super) loop_latency: Option<f64>,
    pub(super) errors: Option<u64>,
    metrics: Vec<MetricSeries>,
    requests: Vec<RequestSeries>,
}

/// The series of one metric of one trigger.
#[derive(Debug)]
pub(super) struct MetricSeries {
    index: usize,
    scaler: Box<str>,
    metric: Box<str>,
    pub(super) value: Option<f64>,
    /// In seconds.
    pub(super) latency: Option<f64>,
    pub(super) active: Option<bool>,
    pub(super) errors: Option<u64>,
}

/// What names the series of one metric beside its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MetricName<'a> {
    pub(super) index: usize,
    pub(super) scaler: &'a str,
    pub(super) metric: &'a str,
}

/// The requests of one trigger, for one of its metrics or for none.
#[derive(Debug)]
pub(super) struct RequestSeries {
    trigger_type: Box<str>,
    trigger_name: Box<str>,
    metric: Box<str>,
    /// Answers by status; requests without an answer have none.
    pub(super) by_status: Vec<(Option<u16>, u64)>,
    /// Answers without a value: those that were an error, and those that were ignored.
    pub(super) empty: [u64; 2],
}

/// What names the series of requests beside their object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestName<'a> {
    pub trigger_type: &'a str,
    pub trigger_name: &'a str,
    /// Empty where no metric is read.
    pub metric: &'a str,
}

impl ObjectSeries {
    pub(super) fn metric(&mut self, name: MetricName<'_>) -> &mut MetricSeries {
        let position = self.metrics.iter().position(|series| series.name() == name).unwrap_or_else(|| {
            self.metrics.reserve_exact(1);
            self.metrics.push(MetricSeries::new(name));
            self.metrics.len() - 1
        });
        &mut self.metrics[position]
    }

    pub(super) fn drop_metric(&mut self, name: MetricName<'_>) {
        self.metrics.retain(|series| series.name() != name);
    }

    pub(super) fn requests(&mut self, name: RequestName<'_>) -> &mut RequestSeries {
        let position = self.requests.iter().position(|series| series.name() == name).unwrap_or_else(|| {
            self.requests.reserve_exact(1);
            self.requests.push(RequestSeries::new(name));
            self.requests.len() - 1
        });
        &mut self.requests[position]
    }
}

impl MetricSeries {
    fn new(MetricName { index, scaler, metric }: MetricName<'_>) -> Self {
        let (scaler, metric) = (scaler.into(), metric.into());
        Self { index, scaler, metric, value: None, latency: None, active: None, errors: None }
    }

    fn name(&self) -> MetricName<'_> {
        MetricName { index: self.index, scaler: &self.scaler, metric: &self.metric }
    }
}

impl RequestSeries {
    fn new(RequestName { trigger_type, trigger_name, metric }: RequestName<'_>) -> Self {
        let (trigger_type, trigger_name, metric) = (trigger_type.into(), trigger_name.into(), metric.into());
        Self { trigger_type, trigger_name, metric, by_status: Vec::new(), empty: [0, 0] }
    }

    fn name(&self) -> RequestName<'_> {
        RequestName { trigger_type: &self.trigger_type, trigger_name: &self.trigger_name, metric: &self.metric }
    }

    pub(super) fn count(&mut self, status: Option<u16>) {
        match self.by_status.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => self.by_status.push((status, 1)),
        }
    }
}

/// The series of all objects.
#[derive(Debug, Default)]
pub(super) struct SeriesByObject(RwLock<BTreeMap<ObjectKey, Mutex<ObjectSeries>>>);

impl SeriesByObject {
    /// Changes the series of an object. They exist from then on.
    pub(super) fn update(&self, key: &ObjectKey, change: impl FnOnce(&mut ObjectSeries)) {
        if let Some(series) = self.all().get(key) {
            return change(&mut lock(series));
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut lock(all.entry(key.clone()).or_default()));
    }

    /// Changes the series of an object, if there are any.
    pub(super) fn update_existing(&self, key: &ObjectKey, change: impl FnOnce(&mut ObjectSeries)) {
        if let Some(series) = self.all().get(key) {
            change(&mut lock(series));
        }
    }

    pub(super) fn drop_object(&self, key: &ObjectKey) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Drops all series but those of this replica's own requests.
    pub(super) fn drop_all_but_requests(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|_, series| {
            let series = series.get_mut().unwrap_or_else(PoisonError::into_inner);
            *series = ObjectSeries { requests: std::mem::take(&mut series.requests), ..ObjectSeries::default() };
            !series.requests.is_empty()
        });
    }

    /// Writes all series.
    pub(super) fn write(&self, text: &mut String) {
        self.write_metrics(text, &VALUE, |series| series.value);
        self.write_metrics(text, &LATENCY, |series| series.latency);
        self.write_metrics(text, &ACTIVE, |series| series.active.map(f64::from));
        self.write_metrics(text, &METRIC_ERRORS, |series| series.errors.map(|errors| errors as f64));
        let errors = |series: &ObjectSeries| series.errors.map(|errors| errors as f64);
        self.write_objects(text, &OBJECT_ERRORS, ScalableKind::ScaledObject, errors);
        self.write_objects(text, &JOB_ERRORS, ScalableKind::ScaledJob, errors);
        // KEDA: there is none for ScaledJobs.
        self.write_objects(text, &PAUSED, ScalableKind::ScaledObject, |series| series.paused.map(f64::from));
        let mut writer = FamilyWriter::new(text, &LOOP_LATENCY);
        for (key, series) in &*self.all() {
            if let Some(latency) = lock(series).loop_latency {
                writer.sample([&key.namespace, &key.name, key.kind.metric_type_label()], latency);
            }
        }
        self.write_requests(text);
        self.write_empty(text);
    }

    fn write_metrics(&self, text: &mut String, family: &Family, value: fn(&MetricSeries) -> Option<f64>) {
        let mut writer = FamilyWriter::new(text, family);
        for (key, object) in &*self.all() {
            for series in &lock(object).metrics {
                if let Some(value) = value(series) {
                    let (index, kind) = (series.index.to_string(), key.kind.metric_type_label());
                    writer.sample(
                        [&series.metric, &key.namespace, &key.name, &series.scaler, index.as_str(), kind],
                        value,
                    );
                }
            }
        }
    }

    fn write_objects(
        &self,
        text: &mut String,
        family: &Family,
        kind: ScalableKind,
        value: fn(&ObjectSeries) -> Option<f64>,
    ) {
        let mut writer = FamilyWriter::new(text, family);
        for (key, object) in self.all().iter().filter(|(key, _)| key.kind == kind) {
            if let Some(value) = value(&lock(object)) {
                writer.sample([&key.namespace, &key.name], value);
            }
        }
    }

    fn write_requests(&self, text: &mut String) {
        let mut writer = FamilyWriter::new(text, &HTTP_REQUESTS);
        for (key, object) in &*self.all() {
            for series in &lock(object).requests {
                for (status, count) in &series.by_status {
                    let RequestName { trigger_type, trigger_name, metric } = series.name();
                    let (status, count) = (status_label(*status), *count as f64);
                    writer.sample([metric, &key.namespace, &key.name, trigger_type, &status, trigger_name], count);
                }
            }
        }
    }

    fn write_empty(&self, text: &mut String) {
        let mut writer = FamilyWriter::new(text, &EMPTY_RESPONSES);
        for (key, object) in &*self.all() {
            for series in &lock(object).requests {
                for (ignored, count) in ["false", "true"].iter().zip(series.empty).filter(|(_, count)| *count > 0) {
                    let RequestName { trigger_name, metric, .. } = series.name();
                    let kind = key.kind.as_str();
                    writer.sample([*ignored, metric, &key.namespace, kind, &key.name, trigger_name], count as f64);
                }
            }
        }
    }

    fn all(&self) -> RwLockReadGuard<'_, BTreeMap<ObjectKey, Mutex<ObjectSeries>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// KEDA: `error` where there is no answer.
pub(super) fn status_label(status: Option<u16>) -> String {
    status.map_or_else(|| "error".to_owned(), |status| status.to_string())
}

fn lock(series: &Mutex<ObjectSeries>) -> MutexGuard<'_, ObjectSeries> {
    series.lock().unwrap_or_else(PoisonError::into_inner)
}
