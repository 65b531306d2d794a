//! What is wrong with a scaler, by its responses. Pure.

use std::collections::BTreeSet;

use kedge_proto::externalscaler::{MetricSpec, MetricValue};
use kedge_scalers::ReadError;
use kedge_scalers::external;
use kedge_scalers::target::TargetType;

use super::calls::{CallResult, NO_METRIC, StreamOutcome, Transcript};
use super::remedy;

/// A problem of a scaler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Diagnostic {
    pub(super) severity: Severity,
    pub(super) method: &'static str,
    pub(super) problem: String,
    pub(super) remedy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// It may be intended.
    Note,
    /// It works, but probably not as intended.
    Warning,
    /// It does not work.
    Wrong,
}

/// The outcome of all diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    InOrder,
    Doubtful,
    Wrong,
}

impl Verdict {
    pub(super) fn from_diagnostics(diagnostics: &[Diagnostic]) -> Self {
        match diagnostics.iter().map(|diagnostic| diagnostic.severity).max() {
            Some(Severity::Wrong) => Self::Wrong,
            Some(Severity::Warning) => Self::Doubtful,
            Some(Severity::Note) | None => Self::InOrder,
        }
    }
}

fn diagnostic(
    severity: Severity,
    method: &'static str,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> Diagnostic {
    Diagnostic { severity, method, problem: problem.into(), remedy: remedy.into() }
}

fn failed(method: &'static str, error: &ReadError) -> Diagnostic {
    diagnostic(Severity::Wrong, method, error.to_string(), remedy::for_error(error))
}

pub(super) fn diagnose(transcript: &Transcript) -> Vec<Diagnostic> {
    transcript.calls.iter().flat_map(|call| diagnose_call(&call.result, transcript)).collect()
}

fn diagnose_call(answer: &CallResult, transcript: &Transcript) -> Vec<Diagnostic> {
    match answer {
        CallResult::Specs(Err(error)) => vec![failed("GetMetricSpec", error)],
        CallResult::Specs(Ok(specs)) => diagnose_specs("GetMetricSpec", specs),
        CallResult::Activity(Err(error)) => vec![failed("IsActive", error)],
        CallResult::Activity(Ok(_)) => Vec::new(),
        CallResult::Values { metric, values } if metric == NO_METRIC => diagnose_unknown(values).into_iter().collect(),
        CallResult::Values { values: Err(error), .. } => vec![failed("GetMetrics", error)],
        CallResult::Values { metric, values: Ok(values) } => diagnose_values(metric, values, transcript.is_active()),
        CallResult::ActivityStream(outcome) => diagnose_activity_stream(outcome).into_iter().collect(),
        CallResult::SpecStream(outcome) => diagnose_spec_stream(outcome, transcript.specs()),
    }
}

fn diagnose_specs(method: &'static str, specs: &[MetricSpec]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    if let Err(problem) = external::specs(0, TargetType::AverageValue, specs) {
        let remedy = "name each metric once, without / and %, with a targetSizeFloat or targetSize above 0";
        diagnostics.push(diagnostic(Severity::Wrong, method, problem, remedy));
    }
    let exact: BTreeSet<&str> = specs.iter().map(|spec| spec.metric_name.as_str()).collect();
    let folded: BTreeSet<String> = exact.iter().map(|name| name.to_lowercase()).collect();
    if folded.len() < exact.len() {
        let problem = "two metrics differ only in upper and lower case, and the HPA's requests do not distinguish them";
        diagnostics.push(diagnostic(Severity::Warning, method, problem, "name them differently"));
    }
    diagnostics
}

fn diagnose_unknown(values: &Result<Vec<MetricValue>, ReadError>) -> Option<Diagnostic> {
    match values {
        Err(error @ ReadError::Rpc { .. }) if !remedy::is_unimplemented(error) => None,
        Err(error) => Some(failed("GetMetrics", error)),
        Ok(values) if values.is_empty() => None,
        Ok(_) => Some(diagnostic(
            Severity::Warning,
            "GetMetrics",
            format!("it gives values for {NO_METRIC:?}, which it does not have"),
            "answer NOT_FOUND for a metric that GetMetricSpec does not name: a mistake would look like a measurement",
        )),
    }
}

