//! The operator's own metrics, under the names that dashboards for KEDA use. The series about objects are those of the leader alone: a sum
//! over all replicas counts each object once.
//!
//! | module | contents |
//! |---|---|
//! | `object_series` | the numbers about each object |
//! | `requests` | requests to sources, observed |
//! | `exposition` | Prometheus' text form |

mod exposition;
mod object_series;
mod requests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{Encoder, IntGaugeVec, Opts, Registry, TextEncoder};

use kedge_cluster::ObjectKey;
use kedge_scalers::{Known, registry};

pub use exposition::{Family, FamilyType};
pub use object_series::RequestName;
use object_series::{FAMILIES, MetricName, SeriesByObject};
use requests::CallSeries;
pub use requests::TriggerObserver;

/// One metric of one trigger, for the labels of its series.
#[derive(Clone, Copy, Debug)]
pub struct TriggerLabels<'a> {
    pub index: usize,
    pub trigger_type: &'a str,
    pub name: Option<&'a str>,
    pub metric: &'a str,
}

/// The operator's metrics.
#[derive(Debug)]
pub struct Telemetry {
    registry: Registry,
    objects: IntGaugeVec,
    triggers: IntGaugeVec,
    build: IntGaugeVec,
    calls: CallSeries,
    by_object: SeriesByObject,
    /// Authentication objects, by the type of the resource and the namespace. Locked while objects are counted.
    authentications: Mutex<BTreeMap<(&'static str, String), i64>>,
    /// Set on a standby.
    stands_by: AtomicBool,
}

impl Telemetry {
    /// Registers all metrics. `version` is the operator's.
    pub fn new(version: &str) -> Self {
        let registry = Registry::new();
        let telemetry = Self {
            objects: add(
                &registry,
                int_gauge("keda_resource_registered_total", "Managed objects.", &["type", "namespace"]),
            ),
            triggers: add(&registry, int_gauge("keda_trigger_registered_total", "Managed triggers.", &["type"])),
            build: add(
                &registry,
                int_gauge(
                    "keda_build_info",
                    "The version of the operator, as a label of a constant 1.",
                    &["version", "git_commit", "goversion", "goos", "goarch"],
                ),
            ),
            calls: CallSeries::new(&registry),
            by_object: SeriesByObject::default(),
            authentications: Mutex::default(),
            stands_by: AtomicBool::new(false),
            registry,
        };
        let labels = [version, "", "", std::env::consts::OS, std::env::consts::ARCH];
        telemetry.build.with_label_values(&labels).set(1);
        telemetry
    }

    /// All metrics in Prometheus' text form.
    pub fn render(&self) -> Vec<u8> {
        let families = {
            // While objects are counted, their gauges are incomplete.
            let _counted = self.authentications();
            self.registry.gather()
        };
        let mut text = String::new();
        self.by_object.write(&mut text);
        let mut text = text.into_bytes();
        // Writing into memory does not fail.
        let _ = TextEncoder::new().encode(&families, &mut text);
        text
    }

    /// The metrics about single objects, for the reference page.
    pub fn families() -> &'static [Family] {
        &FAMILIES
    }

    /// All other metrics, for the reference page.
    pub fn collectors(&self) -> Vec<&dyn Collector> {
        let counts: [&dyn Collector; 3] = [&self.objects, &self.triggers, &self.build];
        counts.into_iter().chain(self.calls.collectors()).collect()
    }

    /// This replica leads from now on.
    pub fn lead(&self) {
        self.stands_by.store(false, Ordering::Release);
    }

    /// This replica is a standby from now on: it has no series about objects.
    pub fn stand_by(&self) {
        self.stands_by.store(true, Ordering::Release);
        self.by_object.drop_all_but_requests();
        self.objects.reset();
        self.triggers.reset();
    }

    fn leads(&self) -> bool {
        !self.stands_by.load(Ordering::Acquire)
    }

    /// Records a reading: an answer, or a failed query.
    pub fn record_reading(&self, key: &ObjectKey, trigger: &TriggerLabels<'_>, answer: Option<&Known>, took: Duration) {
        if !self.leads() {
            return;
        }
        self.by_object.update(key, |object| {
            // The counters exist before the first error.
            let failed = u64::from(answer.is_none());
            *object.errors.get_or_insert_default() += failed;
            let series = object.metric(trigger.series_name());
            *series.errors.get_or_insert_default() += failed;
            if let Some(known) = answer {
                series.value = Some(known.values.iter().sum());
            }
            series.latency = Some(took.as_secs_f64());
        });
    }

    /// Records the value that is served instead of an answer: of a fallback, or of a formula.
    pub fn record_value(&self, key: &ObjectKey, trigger: &TriggerLabels<'_>, value: f64) {
        if self.leads() {
            self.by_object.update(key, |object| object.metric(trigger.series_name()).value = Some(value));
        }
    }

