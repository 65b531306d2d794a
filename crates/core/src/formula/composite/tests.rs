//! Readings, failures and fallbacks beside the composite metric they make.

use FallbackBehavior::*;
use serde_json::json;

use super::super::settings::parse;
use super::*;

fn composite(formula: &str, target: &str, metric_type: &str) -> Composite {
    let spec = serde_json::from_value(json!({
        "scaleTargetRef": { "name": "web" },
        "advanced": { "scalingModifiers": {
            "formula": formula, "target": target, "activationTarget": "1", "metricType": metric_type,
        } },
        "triggers": [
            { "type": "prometheus", "name": "a", "metadata": {} },
            { "type": "prometheus", "name": "b", "metadata": {} },
            { "type": "prometheus", "name": "unused", "metadata": {} },
        ],
    }))
    .unwrap();
    parse(&spec, crate::trigger_class::sample_class_of).unwrap().unwrap()
}

fn readings(a: Reading, b: Reading) -> BTreeMap<String, Reading> {
    let unused = Reading::Failed(Failures(9));
    [("a", a), ("b", b), ("unused", unused)].map(|(name, reading)| (name.to_owned(), reading)).into()
}

fn active(milli: i64) -> CompositeOutcome {
    CompositeOutcome::Value { milli: Milli(milli), activity: Activity::Active }
}

fn inactive(milli: i64) -> CompositeOutcome {
    CompositeOutcome::Value { milli: Milli(milli), activity: Activity::Inactive }
}

#[test]
fn values_are_active_strictly_above_the_activation_target() {
    let rows = [
        ("above", "a + b", 4.0, 3.0, active(7000), 7000),
        ("at it", "a", 1.0, 0.0, inactive(1000), 1000),
        ("above it by less than a thousandth", "a + 0.0001", 1.0, 0.0, inactive(1000), 1000),
        ("cut off, not rounded", "a / 3", 5.0, 0.0, active(1666), 1666),
        ("below zero is served as nothing", "a - b", 1.0, 3.5, inactive(-2500), 0),
        ("more than all", "a / b", 1.0, 0.0, active(i64::MAX), i64::MAX),
        ("less than nothing", "-a / b", 1.0, 0.0, inactive(i64::MIN), 0),
    ];
    for (name, formula, a, b, expected, served) in rows {
        let composite = composite(formula, "4", "AverageValue");
        let found = composite.evaluate(&readings(Reading::Value(a), Reading::Value(b)), Surroundings::default());
        assert_eq!(found, expected, "{name}");
        assert_eq!(found.served(), Some(Milli(served)), "{name}");
    }
}

