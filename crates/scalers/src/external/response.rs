//! The responses of a server, parsed. A server may send anything.

use std::collections::BTreeSet;

use k8s_openapi::api::autoscaling::v2::MetricSpec;
pub(super) use kedge_proto::externalscaler::MetricSpec as ServerMetricSpec;
use kedge_proto::externalscaler::MetricValue;

use crate::metric_name;
use crate::target::{External, TargetType};

/// How many metrics one trigger can have: each is queried at every poll, and stored in the HPA.
const METRICS_MAX: usize = 64;

/// The metrics as the HPA takes them, or every error in them.
pub fn specs(index: usize, target_type: TargetType, received: &[ServerMetricSpec]) -> Result<Vec<MetricSpec>, String> {
    let mut problems = Vec::new();
    if received.is_empty() {
        problems.push("it names no metric, and must name one at least".to_owned());
    }
    if received.len() > METRICS_MAX {
        return Err(format!("there are {} metric specs; one trigger has at most {METRICS_MAX}", received.len()));
    }
    let mut seen = BTreeSet::new();
    let mut specs = Vec::new();
    for spec in received {
        let name = &spec.metric_name;
        if let Err(problem) = check_name(name) {
            problems.push(problem);
        }
        if !seen.insert(name) && !name.is_empty() {
            problems.push(format!("{name:?} is named more than once, and each metric needs a name of its own"));
        }
        match target(spec) {
            // KEDA: the name is not normalised.
            Ok(target) => specs.push(external(metric_name::with_prefix(index, name), target_type, target).spec()),
            Err(problem) => problems.push(format!("{name:?}: {problem}")),
        }
    }
    if problems.is_empty() { Ok(specs) } else { Err(format!("in the metric specs, {}", problems.join(", and "))) }
}

/// Whether a metric can have the name. The API server rejects an HPA in which it cannot be a part of a path.
fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a metric has no name".to_owned());
    }
    match name.contains(['/', '%']) {
        true => Err(format!("{name:?} holds a / or %, which no metric of an HPA may")),
        false => Ok(()),
    }
}

/// The target for one replica.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    Whole(i64),
    Float(f64),
}

/// What the HPA compares is counted in thousandths.
const TARGET_MAX: i64 = i64::MAX / 1000;

/// The target of a metric, or why it is invalid.
fn target(spec: &ServerMetricSpec) -> Result<Target, String> {
    let float = spec.target_size_float;
    if !float.is_finite() {
        return Err(format!("targetSizeFloat is {float}, which is no target"));
    }
    // KEDA: the float counts where it is above zero.
    if float > 0.0 {
        // The nearest float to the largest is above it.
        if float >= TARGET_MAX as f64 {
            return Err(format!("targetSizeFloat is {float}, and the HPA cannot count so far"));
        }
        return match kedge_core::quantity::format_float(float).as_str() {
            "0" => Err(format!("targetSizeFloat is {float}, which is 0 in thousandths, and a target must be above 0")),
            _ => Ok(Target::Float(float)),
        };
    }
    match spec.target_size {
        whole if whole > TARGET_MAX => Err(format!("targetSize is {whole}, and the HPA cannot count so far")),
        whole if whole > 0 => Ok(Target::Whole(whole)),
        whole => Err(format!(
            "targetSize is {whole} and targetSizeFloat {float}, and one of them must be above 0 to be the target"
        )),
    }
}

fn external(name: String, target_type: TargetType, target: Target) -> External {
    match target {
        Target::Whole(target) => External::whole(name, target_type, target),
        Target::Float(target) => External::float(name, target_type, target),
    }
}

/// The values, whatever metric they name, or why one is invalid.
pub(super) fn values(received: &[MetricValue]) -> Result<Vec<f64>, String> {
    received.iter().map(value).collect()
}

