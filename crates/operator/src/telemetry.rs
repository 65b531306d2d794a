//! The operator's own metrics, under the names that dashboards for KEDA use.

use std::sync::Arc;

use kedge_scalers::registry;
use prometheus::core::Collector;
use prometheus::{Encoder, GaugeVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};

use crate::board::{BoardTrigger, ExternalMetric, Reading};
use kedge_cluster::ObjectKey;

/// The labels of everything that is about one metric of one trigger.
const METRIC_LABELS: [&str; 6] = ["namespace", "metric", "scaledObject", "scaler", "triggerIndex", "type"];
const OBJECT_LABELS: [&str; 2] = ["namespace", "scaledObject"];

/// All of them.
#[derive(Debug)]
pub struct Telemetry {
    registry: Registry,
    value: GaugeVec,
    latency: GaugeVec,
    active: IntGaugeVec,
    metric_errors: IntCounterVec,
    object_errors: IntCounterVec,
    paused: IntGaugeVec,
    loop_latency: GaugeVec,
    objects: IntGaugeVec,
    triggers: IntGaugeVec,
}

impl Telemetry {
    /// With nothing counted yet. `version` is the operator's.
    pub fn new(version: &str) -> Self {
        let registry = Registry::new();
        let telemetry = Self {
            value: add(&registry, gauge("keda_scaler_metrics_value", "The last value of a metric", &METRIC_LABELS)),
            latency: add(
                &registry,
                gauge("keda_scaler_metrics_latency_seconds", "How long the source took to answer", &METRIC_LABELS),
            ),
            active: add(
                &registry,
                int_gauge("keda_scaler_active", "Whether a metric asks for the target to be awake", &METRIC_LABELS),
            ),
            metric_errors: add(
                &registry,
                counter("keda_scaler_detail_errors_total", "Queries of a source that failed", &METRIC_LABELS),
            ),
            object_errors: add(
                &registry,
                counter(
                    "keda_scaled_object_errors_total",
                    "Queries of the sources of an object that failed",
                    &OBJECT_LABELS,
                ),
            ),
            paused: add(
                &registry,
                int_gauge("keda_scaled_object_paused", "Whether an object is paused", &OBJECT_LABELS),
            ),
            loop_latency: add(
                &registry,
                gauge(
                    "keda_internal_scale_loop_latency_seconds",
                    "How late an object was looked at",
                    &["namespace", "type", "resource"],
                ),
            ),
            objects: add(
                &registry,
                int_gauge("keda_resource_registered_total", "Objects looked after", &["type", "namespace"]),
            ),
            triggers: add(&registry, int_gauge("keda_trigger_registered_total", "Triggers looked after", &["type"])),
            registry,
        };
        let build = int_gauge(
            "keda_build_info",
            "The version that runs",
            &["version", "git_commit", "goversion", "goos", "goarch"],
        );
        let build = add(&telemetry.registry, build);
        build.with_label_values(&[version, "", "", std::env::consts::OS, std::env::consts::ARCH]).set(1);
        telemetry
    }

    /// All metrics in Prometheus' text form.
    pub fn render(&self) -> Vec<u8> {
        let mut text = Vec::new();
        // Writing into memory does not fail.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        text
    }

    /// Takes a new reading.
    pub fn read(&self, key: &ObjectKey, trigger: &BoardTrigger, metric: &ExternalMetric, reading: &Reading) {
        let index = trigger.index.to_string();
        let labels = [&key.namespace, &metric.name, &key.name, scaler_name(trigger), &index, "scaledobject"];
        match &reading.answer {
            Ok(known) => {
                self.value.with_label_values(&labels).set(known.values.iter().sum());
                self.latency.with_label_values(&labels).set(reading.took.as_secs_f64());
                let works = known.activity == kedge_scalers::Activity::Active;
                self.active.with_label_values(&labels).set(works.into());
                // So that the series is there before the first error.
                self.metric_errors.with_label_values(&labels).inc_by(0);
            }
            Err(_) => {
                self.metric_errors.with_label_values(&labels).inc();
                self.object_errors.with_label_values(&[&key.namespace, &key.name]).inc();
            }
        }
    }

    pub fn paused(&self, key: &ObjectKey, is_paused: bool) {
        self.paused.with_label_values(&[&key.namespace, &key.name]).set(is_paused.into());
    }

    /// Takes how late an object was looked at.
    pub fn late(&self, key: &ObjectKey, late: std::time::Duration) {
        self.loop_latency
            .with_label_values(&[key.namespace.as_str(), "scaledobject", &key.name])
            .set(late.as_secs_f64());
    }

    /// Counts objects and triggers anew.
    pub fn count(&self, objects: impl Iterator<Item = (String, Vec<String>)>) {
        self.objects.reset();
        self.triggers.reset();
        for (namespace, kinds) in objects {
            self.objects.with_label_values(&["scaled_object", &namespace]).inc();
            kinds.iter().for_each(|kind| self.triggers.with_label_values(&[kind]).inc());
        }
    }

    /// Drops every series of an object that is gone, or whose triggers are built anew.
    pub fn forget(&self, key: &ObjectKey, triggers: &[Arc<BoardTrigger>]) {
        for trigger in triggers {
            for metric in &trigger.metrics {
                let index = trigger.index.to_string();
                let labels = [&key.namespace, &metric.name, &key.name, scaler_name(trigger), &index, "scaledobject"];
                // A series that was never there cannot be dropped, and need not be.
                let _ = self.value.remove_label_values(&labels);
                let _ = self.latency.remove_label_values(&labels);
                let _ = self.active.remove_label_values(&labels);
                let _ = self.metric_errors.remove_label_values(&labels);
            }
        }
        let _ = self.paused.remove_label_values(&[&key.namespace, &key.name]);
    }
}

/// KEDA: the trigger's name, or what KEDA calls its scaler.
fn scaler_name(trigger: &BoardTrigger) -> &str {
    let name = trigger.name.as_deref().filter(|name| !name.is_empty());
    name.unwrap_or_else(|| registry::find(&trigger.kind).map_or(&trigger.kind, |known| known.keda_scaler))
}

fn gauge(name: &str, help: &str, labels: &[&str]) -> GaugeVec {
    GaugeVec::new(Opts::new(name, help), labels).expect("the name and labels are constants")
}

fn int_gauge(name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    IntGaugeVec::new(Opts::new(name, help), labels).expect("the name and labels are constants")
}

fn counter(name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    IntCounterVec::new(Opts::new(name, help), labels).expect("the name and labels are constants")
}

fn add<C: Collector + Clone + 'static>(registry: &Registry, metric: C) -> C {
    registry.register(Box::new(metric.clone())).expect("each name is registered once");
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_kedas_dashboards() {
        let telemetry = Telemetry::new("1.2.3");
        let key = ObjectKey::new("shop", "web");
        telemetry.paused(&key, true);
        telemetry.late(&key, std::time::Duration::from_millis(1500));
        telemetry.count([("shop".to_owned(), vec!["cron".to_owned(), "cron".to_owned()])].into_iter());
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
        telemetry.forget(&key, &[]);
        assert!(!String::from_utf8(telemetry.render()).unwrap().contains("scaled_object_paused{"));
    }
}
