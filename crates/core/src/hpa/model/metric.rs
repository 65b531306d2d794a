//! One entry of `spec.metrics`: from what was read of it to a proposal with its name and status, or to a failure with
//! the texts that show it. The arithmetic is in [`external`](super::external) and [`per_pod`](super::per_pod).

mod amount;
mod report;
mod resource;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::{MetricSpec, MetricStatus};
use k8s_openapi::apimachinery::pkg::api::resource as api;

use super::pods::ObservedPod;
use super::samples::PodSamples;
use super::settings::Settings;
use super::tolerance::Tolerances;
use crate::milli::Milli;
use crate::quantity::Quantity;

/// The response of a metrics API for one entry. The errors are the client's texts, such as
/// `unable to fetch metrics from external metrics API: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricReading {
    /// For External: the series in the order of the response.
    Series(Result<Vec<Milli>, String>),
    /// For Object.
    Object(Result<Milli, String>),
    /// For Resource, ContainerResource and Pods.
    Pods(Result<PodSamples, String>),
}

/// What all entries of a reconcile share.
#[derive(Clone, Copy, Debug)]
pub struct MetricContext<'a> {
    pub namespace: &'a str,
    /// `spec.replicas` of the scale.
    pub current: i32,
    /// `status.replicas` of the scale.
    pub reported: i32,
    pub pods: &'a [ObservedPod],
    pub tolerances: Tolerances,
    pub settings: &'a Settings,
    pub now: DateTime<Utc>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MetricProposal {
    pub replicas: i32,
    /// What conditions and events call the metric.
    pub name: String,
    pub status: MetricStatus,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricFailure {
    pub reason: FailureReason,
    /// The message of the event, and the end of the condition's message.
    pub cause: String,
    /// The error of the reconcile.
    pub error: String,
}

/// The type of metric that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    Resource,
    ContainerResource,
    Pods,
    Object,
    External,
    UnknownType,
}

impl FailureReason {
    /// The reason of the event and the condition.
    pub fn text(self) -> &'static str {
        match self {
            Self::Resource => "FailedGetResourceMetric",
            Self::ContainerResource => "FailedGetContainerResourceMetric",
            Self::Pods => "FailedGetPodsMetric",
            Self::Object => "FailedGetObjectMetric",
            Self::External => "FailedGetExternalMetric",
            Self::UnknownType => "InvalidMetricSourceType",
        }
    }
}

/// The proposal of one entry.
pub fn propose(
    spec: &MetricSpec,
    reading: Option<&MetricReading>,
    context: &MetricContext<'_>,
) -> Result<MetricProposal, MetricFailure> {
    match spec {
        MetricSpec { type_, external: Some(source), .. } if type_ == "External" => {
            amount::propose_external(source, reading, context)
        }
        MetricSpec { type_, object: Some(source), .. } if type_ == "Object" => {
            amount::propose_object(source, reading, context)
        }
        MetricSpec { type_, pods: Some(source), .. } if type_ == "Pods" => {
            resource::propose_pods(source, reading, context)
        }
        MetricSpec { type_, resource: Some(source), .. } if type_ == "Resource" => {
            resource::propose_resource(source, reading, context)
        }
        MetricSpec { type_, container_resource: Some(source), .. } if type_ == "ContainerResource" => {
            resource::propose_container_resource(source, reading, context)
        }
        MetricSpec { type_, .. } => {
            let cause = format!("unknown metric source type {type_:?}");
            Err(MetricFailure { reason: FailureReason::UnknownType, error: cause.clone(), cause })
        }
    }
}

/// The amount of a target. The API server rejects what is not a quantity.
fn read_target(text: &api::Quantity) -> Result<Milli, String> {
    match Quantity::parse(&text.0) {
        Ok(quantity) => Ok(Milli(quantity.milli_value())),
        Err(error) => Err(format!("unable to read the target {:?}: {error}", text.0)),
    }
}

/// The error of an entry without a reading, or with the reading of another type of metric.
fn not_read<T>() -> Result<T, String> {
    Err("no answer of a metrics API was given".to_owned())
}