/// The number of a value, or why it is invalid.
pub fn value(received: &MetricValue) -> Result<f64, String> {
    let float = received.metric_value_float;
    if !float.is_finite() {
        return Err(format!("metricValueFloat is {float}, which is no value"));
    }
    // KEDA: the float counts where it is above zero.
    Ok(if float > 0.0 { float } else { received.metric_value as f64 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn spec(name: &str, whole: i64, float: f64) -> ServerMetricSpec {
        ServerMetricSpec { metric_name: name.to_owned(), target_size: whole, target_size_float: float }
    }

    #[test]
    fn metrics_keep_their_names_and_have_their_targets() {
        let rows = [
            ("whole", spec("jobs.waiting:now", 10, 0.0), "s2-jobs.waiting:now", "10"),
            ("a thousand", spec("a", 1000, 0.0), "s2-a", "1k"),
            ("a float wins", spec("a", 10, 2.5), "s2-a", "2.500"),
            ("a float of zero does not", spec("a", 10, 0.0), "s2-a", "10"),
            ("nor one below", spec("a", 10, -2.0), "s2-a", "10"),
            ("less than one", spec("a", 0, 0.25), "s2-a", "250m"),
        ];
        for (name, spec, metric, target) in rows {
            let specs = specs(2, TargetType::AverageValue, &[spec]).unwrap();
            let expected = json!([{"type": "External", "external": {
                "metric": {"name": metric}, "target": {"type": "AverageValue", "averageValue": target}}}]);
            assert_eq!(serde_json::to_value(specs).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn lies_are_named() {
        let rows: [(&str, Vec<ServerMetricSpec>, &[&str]); 14] = [
            ("nothing", vec![], &["it names no metric"]),
            ("too many", (0..65).map(|n| spec(&n.to_string(), 1, 0.0)).collect(), &["65 metric specs", "at most 64"]),
            ("no name", vec![spec("", 1, 0.0)], &["a metric has no name"]),
            ("twice", vec![spec("a", 1, 0.0), spec("a", 2, 0.0)], &["\"a\" is named more than once"]),
            ("a slash", vec![spec("a/b", 1, 0.0)], &["\"a/b\" holds a / or %"]),
            ("a percent sign", vec![spec("a%b", 1, 0.0)], &["\"a%b\" holds a / or %"]),
            ("no target", vec![spec("a", 0, 0.0)], &["\"a\": targetSize is 0 and targetSizeFloat 0"]),
            ("below zero", vec![spec("a", -5, -1.0)], &["targetSize is -5 and targetSizeFloat -1"]),
            ("NaN", vec![spec("a", 5, f64::NAN)], &["targetSizeFloat is NaN"]),
            ("infinite", vec![spec("a", 5, f64::INFINITY)], &["targetSizeFloat is inf"]),
            ("too large", vec![spec("a", i64::MAX, 0.0)], &["targetSize is 9223372036854775807, and the HPA"]),
            ("just too large a float", vec![spec("a", 0, (i64::MAX / 1000) as f64)], &["the HPA cannot count so far"]),
            (
                "too large a float",
                vec![spec("a", 0, 9.8e20)],
                &["targetSizeFloat is 980000000000000000000, and the HPA"],
            ),
            (
                "all at once",
                vec![spec("", 0, 0.0), spec("b", 5, 0.0001)],
                &[
                    "a metric has no name",
                    "targetSize is 0",
                    "\"b\": targetSizeFloat is 0.0001, which is 0 in thousandths",
                ],
            ),
        ];
        for (name, received, expected) in rows {
            let problem = specs(0, TargetType::Value, &received).unwrap_err();
            for part in expected {
                assert!(problem.contains(part), "{name}: {problem}");
            }
        }
    }

    #[test]
    fn values_are_read_whatever_they_are_called() {
        let value = |whole, float| MetricValue {
            metric_name: "other".to_owned(),
            metric_value: whole,
            metric_value_float: float,
        };
        assert_eq!(values(&[value(7, 0.0), value(7, 1.5), value(-3, -1.0)]), Ok(vec![7.0, 1.5, -3.0]));
        assert_eq!(values(&[]), Ok(vec![]));
        for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(values(&[value(7, 0.0), value(7, float)]).unwrap_err().starts_with("metricValueFloat is"));
        }
    }

    proptest! {
        #[test]
        fn any_response_becomes_metrics_with_targets_above_zero_or_an_error(
            all in proptest::collection::vec(("[a-c/%]{0,2}", any::<i64>(), any::<f64>()), 0..4),
        ) {
            let all: Vec<ServerMetricSpec> = all.iter().map(|(name, whole, float)| spec(name, *whole, *float)).collect();
            match specs(0, TargetType::AverageValue, &all) {
                Err(problem) => prop_assert!(!problem.is_empty()),
                Ok(specs) => {
                    prop_assert_eq!(specs.len(), all.len());
                    for spec in specs {
                        let target = spec.external.unwrap().target.average_value.unwrap();
                        let target = kedge_core::quantity::Quantity::parse(&target.0).unwrap();
                        prop_assert!(target.milli_value() > 0, "{target:?}");
                    }
                }
            }
        }
    }
}
