//! What is wrong with a scaler, by what it said. Pure.

use std::collections::BTreeSet;

use kedge_proto::externalscaler::{MetricSpec, MetricValue};
use kedge_scalers::ReadError;
use kedge_scalers::external;
use kedge_scalers::target::TargetType;

use super::ask::{Answer, Heard, NO_METRIC, Transcript};
use super::remedy;

/// Something to say about a scaler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) weight: Weight,
    pub(super) method: &'static str,
    pub(super) problem: String,
    pub(super) remedy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// It may well be meant.
    Note,
    /// It works, but probably not as meant.
    Warning,
    /// It does not work.
    Wrong,
}

/// What all findings come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    InOrder,
    Doubtful,
    Wrong,
}

impl Verdict {
    pub(super) fn of(findings: &[Finding]) -> Self {
        match findings.iter().map(|finding| finding.weight).max() {
            Some(Weight::Wrong) => Self::Wrong,
            Some(Weight::Warning) => Self::Doubtful,
            Some(Weight::Note) | None => Self::InOrder,
        }
    }
}

fn finding(weight: Weight, method: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { weight, method, problem: problem.into(), remedy: remedy.into() }
}

fn failed(method: &'static str, error: &ReadError) -> Finding {
    finding(Weight::Wrong, method, error.to_string(), remedy::of(error))
}

pub(super) fn judge(transcript: &Transcript) -> Vec<Finding> {
    transcript.calls.iter().flat_map(|call| judge_answer(&call.answer, transcript)).collect()
}

fn judge_answer(answer: &Answer, transcript: &Transcript) -> Vec<Finding> {
    match answer {
        Answer::Specs(Err(error)) => vec![failed("GetMetricSpec", error)],
        Answer::Specs(Ok(specs)) => judge_specs("GetMetricSpec", specs),
        Answer::Activity(Err(error)) => vec![failed("IsActive", error)],
        Answer::Activity(Ok(_)) => Vec::new(),
        Answer::Values { metric, values } if metric == NO_METRIC => judge_unknown(values).into_iter().collect(),
        Answer::Values { values: Err(error), .. } => vec![failed("GetMetrics", error)],
        Answer::Values { metric, values: Ok(values) } => judge_values(metric, values, transcript.is_active()),
        Answer::ActivityStream(heard) => judge_activity_stream(heard).into_iter().collect(),
        Answer::SpecStream(heard) => judge_spec_stream(heard, transcript.specs()),
    }
}

fn judge_specs(method: &'static str, specs: &[MetricSpec]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(problem) = external::specs(0, TargetType::AverageValue, specs) {
        let remedy = "name each metric once, without / and %, with a targetSizeFloat or targetSize above 0";
        findings.push(finding(Weight::Wrong, method, problem, remedy));
    }
    let exact: BTreeSet<&str> = specs.iter().map(|spec| spec.metric_name.as_str()).collect();
    let folded: BTreeSet<String> = exact.iter().map(|name| name.to_lowercase()).collect();
    if folded.len() < exact.len() {
        let problem = "two metrics differ only in upper and lower case, and the HPA's requests do not tell them apart";
        findings.push(finding(Weight::Warning, method, problem, "name them differently"));
    }
    findings
}

fn judge_unknown(values: &Result<Vec<MetricValue>, ReadError>) -> Option<Finding> {
    match values {
        Err(error @ ReadError::Rpc { .. }) if !remedy::is_unimplemented(error) => None,
        Err(error) => Some(failed("GetMetrics", error)),
        Ok(values) if values.is_empty() => None,
        Ok(_) => Some(finding(
            Weight::Warning,
            "GetMetrics",
            format!("it gives values for {NO_METRIC:?}, which it does not have"),
            "answer NOT_FOUND for a metric that GetMetricSpec does not name: a mistake would look like a measurement",
        )),
    }
}

fn judge_values(metric: &str, values: &[MetricValue], is_active: Option<bool>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if values.is_empty() {
        let problem = format!("it gives no values for {metric:?}, so the metric is unknown");
        let remedy = "answer with the value, also if it is 0; with an error if it is not known";
        findings.push(finding(Weight::Wrong, "GetMetrics", problem, remedy));
    }
    let mut is_some = false;
    for value in values {
        match external::value(value) {
            Ok(value) => is_some |= value > 0.0,
            Err(problem) => findings.push(finding(
                Weight::Wrong,
                "GetMetrics",
                format!("{metric:?}: {problem}"),
                "answer with a number, or with an error if it is not known",
            )),
        }
    }
    findings.extend(judge_names(metric, values));
    if is_some && is_active == Some(false) {
        findings.push(finding(
            Weight::Note,
            "IsActive",
            format!("it says no, while {metric:?} is above 0: a target at zero stays there"),
            "this is how an activation threshold works; if none is meant, answer true while there is work",
        ));
    }
    findings
}