fn diagnose_values(metric: &str, values: &[MetricValue], is_active: Option<bool>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    if values.is_empty() {
        let problem = format!("it gives no values for {metric:?}, so the metric is unknown");
        let remedy = "answer with the value, also if it is 0; with an error if it is not known";
        diagnostics.push(diagnostic(Severity::Wrong, "GetMetrics", problem, remedy));
    }
    let mut is_some = false;
    for value in values {
        match external::value(value) {
            Ok(value) => is_some |= value > 0.0,
            Err(problem) => diagnostics.push(diagnostic(
                Severity::Wrong,
                "GetMetrics",
                format!("{metric:?}: {problem}"),
                "answer with a number, or with an error if it is not known",
            )),
        }
    }
    diagnostics.extend(diagnose_names(metric, values));
    if is_some && is_active == Some(false) {
        diagnostics.push(diagnostic(
            Severity::Note,
            "IsActive",
            format!("it says no, while {metric:?} is above 0: a target at zero stays there"),
            "this is how an activation threshold works; if none is meant, answer true while there is work",
        ));
    }
    diagnostics
}

/// Names in the response do not count: all values are taken for the requested metric.
fn diagnose_names(metric: &str, values: &[MetricValue]) -> Option<Diagnostic> {
    let other = values.iter().find(|value| value.metric_name != metric)?;
    let problem = format!("asked for {metric:?}, it answers with {:?}", other.metric_name);
    Some(match values.len() {
        1 => diagnostic(
            Severity::Note,
            "GetMetrics",
            format!("{problem}; the name does not count"),
            "repeat the name that was asked for",
        ),
        _ => diagnostic(
            Severity::Warning,
            "GetMetrics",
            format!("{problem}; names do not count, and the HPA adds all values up"),
            "answer with the values of the metric that was asked for, and no others",
        ),
    })
}

fn diagnose_activity_stream(outcome: &StreamOutcome<bool>) -> Option<Diagnostic> {
    match outcome {
        StreamOutcome::Message(_) | StreamOutcome::Silence => None,
        StreamOutcome::Failure(error) if remedy::is_unimplemented(error) => Some(diagnostic(
            Severity::Wrong,
            "StreamIsActive",
            "it is not there, so nothing is pushed",
            "serve it, or use the trigger type external",
        )),
        StreamOutcome::Failure(error) => Some(failed("StreamIsActive", error)),
        StreamOutcome::End => Some(diagnostic(
            Severity::Warning,
            "StreamIsActive",
            "it ends by itself: the operator opens it again every two seconds, and hears nothing in between",
            "keep it open for as long as the caller listens",
        )),
    }
}

