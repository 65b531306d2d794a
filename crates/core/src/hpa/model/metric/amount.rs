//! External and Object metrics: one amount for the target.

use k8s_openapi::api::autoscaling::v2::{ExternalMetricSource, ObjectMetricSource};

use super::{
    FailureReason, MetricContext, MetricFailure, MetricProposal, MetricReading, not_read, read_target, report,
};
use crate::hpa::model::external::{
    Origin, Proposal, propose_by_average, propose_by_value, sum_for_average, sum_for_value,
};
use crate::hpa::model::selector_text::print_selector;
use crate::milli::Milli;

pub(super) fn propose_external(
    source: &ExternalMetricSource,
    reading: Option<&MetricReading>,
    context: &MetricContext<'_>,
) -> Result<MetricProposal, MetricFailure> {
    let metric = &source.metric.name;
    let selector = print_selector(source.metric.selector.as_ref());
    let fetched = || {
        read_series(reading).map_err(|error| {
            format!("unable to get external metric {}/{metric}/{selector}: {error}", context.namespace)
        })
    };
    let fail = |cause: String, layer: String| MetricFailure {
        reason: FailureReason::External,
        error: format!("failed to get {metric} external metric value: {layer}{cause}"),
        cause,
    };
    // HPA: the fields decide which kind of target it is, whatever its type.
    let (proposal, current) = match (&source.target.average_value, &source.target.value) {
        (Some(target), _) => {
            let proposal = read_target(target).and_then(|target| Ok(average_of_series(&fetched()?, target, context)));
            let proposal =
                proposal.map_err(|cause| fail(cause, format!("failed to get {metric} external metric: ")))?;
            (proposal, report::average(proposal.reported))
        }
        (None, Some(target)) => {
            let proposal = read_target(target).and_then(|target| value_of_series(&fetched()?, target, context));
            let proposal =
                proposal.map_err(|cause| fail(cause, format!("failed to get external metric {metric}: ")))?;
            (proposal, report::value(proposal.reported))
        }
        (None, None) => return Err(fail(no_target("external"), String::new())),
    };
    let name = format!("external metric {metric}({selector})");
    Ok(MetricProposal { replicas: proposal.replicas, name, status: report::external(source, current) })
}

/// An empty response is an error: no series is not the same as a series of zero.
fn read_series(reading: Option<&MetricReading>) -> Result<Vec<Milli>, String> {
    let series = match reading {
        Some(MetricReading::Series(series)) => series.clone()?,
        _ => return not_read(),
    };
    if series.is_empty() { Err("no metrics returned from external metrics API".to_owned()) } else { Ok(series) }
}

fn average_of_series(series: &[Milli], target: Milli, context: &MetricContext<'_>) -> Proposal {
    propose_by_average(sum_for_average(series), target, context.reported, context.tolerances, Origin::External)
}

fn value_of_series(series: &[Milli], target: Milli, context: &MetricContext<'_>) -> Result<Proposal, String> {
    propose_by_value(sum_for_value(series), target, context.current, context.pods, context.tolerances)
        .map_err(|problem| problem.to_string())
}

pub(super) fn propose_object(
    source: &ObjectMetricSource,
    reading: Option<&MetricReading>,
    context: &MetricContext<'_>,
) -> Result<MetricProposal, MetricFailure> {
    let metric = &source.metric.name;
    let object = &source.described_object;
    let fetched = || {
        let read = if let Some(MetricReading::Object(read)) = reading { read.clone() } else { not_read() };
        // HPA: the parts of this message are in the wrong order.
        let place = format!("{} on {} {}", object.kind, context.namespace, object.name);
        read.map_err(|error| format!("unable to get metric {metric}: {place}/{error}"))
    };
    let fail = |cause: String, layer: String| MetricFailure {
        reason: FailureReason::Object,
        error: format!("failed to get object metric value: {layer}{cause}"),
        cause,
    };
    let target = &source.target;
    // HPA: unlike with External, the type must name the field that is set.
    match (target.type_.as_str(), &target.value, &target.average_value) {
        ("Value", Some(target), _) => {
            let proposal = read_target(target).and_then(|target| {
                propose_by_value(fetched()?, target, context.current, context.pods, context.tolerances)
                    .map_err(|problem| problem.to_string())
            });
            let proposal = proposal.map_err(|cause| fail(cause, String::new()))?;
            let name = format!("{} metric {metric}", object.kind);
            let status = report::object(source, report::value(proposal.reported));
            Ok(MetricProposal { replicas: proposal.replicas, name, status })
        }
        ("AverageValue", _, Some(target)) => {
            let proposal = read_target(target).and_then(|target| {
                Ok(propose_by_average(fetched()?, target, context.reported, context.tolerances, Origin::Object))
            });
            let proposal = proposal.map_err(|cause| fail(cause, format!("failed to get {metric} object metric: ")))?;
            let name = format!("external metric {metric}({})", print_selector(source.metric.selector.as_ref()));
            let status = report::object(source, report::average(proposal.reported));
            Ok(MetricProposal { replicas: proposal.replicas, name, status })
        }
        _ => Err(fail(no_target("object"), String::new())),
    }
}

fn no_target(kind: &str) -> String {
    format!("invalid {kind} metric source: neither a value target nor an average value target was set")
}