#[test]
fn fallbacks_follow_their_behavior() {
    let few = Reading::Failed(Failures(3));
    let many = Reading::Failed(Failures(4));
    let value = Reading::Value;
    let fallen = |milli, replicas| CompositeOutcome::FallenBack { milli: Milli(milli), replicas };
    let rows = [
        // name                                    formula    behavior                 a           b     expected
        ("static: the target times the replicas", "a + b", Static, value(8.0), many, fallen(12_000, 3)),
        ("whatever the others return", "a + b", Static, few, many, fallen(12_000, 3)),
        ("current replicas", "a + b", CurrentReplicas, value(8.0), many, fallen(20_000, 5)),
        ("the higher", "a + b", CurrentReplicasIfHigher, value(8.0), many, fallen(20_000, 5)),
        ("the lower", "a + b", CurrentReplicasIfLower, value(8.0), many, fallen(12_000, 3)),
        ("by the formula, which has another", "a ?? b", ScalingModifiers, many, value(6.0), active(6_000)),
        ("by the formula, which needs no help", "a ?? b", ScalingModifiers, value(2.0), many, active(2_000)),
        ("by the formula, which has none", "a ?? b", ScalingModifiers, many, many, fallen(12_000, 3)),
        ("by the formula, alone", "a", ScalingModifiers, many, many, fallen(12_000, 3)),
        ("a trigger that the formula does not mention", "a", Static, value(2.0), many, active(2_000)),
        ("nil by design", "a > 5 ? a : nil ?? nil", Static, value(2.0), value(2.0), fallen(12_000, 3)),
    ];
    for (name, formula, behavior, a, b, expected) in rows {
        let fallback = Fallback { failure_threshold: 3, replicas: 3, behavior: Some(behavior) };
        let around = Surroundings { fallback: Some(&fallback), current_replicas: Some(5), ready_pods: None };
        let found = composite(formula, "4", "AverageValue").evaluate(&readings(a, b), around);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn fallbacks_know_fractions_and_ready_pods() {
    let fallback = Fallback { failure_threshold: 0, replicas: 6, behavior: None };
    let readings = readings(Reading::Failed(Failures(1)), Reading::Value(1.0));
    let rows = [
        ("half a target each", "0.5", "AverageValue", None, Some(3_000)),
        ("the HPA multiplies by 4 ready pods", "2", "Value", Some(4), Some(3_000)),
        ("they are not known", "2", "Value", None, None),
    ];
    for (name, target, metric_type, ready_pods, served) in rows {
        let around = Surroundings { fallback: Some(&fallback), current_replicas: None, ready_pods };
        let found = composite("a", target, metric_type).evaluate(&readings, around);
        assert_eq!(found.served(), served.map(Milli), "{name}");
    }
}

#[test]
fn an_unknown_composite_metric_has_its_reason() {
    let failed = |count| Reading::Failed(Failures(count));
    let usable = Fallback { failure_threshold: 3, replicas: 3, behavior: Some(ScalingModifiers) };
    let current = Fallback { behavior: Some(CurrentReplicas), ..usable.clone() };
    let broken = Fallback { replicas: -1, ..usable.clone() };
    let rows = [
        ("no fallback", "a + b", failed(99), failed(99), None, "no answer from a, b"),
        ("not yet", "a ?? b", failed(3), Reading::Value(1.0), Some(&usable), "no answer from a"),
        ("a fallback that cannot be used", "a ?? b", failed(9), failed(9), Some(&broken), "no answer from a, b"),
        ("replicas that cannot be read", "a", failed(9), failed(9), Some(&current), "needs the current replicas"),
        ("NaN", "a / b", Reading::Value(0.0), Reading::Value(0.0), Some(&usable), "gives NaN"),
        ("nil", "a > 1 ? a : nil", Reading::Value(0.0), failed(9), None, "gives nil"),
        ("nil in a sum", "a + b", failed(4), Reading::Value(1.0), Some(&usable), "`+` between nil and a float"),
    ];
    for (name, formula, a, b, fallback, part) in rows {
        let around = Surroundings { fallback, ..Surroundings::default() };
        let found = composite(formula, "4", "AverageValue").evaluate(&readings(a, b), around);
        let CompositeOutcome::Unknown(why) = &found else { panic!("{name}: {found:?}") };
        assert!(why.to_string().contains(part), "{name}: {why}");
        assert_eq!((found.served(), found.contribution()), (None, Contribution::Unknown), "{name}");
    }
    let found = composite("a + b", "4", "AverageValue").evaluate(&BTreeMap::new(), Surroundings::default());
    assert_eq!(found, CompositeOutcome::Unknown(Unknown::NoAnswer { triggers: vec!["a".to_owned(), "b".to_owned()] }));
}

#[test]
fn readings_count_as_they_would_be_published() {
    let rows: [(&str, &[f64], Reading); 6] = [
        ("as it is", &[2.5], Reading::Value(2.5)),
        ("three decimals", &[0.12345], Reading::Value(0.123)),
        ("the last of several", &[1.0, 7.0], Reading::Value(7.0)),
        ("not below zero", &[-3.0], Reading::Value(0.0)),
        ("NaN", &[f64::NAN], Reading::Value(0.0)),
        ("none is a failure", &[], Reading::Failed(Failures(2))),
    ];
    for (name, values, expected) in rows {
        assert_eq!(Reading::from_values(values, Failures(2)), expected, "{name}");
    }
}