fn diagnose_spec_stream(outcome: &StreamOutcome<Vec<MetricSpec>>, requested: &[MetricSpec]) -> Vec<Diagnostic> {
    let one = |severity, problem: &str, remedy: &str| vec![diagnostic(severity, "StreamMetricSpec", problem, remedy)];
    match outcome {
        StreamOutcome::Failure(error) if remedy::is_unimplemented(error) => one(
            Severity::Note,
            "it is not there: metrics and targets that change are noticed only when the operator asks again",
            "it need not be; serve it if they can change",
        ),
        StreamOutcome::Failure(error) => vec![failed("StreamMetricSpec", error)],
        StreamOutcome::Silence => one(
            Severity::Warning,
            "it sends nothing when it is opened",
            "send the present metrics first, then each change",
        ),
        StreamOutcome::End => one(
            Severity::Warning,
            "it ends by itself: the operator opens it again every two seconds",
            "keep it open, or answer UNIMPLEMENTED",
        ),
        StreamOutcome::Message(streamed) => {
            let mut diagnostics = diagnose_specs("StreamMetricSpec", streamed);
            if streamed != requested {
                let problem = "it sends other metrics or targets than GetMetricSpec";
                diagnostics.extend(one(Severity::Warning, problem, "keep the two in step"));
            }
            diagnostics
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::calls::Call;
    use super::*;

    fn spec(name: &str, target: i64) -> MetricSpec {
        MetricSpec { metric_name: name.to_owned(), target_size: target, target_size_float: 0.0 }
    }

    fn value(name: &str, value: i64) -> MetricValue {
        MetricValue { metric_name: name.to_owned(), metric_value: value, metric_value_float: 0.0 }
    }

    fn values(metric: &str, values: Vec<MetricValue>) -> CallResult {
        CallResult::Values { metric: metric.to_owned(), values: Ok(values) }
    }

    fn found(results: Vec<CallResult>) -> Vec<(Severity, &'static str)> {
        let calls = results.into_iter().map(|result| Call { took: Duration::ZERO, result }).collect();
        diagnose(&Transcript { calls }).into_iter().map(|diagnostic| (diagnostic.severity, diagnostic.method)).collect()
    }

    #[test]
    fn each_response_is_diagnosed() {
        use Severity::*;
        let specs = |specs| vec![CallResult::Specs(Ok(specs))];
        let stream = |specs| {
            vec![CallResult::Specs(Ok(vec![spec("a", 1)])), CallResult::SpecStream(StreamOutcome::Message(specs))]
        };
        let nan = MetricValue { metric_value_float: f64::NAN, ..value("a", 1) };
        let sleepy = |amount| vec![CallResult::Activity(Ok(false)), values("a", vec![value("a", amount)])];
        type Row = (&'static str, Vec<CallResult>, &'static [(Severity, &'static str)]);
        let rows: [Row; 19] = [
            ("all in order", specs(vec![spec("a", 1), spec("b", 2)]), &[]),
            ("no metrics", specs(vec![]), &[(Wrong, "GetMetricSpec")]),
            ("no target", specs(vec![spec("a", 0)]), &[(Wrong, "GetMetricSpec")]),
            ("a slash", specs(vec![spec("a/b", 1)]), &[(Wrong, "GetMetricSpec")]),
            ("names alike", specs(vec![spec("a", 1), spec("A", 1)]), &[(Warning, "GetMetricSpec")]),
            ("a value", vec![values("a", vec![value("a", 1)])], &[]),
            ("no value", vec![values("a", vec![])], &[(Wrong, "GetMetrics")]),
            ("NaN", vec![values("a", vec![nan])], &[(Wrong, "GetMetrics")]),
            ("another name", vec![values("a", vec![value("b", 1)])], &[(Note, "GetMetrics")]),
            ("all metrics", vec![values("a", vec![value("a", 1), value("b", 1)])], &[(Warning, "GetMetrics")]),
            ("an unknown metric", vec![values(NO_METRIC, vec![value("a", 1)])], &[(Warning, "GetMetrics")]),
            ("nothing for it", vec![values(NO_METRIC, vec![])], &[]),
            ("work, and not active", sleepy(1), &[(Note, "IsActive")]),
            ("no work, and not active", sleepy(0), &[]),
            ("a stream that waits", vec![CallResult::ActivityStream(StreamOutcome::Silence)], &[]),
            (
                "a stream that ends",
                vec![CallResult::ActivityStream(StreamOutcome::End)],
                &[(Warning, "StreamIsActive")],
            ),
            (
                "no present metrics",
                vec![CallResult::SpecStream(StreamOutcome::Silence)],
                &[(Warning, "StreamMetricSpec")],
            ),
            ("the same metrics", stream(vec![spec("a", 1)]), &[]),
            ("other metrics", stream(vec![spec("a", 2)]), &[(Warning, "StreamMetricSpec")]),
        ];
        for (name, answers, expected) in rows {
            assert_eq!(found(answers), expected, "{name}");
        }
    }

    #[test]
    fn the_most_severe_diagnostic_is_the_verdict() {
        let verdict = |severities: &[Severity]| {
            let diagnostics: Vec<_> =
                severities.iter().map(|severity| diagnostic(*severity, "IsActive", "x", "y")).collect();
            Verdict::from_diagnostics(&diagnostics)
        };
        assert_eq!(verdict(&[]), Verdict::InOrder);
        assert_eq!(verdict(&[Severity::Note]), Verdict::InOrder);
        assert_eq!(verdict(&[Severity::Warning, Severity::Note]), Verdict::Doubtful);
        assert_eq!(verdict(&[Severity::Note, Severity::Wrong, Severity::Warning]), Verdict::Wrong);
    }
}
