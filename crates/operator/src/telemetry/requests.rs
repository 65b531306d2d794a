//! Requests to sources. Every replica has the series of its own requests.

use std::sync::Arc;
use std::time::Duration;

use kedge_cluster::ObjectKey;
use kedge_scalers::observer::{GrpcCall, GrpcEvent, RequestObserver};
use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

use super::object_series::{RequestName, status_label};
use super::{Telemetry, add};

/// KEDA: the buckets of its histograms of requests, in seconds.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const GRPC_LABELS: [&str; 4] = ["grpc_type", "grpc_service", "grpc_method", "scaler"];
const GRPC_HANDLED_LABELS: [&str; 5] = ["grpc_type", "grpc_service", "grpc_method", "scaler", "grpc_code"];

/// The service of all calls.
const SERVICE: &str = "externalscaler.ExternalScaler";

/// The series about requests that name no object.
#[derive(Debug)]
pub(super) struct CallSeries {
    http_duration: HistogramVec,
    grpc_started: IntCounterVec,
    grpc_handled: IntCounterVec,
    grpc_received: IntCounterVec,
    grpc_sent: IntCounterVec,
    grpc_duration: HistogramVec,
}

impl CallSeries {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            http_duration: add(
                registry,
                histogram(
                    "keda_scaler_http_request_duration_seconds",
                    "The time from an HTTP request to the headers of its response.",
                    &["scaler", "status_code"],
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
            &self.http_duration,
            &self.grpc_started,
            &self.grpc_handled,
            &self.grpc_received,
            &self.grpc_sent,
            &self.grpc_duration,
        ]
    }
}

fn counter(name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    IntCounterVec::new(Opts::new(name, help), labels).expect("the name and labels are constants")
}

fn histogram(name: &str, help: &str, labels: &[&str]) -> HistogramVec {
    let options = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
    HistogramVec::new(options, labels).expect("the name and labels are constants")
}

impl Telemetry {
    /// Records an HTTP request: its answer's status, or none.
    pub fn record_http(&self, key: &ObjectKey, name: RequestName<'_>, status: Option<u16>, took: Duration) {
        self.by_object.update(key, |object| object.requests(name).count(status));
        let labels = [name.trigger_type, &status_label(status)];
        self.calls.http_duration.with_label_values(&labels).observe(took.as_secs_f64());
    }

    /// Records something that happened to a call of a gRPC server.
    pub fn record_grpc(&self, trigger_type: &str, call: GrpcCall, event: GrpcEvent) {
        let kind = if call.is_stream { "server_stream" } else { "unary" };
        let labels = [kind, SERVICE, call.method, trigger_type];
        match event {
            GrpcEvent::Started => {
                self.calls.grpc_started.with_label_values(&labels).inc();
                self.calls.grpc_sent.with_label_values(&labels).inc();
            }
            GrpcEvent::Received => self.calls.grpc_received.with_label_values(&labels).inc(),
            GrpcEvent::Ended { code, took } => {
                let [kind, service, method, scaler] = labels;
                self.calls.grpc_handled.with_label_values(&[kind, service, method, scaler, code]).inc();
                self.calls.grpc_duration.with_label_values(&labels).observe(took.as_secs_f64());
            }
        }
    }

    /// Records an answer without a value, which was ignored or was an error.
    pub fn record_empty_response(&self, key: &ObjectKey, name: RequestName<'_>, ignored: bool) {
        self.by_object.update(key, |object| object.requests(name).empty[usize::from(ignored)] += 1);
    }
}

/// Observes the requests of one trigger that read no metric.
#[derive(Debug)]
pub struct TriggerObserver {
    pub telemetry: Arc<Telemetry>,
    pub key: ObjectKey,
    pub trigger_type: String,
    pub trigger_name: String,
}

impl TriggerObserver {
    fn name(&self) -> RequestName<'_> {
        RequestName { trigger_type: &self.trigger_type, trigger_name: &self.trigger_name, metric: "" }
    }
}

impl RequestObserver for TriggerObserver {
    fn http(&self, status: Option<u16>, took: Duration) {
        self.telemetry.record_http(&self.key, self.name(), status, took);
    }

    fn grpc(&self, call: GrpcCall, event: GrpcEvent) {
        self.telemetry.record_grpc(&self.trigger_type, call, event);
    }

    fn empty_response(&self, ignored: bool) {
        self.telemetry.record_empty_response(&self.key, self.name(), ignored);
    }
}