    /// Records whether a metric was active at a poll.
    pub fn record_active(&self, key: &ObjectKey, trigger: &TriggerLabels<'_>, is_active: bool) {
        if self.leads() {
            self.by_object.update(key, |object| object.metric(trigger.series_name()).active = Some(is_active));
        }
    }

    pub fn record_paused(&self, key: &ObjectKey, is_paused: bool) {
        if self.leads() {
            self.by_object.update(key, |object| object.paused = Some(is_paused));
        }
    }

    /// Records how late a poll of an object began.
    pub fn record_delay(&self, key: &ObjectKey, delay: Duration) {
        if self.leads() {
            self.by_object.update(key, |object| object.loop_latency = Some(delay.as_secs_f64()));
        }
    }

    /// Counts all managed objects and their triggers.
    pub fn count<'a>(&self, objects: impl Iterator<Item = (&'a ObjectKey, &'a [Box<str>])>) {
        let authentications = self.authentications();
        self.objects.reset();
        self.triggers.reset();
        if !self.leads() {
            return;
        }
        for (key, trigger_types) in objects {
            self.objects.with_label_values(&[key.kind.resource_type_label(), &key.namespace]).inc();
            trigger_types.iter().for_each(|trigger_type| self.triggers.with_label_values(&[trigger_type]).inc());
        }
        for ((resource, namespace), count) in &*authentications {
            self.objects.with_label_values(&[*resource, namespace.as_str()]).set(*count);
        }
    }

    /// Sets the numbers of authentication objects, by the type of the resource and the namespace.
    pub fn set_authentications(&self, counts: BTreeMap<(&'static str, String), i64>) {
        *self.authentications() = counts;
    }

    fn authentications(&self) -> std::sync::MutexGuard<'_, BTreeMap<(&'static str, String), i64>> {
        self.authentications.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the series of a poll loop that ended, as during a pause.
    pub fn drop_loop(&self, key: &ObjectKey) {
        self.by_object.update_existing(key, |object| object.loop_latency = None);
    }

    /// Drops the series of triggers that no longer exist, or are rebuilt.
    pub fn drop_triggers(&self, key: &ObjectKey, triggers: &[TriggerLabels<'_>]) {
        self.by_object.update_existing(key, |object| {
            triggers.iter().for_each(|trigger| object.drop_metric(trigger.series_name()));
        });
    }

    /// Drops the series of an object that no longer exists.
    pub fn drop_object(&self, key: &ObjectKey) {
        self.by_object.drop_object(key);
    }
}

impl TriggerLabels<'_> {
    fn series_name(&self) -> MetricName<'_> {
        MetricName { index: self.index, scaler: self.scaler_name(), metric: self.metric }
    }

    /// KEDA: the trigger's name, or what KEDA calls its scaler.
    fn scaler_name(&self) -> &str {
        let name = self.name.filter(|name| !name.is_empty());
        name.unwrap_or_else(|| registry::find(self.trigger_type).map_or(self.trigger_type, |known| known.keda_scaler))
    }
}

fn int_gauge(name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    IntGaugeVec::new(Opts::new(name, help), labels).expect("the name and labels are constants")
}

fn add<C: Collector + Clone + 'static>(registry: &Registry, metric: C) -> C {
    registry.register(Box::new(metric.clone())).expect("each name is registered once");
    metric
}

#[cfg(test)]
mod tests {
    use kedge_cluster::ScalableKind;
    use kedge_scalers::observer::{GrpcCall, GrpcEvent};

    use super::*;

    #[test]
    fn no_scrape_sees_objects_that_are_being_counted() {
        let telemetry = Telemetry::new("1.2.3");
        let keys: Vec<_> = (0..50).map(|number| ObjectKey::scaled_object("shop", format!("web-{number}"))).collect();
        let objects = || keys.iter().map(|key| (key, &[][..]));
        telemetry.count(objects());
        std::thread::scope(|scope| {
            let counts = scope.spawn(|| (0..500).for_each(|_| telemetry.count(objects())));
            while !counts.is_finished() {
                let text = String::from_utf8(telemetry.render()).unwrap();
                assert!(text.contains("keda_resource_registered_total{namespace=\"shop\",type=\"scaled_object\"} 50"));
            }
        });
    }