/// Names in the answer do not count: whatever comes is taken for the metric that was asked for.
fn judge_names(metric: &str, values: &[MetricValue]) -> Option<Finding> {
    let other = values.iter().find(|value| value.metric_name != metric)?;
    let problem = format!("asked for {metric:?}, it answers with {:?}", other.metric_name);
    Some(match values.len() {
        1 => finding(
            Weight::Note,
            "GetMetrics",
            format!("{problem}; the name does not count"),
            "repeat the name that was asked for",
        ),
        _ => finding(
            Weight::Warning,
            "GetMetrics",
            format!("{problem}; names do not count, and the HPA adds all values up"),
            "answer with the values of the metric that was asked for, and no others",
        ),
    })
}

fn judge_activity_stream(heard: &Heard<bool>) -> Option<Finding> {
    match heard {
        Heard::Message(_) | Heard::Silence => None,
        Heard::Failure(error) if remedy::is_unimplemented(error) => Some(finding(
            Weight::Wrong,
            "StreamIsActive",
            "it is not there, so nothing is pushed",
            "serve it, or use the trigger type external",
        )),
        Heard::Failure(error) => Some(failed("StreamIsActive", error)),
        Heard::End => Some(finding(
            Weight::Warning,
            "StreamIsActive",
            "it ends by itself: the operator opens it again every two seconds, and hears nothing in between",
            "keep it open for as long as the caller listens",
        )),
    }
}

fn judge_spec_stream(heard: &Heard<Vec<MetricSpec>>, asked: &[MetricSpec]) -> Vec<Finding> {
    let one = |weight, problem: &str, remedy: &str| vec![finding(weight, "StreamMetricSpec", problem, remedy)];
    match heard {
        Heard::Failure(error) if remedy::is_unimplemented(error) => one(
            Weight::Note,
            "it is not there: metrics and targets that change are seen only when the operator asks again",
            "it need not be; serve it if they can change",
        ),
        Heard::Failure(error) => vec![failed("StreamMetricSpec", error)],
        Heard::Silence => one(
            Weight::Warning,
            "it sends nothing when it is opened",
            "send the present metrics first, then each change",
        ),
        Heard::End => one(
            Weight::Warning,
            "it ends by itself: the operator opens it again every two seconds",
            "keep it open, or answer UNIMPLEMENTED",
        ),
        Heard::Message(told) => {
            let mut findings = judge_specs("StreamMetricSpec", told);
            if told != asked {
                let problem = "it tells other metrics or targets than GetMetricSpec";
                findings.extend(one(Weight::Warning, problem, "keep the two in step"));
            }
            findings
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::ask::Call;
    use super::*;

    fn spec(name: &str, target: i64) -> MetricSpec {
        MetricSpec { metric_name: name.to_owned(), target_size: target, target_size_float: 0.0 }
    }

    fn value(name: &str, value: i64) -> MetricValue {
        MetricValue { metric_name: name.to_owned(), metric_value: value, metric_value_float: 0.0 }
    }

    fn values(metric: &str, values: Vec<MetricValue>) -> Answer {
        Answer::Values { metric: metric.to_owned(), values: Ok(values) }
    }

    fn found(answers: Vec<Answer>) -> Vec<(Weight, &'static str)> {
        let calls = answers.into_iter().map(|answer| Call { took: Duration::ZERO, answer }).collect();
        judge(&Transcript { calls }).into_iter().map(|finding| (finding.weight, finding.method)).collect()
    }

    #[test]
    fn each_answer_is_weighed() {
        use Weight::*;
        let specs = |specs| vec![Answer::Specs(Ok(specs))];
        let stream = |told| vec![Answer::Specs(Ok(vec![spec("a", 1)])), Answer::SpecStream(Heard::Message(told))];
        let nan = MetricValue { metric_value_float: f64::NAN, ..value("a", 1) };
        let sleepy = |amount| vec![Answer::Activity(Ok(false)), values("a", vec![value("a", amount)])];
        type Row = (&'static str, Vec<Answer>, &'static [(Weight, &'static str)]);
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
            ("a stream that waits", vec![Answer::ActivityStream(Heard::Silence)], &[]),
            ("a stream that ends", vec![Answer::ActivityStream(Heard::End)], &[(Warning, "StreamIsActive")]),
            ("no present metrics", vec![Answer::SpecStream(Heard::Silence)], &[(Warning, "StreamMetricSpec")]),
            ("the same metrics", stream(vec![spec("a", 1)]), &[]),
            ("other metrics", stream(vec![spec("a", 2)]), &[(Warning, "StreamMetricSpec")]),
        ];
        for (name, answers, expected) in rows {
            assert_eq!(found(answers), expected, "{name}");
        }
    }

    #[test]
    fn the_heaviest_finding_is_the_verdict() {
        let verdict = |weights: &[Weight]| {
            let findings: Vec<_> = weights.iter().map(|weight| finding(*weight, "IsActive", "x", "y")).collect();
            Verdict::of(&findings)
        };
        assert_eq!(verdict(&[]), Verdict::InOrder);
        assert_eq!(verdict(&[Weight::Note]), Verdict::InOrder);
        assert_eq!(verdict(&[Weight::Warning, Weight::Note]), Verdict::Doubtful);
        assert_eq!(verdict(&[Weight::Note, Weight::Wrong, Weight::Warning]), Verdict::Wrong);
    }
}
