//! The series about requests to sources. Every replica has those of its own requests.

use std::sync::Arc;
use std::time::Duration;

use kedge_cluster::ObjectKey;
use kedge_scalers::observer::{GrpcCall, GrpcEvent, RequestObserver};
use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Registry};

use super::{add, counter};

/// KEDA: the buckets of its histograms of requests, in seconds.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const HTTP_LABELS: [&str; 6] = ["namespace", "scaled_resource", "scaler", "trigger_name", "metric_name", "status_code"];
const EMPTY_LABELS: [&str; 6] =
    ["namespace", "scaledResource", "triggerName", "metricName", "resourceType", "ignoreNullValues"];
const GRPC_LABELS: [&str; 4] = ["grpc_type", "grpc_service", "grpc_method", "scaler"];
const GRPC_HANDLED_LABELS: [&str; 5] = ["grpc_type", "grpc_service", "grpc_method", "scaler", "grpc_code"];

/// The service of all calls.
const SERVICE: &str = "externalscaler.ExternalScaler";

#[derive(Debug)]
pub(super) struct RequestSeries {
    http_requests: IntCounterVec,
    http_duration: HistogramVec,
    empty_responses: IntCounterVec,
    grpc_started: IntCounterVec,
    grpc_handled: IntCounterVec,
    grpc_received: IntCounterVec,
    grpc_sent: IntCounterVec,
    grpc_duration: HistogramVec,
}

impl RequestSeries {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            http_requests: add(
                registry,
                counter(
                    "keda_scaler_http_requests_total",
                    "HTTP requests to sources, redirects included.",
                    &HTTP_LABELS,
                ),
            ),
            http_duration: add(
                registry,
                histogram(
                    "keda_scaler_http_request_duration_seconds",
                    "The time from an HTTP request to the headers of its response.",
                    &["scaler", "status_code"],
                ),
            ),
            empty_responses: add(
                registry,
                counter(
                    "keda_scaler_empty_upstream_responses_total",
                    "Answers of Prometheus servers without a value.",
                    &EMPTY_LABELS,
                ),
            ),
            grpc_started: add(
                registry,
                counter("keda_grpc_client_started_total", "Calls of external scalers that began.", &GRPC_LABELS),
            ),
            grpc_handled: add(
                registry,
                counter(
                    "keda_grpc_client_handled_total",
                    "Calls of external scalers that ended, by their code.",
                    &GRPC_HANDLED_LABELS,
                ),
            ),
            grpc_received: add(
                registry,
                counter("keda_grpc_client_msg_received_total", "Messages from external scalers.", &GRPC_LABELS),
            ),
            grpc_sent: add(
                registry,
                counter("keda_grpc_client_msg_sent_total", "Messages to external scalers.", &GRPC_LABELS),
            ),
            grpc_duration: add(
                registry,
                histogram(
                    "keda_grpc_client_handling_seconds",
                    "The time from the beginning to the end of a call of an external scaler.",
                    &GRPC_LABELS,
                ),
            ),
        }
    }

    pub(super) fn collectors(&self) -> Vec<&dyn Collector> {
        vec![
            &self.http_requests,
            &self.http_duration,
            &self.empty_responses,
            &self.grpc_started,
            &self.grpc_handled,
            &self.grpc_received,
            &self.grpc_sent,
            &self.grpc_duration,
        ]
    }

    /// Drops the series that name an object.
    pub(super) fn drop_object(&self, key: &ObjectKey) {
        drop_series(&self.http_requests, &HTTP_LABELS, key);
        drop_series(&self.empty_responses, &EMPTY_LABELS, key);
    }
}

/// Drops the series whose first two labels are the namespace and the name of an object.
fn drop_series(series: &IntCounterVec, names: &[&str; 6], key: &ObjectKey) {
    for family in series.collect() {
        for metric in family.get_metric() {
            let value = |name: &str| {
                let pair = metric.get_label().iter().find(|pair| pair.name() == name);
                pair.map_or("", |pair| pair.value()).to_owned()
            };
            let values = names.map(value);
            if values[0] == key.namespace && values[1] == key.name {
                // Another thread may have removed it.
                let _ = series.remove_label_values(&values.each_ref().map(String::as_str));
            }
        }
    }
}

fn histogram(name: &str, help: &str, labels: &[&str]) -> HistogramVec {
    let options = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
    HistogramVec::new(options, labels).expect("the name and labels are constants")
}

/// Observes the requests of one trigger.
#[derive(Debug)]
pub struct TriggerObserver {
    pub telemetry: Arc<super::Telemetry>,
    pub key: ObjectKey,
    pub trigger_type: String,
    pub trigger_name: String,
    /// Empty where no metric is read.
    pub metric: String,
}

impl RequestObserver for TriggerObserver {
    fn http(&self, status: Option<u16>, took: Duration) {
        let series = &self.telemetry.requests;
        // KEDA: where there is no answer.
        let status = status.map_or_else(|| "error".to_owned(), |status| status.to_string());
        let labels = [
            &self.key.namespace,
            &self.key.name,
            self.trigger_type.as_str(),
            &self.trigger_name,
            &self.metric,
            &status,
        ];
        series.http_requests.with_label_values(&labels).inc();
        series.http_duration.with_label_values(&[self.trigger_type.as_str(), &status]).observe(took.as_secs_f64());
    }

    fn grpc(&self, call: GrpcCall, event: GrpcEvent) {
        let series = &self.telemetry.requests;
        let kind = if call.is_stream { "server_stream" } else { "unary" };
        let labels = [kind, SERVICE, call.method, self.trigger_type.as_str()];
        match event {
            GrpcEvent::Started => {
                series.grpc_started.with_label_values(&labels).inc();
                series.grpc_sent.with_label_values(&labels).inc();
            }
            GrpcEvent::Received => series.grpc_received.with_label_values(&labels).inc(),
            GrpcEvent::Ended { code, took } => {
                let [kind, service, method, scaler] = labels;
                series.grpc_handled.with_label_values(&[kind, service, method, scaler, code]).inc();
                series.grpc_duration.with_label_values(&labels).observe(took.as_secs_f64());
            }
        }
    }

    fn empty_response(&self, ignored: bool) {
        let labels = [
            self.key.namespace.as_str(),
            &self.key.name,
            &self.trigger_name,
            &self.metric,
            self.key.kind.as_str(),
            if ignored { "true" } else { "false" },
        ];
        self.telemetry.requests.empty_responses.with_label_values(&labels).inc();
    }
}