    #[test]
    fn a_standby_has_no_series_about_objects() {
        let (telemetry, key) = (Telemetry::new("1.2.3"), ObjectKey::scaled_object("shop", "web"));
        let trigger = TriggerLabels { index: 0, trigger_type: "cron", name: None, metric: "s0-cron" };
        let record = || {
            telemetry.record_paused(&key, false);
            telemetry.record_delay(&key, Duration::ZERO);
            telemetry.record_reading(&key, &trigger, Some(&Known::above(0.0, 1.0)), Duration::ZERO);
            telemetry.record_value(&key, &trigger, 2.0);
            telemetry.record_active(&key, &trigger, true);
            telemetry.set_authentications([(("trigger_authentication", "shop".to_owned()), 2)].into());
            telemetry.count([(&key, &["cron".into()][..])].into_iter());
            String::from_utf8(telemetry.render()).unwrap()
        };
        let text = record();
        for line in [
            "keda_scaled_object_errors_total{namespace=\"shop\",scaledObject=\"web\"} 0",
            "keda_resource_registered_total{namespace=\"shop\",type=\"trigger_authentication\"} 2",
            "keda_scaler_metrics_value{metric=\"s0-cron\",namespace=\"shop\",scaledObject=\"web\",scaler=\"cronScaler\",triggerIndex=\"0\",type=\"scaledobject\"} 2",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        telemetry.stand_by();
        assert!(!record().contains("shop"));
        telemetry.lead();
        assert!(record().contains("shop"));
    }

    #[test]
    fn scaled_jobs_have_names_of_their_own() {
        let (telemetry, key) = (Telemetry::new("1.2.3"), ObjectKey::new(ScalableKind::ScaledJob, "shop", "drain"));
        let trigger = TriggerLabels { index: 0, trigger_type: "cron", name: None, metric: "s0-cron" };
        telemetry.record_reading(&key, &trigger, None, Duration::ZERO);
        telemetry.record_delay(&key, Duration::ZERO);
        telemetry.count([(&key, &["cron".into()][..])].into_iter());
        let text = String::from_utf8(telemetry.render()).unwrap();
        for line in [
            "keda_scaled_job_errors_total{namespace=\"shop\",scaledJob=\"drain\"} 1",
            "keda_scaler_metrics_latency_seconds{metric=\"s0-cron\",namespace=\"shop\",scaledObject=\"drain\",scaler=\"cronScaler\",triggerIndex=\"0\",type=\"scaledjob\"} 0",
            "keda_internal_scale_loop_latency_seconds{namespace=\"shop\",resource=\"drain\",type=\"scaledjob\"} 0",
            "keda_resource_registered_total{namespace=\"shop\",type=\"scaled_job\"} 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("keda_scaled_object_errors_total"), "{text}");
    }

    #[test]
    fn the_names_are_those_of_kedas_dashboards() {
        let telemetry = Telemetry::new("1.2.3");
        let key = ObjectKey::scaled_object("shop", "web");
        telemetry.record_paused(&key, true);
        telemetry.record_delay(&key, Duration::from_millis(1500));
        telemetry.count([(&key, &["cron".into(), "cron".into()][..])].into_iter());
        let text = String::from_utf8(telemetry.render()).unwrap();
        for line in [
            "keda_scaled_object_paused{namespace=\"shop\",scaledObject=\"web\"} 1",
            "keda_internal_scale_loop_latency_seconds{namespace=\"shop\",resource=\"web\",type=\"scaledobject\"} 1.5",
            "keda_resource_registered_total{namespace=\"shop\",type=\"scaled_object\"} 1",
            "keda_trigger_registered_total{type=\"cron\"} 2",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(text.contains("keda_build_info{") && text.contains("version=\"1.2.3\""));
        let trigger = TriggerLabels { index: 0, trigger_type: "cron", name: None, metric: "s0-cron" };
        telemetry.record_reading(&key, &trigger, None, Duration::ZERO);
        telemetry.record_active(&key, &trigger, true);
        let name = RequestName { trigger_type: "prometheus", trigger_name: "", metric: "s0-prometheus" };
        telemetry.record_http(&key, name, Some(200), Duration::from_millis(20));
        telemetry.record_http(&key, name, None, Duration::from_secs(3));
        telemetry.record_empty_response(&key, name, true);
        let call = GrpcCall { method: "IsActive", is_stream: false };
        telemetry.record_grpc("external", call, GrpcEvent::Started);
        telemetry.record_grpc("external", call, GrpcEvent::Ended { code: "OK", took: Duration::from_millis(2) });
        let text = String::from_utf8(telemetry.render()).unwrap();
        for line in [
            "keda_scaler_http_requests_total{metric_name=\"s0-prometheus\",namespace=\"shop\",scaled_resource=\"web\",scaler=\"prometheus\",status_code=\"error\",trigger_name=\"\"} 1",
            "keda_scaler_http_request_duration_seconds_bucket{scaler=\"prometheus\",status_code=\"200\",le=\"0.025\"} 1",
            "keda_scaler_empty_upstream_responses_total{ignoreNullValues=\"true\",metricName=\"s0-prometheus\",namespace=\"shop\",resourceType=\"ScaledObject\",scaledResource=\"web\",triggerName=\"\"} 1",
            "keda_grpc_client_handled_total{grpc_code=\"OK\",grpc_method=\"IsActive\",grpc_service=\"externalscaler.ExternalScaler\",grpc_type=\"unary\",scaler=\"external\"} 1",
            "keda_grpc_client_msg_sent_total{",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        telemetry.drop_triggers(&key, &[trigger]);
        telemetry.drop_object(&key);
        telemetry.count(std::iter::empty());
        let text = String::from_utf8(telemetry.render()).unwrap();
        assert!(!text.contains("shop"), "no series is left of an object that is gone:\n{text}");
    }
}
