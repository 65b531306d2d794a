//! The fields of `advanced.scalingModifiers` as types. Every error is reported.

use kedge_api::scaled_object::{FallbackBehavior, ModifierMetricType, ScaledObjectSpec, ScalingModifiers};
use kedge_api::trigger::Trigger;

use super::{Formula, FormulaError};
use crate::fallback::MetricType;
use crate::milli::Milli;
use crate::trigger_class::{ClassOf, TriggerClass};

/// The one metric that takes the place of all external ones.
#[derive(Clone, Debug)]
pub struct Composite {
    pub formula: Formula,
    /// What one replica should see of it.
    pub target: Milli,
    pub metric_type: MetricType,
    /// The object is active strictly above this.
    pub activation: f64,
}

/// What a user must change. The messages begin as KEDA's do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModifiersError {
    #[error("error ScalingModifiers.Formula is mandatory")]
    NoFormula,
    #[error("error validating formula in ScalingModifiers\nformula is given but target is empty")]
    NoTarget,
    #[error("error validating formula in ScalingModifiers\n{0}")]
    Formula(FormulaError),
    #[error(
        "error validating target in ScalingModifiers\nerror converting target for scalingModifiers (string->float) to valid \
         target: \"{given}\" is not a number from 0.001 to 9e15"
    )]
    Target { given: String },
    #[error("scalingModifiers.ActivationTarget parsing error: \"{given}\" is not a number; 0 is the default")]
    Activation { given: String },
    #[error("scalingModifiers fallback behavior requires scalingModifiers.formula to be defined")]
    FallbackWithoutFormula,
}

/// Whether a spec uses `scalingModifiers`.
pub fn has_modifiers(spec: &ScaledObjectSpec) -> bool {
    let modifiers = spec.advanced.as_ref().and_then(|advanced| advanced.scaling_modifiers.as_ref());
    modifiers.is_some_and(is_used)
}

/// The composite metric of a spec, if it has one. [`validate`](crate::validate) checks that names are unique.
pub fn parse(spec: &ScaledObjectSpec, class_of: ClassOf) -> Result<Option<Composite>, Vec<ModifiersError>> {
    let modifiers = spec.advanced.as_ref().and_then(|advanced| advanced.scaling_modifiers.as_ref());
    let formula = modifiers.and_then(|modifiers| given(&modifiers.formula));
    let mut errors = Vec::new();
    let behavior = spec.fallback.as_ref().and_then(|fallback| fallback.behavior);
    if behavior == Some(FallbackBehavior::ScalingModifiers) && formula.is_none() {
        errors.push(ModifiersError::FallbackWithoutFormula);
    }
    let Some(modifiers) = modifiers.filter(|modifiers| is_used(modifiers)) else {
        return if errors.is_empty() { Ok(None) } else { Err(errors) };
    };
    let formula = parse_formula(formula, &names(spec, class_of)).map_err(|error| errors.push(error)).ok();
    let target = parse_target(modifiers).map_err(|error| errors.extend(error)).ok();
    let activation = parse_activation(modifiers).map_err(|error| errors.push(error)).ok();
    match (formula, target, activation) {
        (Some(formula), Some(target), Some(activation)) if errors.is_empty() => {
            Ok(Some(Composite { formula, target, metric_type: metric_type(modifiers), activation }))
        }
        _ => Err(errors),
    }
}

/// KEDA: modifiers are used as soon as any of their fields is given.
pub fn is_used(modifiers: &ScalingModifiers) -> bool {
    let texts = [&modifiers.formula, &modifiers.target, &modifiers.activation_target];
    modifiers.metric_type.is_some() || texts.into_iter().any(|text| given(text).is_some())
}

/// KEDA: the names of all triggers but those of cpu and memory, whose values only the HPA controller measures.
fn names(spec: &ScaledObjectSpec, class_of: ClassOf) -> Vec<&str> {
    let is_resource = |trigger: &Trigger| class_of(&trigger.r#type).and_then(TriggerClass::resource).is_some();
    let triggers = spec.triggers.iter().filter(|trigger| !is_resource(trigger));
    triggers.filter_map(|trigger| given(&trigger.name)).collect()
}

/// An empty text is as good as none.
fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

fn parse_formula(text: Option<&str>, names: &[&str]) -> Result<Formula, ModifiersError> {
    Formula::compile(text.ok_or(ModifiersError::NoFormula)?, names).map_err(ModifiersError::Formula)
}

/// `None` where the formula is missing as well, which is the error to report.
fn parse_target(modifiers: &ScalingModifiers) -> Result<Milli, Option<ModifiersError>> {
    let Some(text) = given(&modifiers.target) else {
        return Err(given(&modifiers.formula).map(|_| ModifiersError::NoTarget));
    };
    // KEDA: cut off after three decimals. A target of nothing would then be rejected by the API server, so it is invalid here.
    let milli = text.parse::<f64>().ok().map(|target| target * 1000.0);
    match milli {
        Some(milli) if (1.0..=i64::MAX as f64).contains(&milli) => Ok(Milli(milli as i64)),
        _ => Err(Some(ModifiersError::Target { given: text.to_owned() })),
    }
}

fn parse_activation(modifiers: &ScalingModifiers) -> Result<f64, ModifiersError> {
    let Some(text) = given(&modifiers.activation_target) else { return Ok(0.0) };
    let activation = text.parse::<f64>().ok().filter(|activation| activation.is_finite());
    activation.ok_or_else(|| ModifiersError::Activation { given: text.to_owned() })
}

fn metric_type(modifiers: &ScalingModifiers) -> MetricType {
    match modifiers.metric_type {
        None | Some(ModifierMetricType::AverageValue) => MetricType::AverageValue,
        Some(ModifierMetricType::Value) => MetricType::Value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::trigger_class::sample_class_of;

    fn spec(modifiers: Value, fallback: Option<&str>) -> ScaledObjectSpec {
        serde_json::from_value(json!({
            "scaleTargetRef": { "name": "web" },
            "fallback": fallback.map(|behavior| json!({ "failureThreshold": 1, "replicas": 1, "behavior": behavior })),
            "advanced": { "scalingModifiers": modifiers },
            "triggers": [
                { "type": "prometheus", "name": "a", "metadata": {} },
                { "type": "cron", "name": "b-b", "metadata": {} },
                { "type": "prometheus", "metadata": {} },
                { "type": "cpu", "name": "c", "metadata": {} },
            ],
        }))
        .unwrap()
    }

    #[test]
    fn modifiers_become_a_composite_metric() {
        let rows = [
            ("only what is needed", json!({ "formula": "a", "target": "2.5" }), 2500, MetricType::AverageValue, 0.0),
            (
                "everything",
                json!({ "formula": "a", "target": "1e3", "activationTarget": "-1.5", "metricType": "Value" }),
                1_000_000,
                MetricType::Value,
                -1.5,
            ),
            ("cut off, as KEDA does", json!({ "formula": "a", "target": "0.0019" }), 1, MetricType::AverageValue, 0.0),
        ];
        for (name, modifiers, target, metric_type, activation) in rows {
            let composite = parse(&spec(modifiers, None), sample_class_of).unwrap().unwrap();
            let found = (composite.target, composite.metric_type, composite.activation);
            assert_eq!(found, (Milli(target), metric_type, activation), "{name}");
        }
    }

    #[test]
    fn without_modifiers_there_is_no_composite_metric() {
        for modifiers in [json!(null), json!({}), json!({ "formula": "", "target": "" })] {
            assert!(parse(&spec(modifiers, Some("static")), sample_class_of).unwrap().is_none());
        }
    }

    #[test]
    fn every_error_is_reported_at_once() {
        let no_formula = "error ScalingModifiers.Formula is mandatory";
        let rows = [
            (json!({ "target": "2" }), None, vec![no_formula]),
            (json!({ "activationTarget": "1" }), None, vec![no_formula]),
            (json!({ "metricType": "Value" }), None, vec![no_formula]),
            (
                json!({ "target": "x", "activationTarget": "y" }),
                None,
                vec![no_formula, "\"x\" is not a number", "\"y\" is not a number"],
            ),
            (
                json!({ "formula": "a" }),
                None,
                vec!["error validating formula in ScalingModifiers\nformula is given but target is empty"],
            ),
            (
                json!({ "formula": "a + absent", "target": "0" }),
                None,
                vec![
                    "error validating formula in ScalingModifiers\nformula `a + absent`: unknown name `absent`",
                    "\"0\"",
                ],
            ),
            (
                json!({ "formula": "c", "target": "1" }),
                None,
                vec!["the named triggers are `a`, `b-b` (cpu and memory do not count)"],
            ),
            (json!({ "formula": "a", "target": "0.0009" }), None, vec!["\"0.0009\""]),
            (json!({ "formula": "a", "target": "NaN" }), None, vec!["\"NaN\""]),
            (json!({ "formula": "a", "target": "inf" }), None, vec!["\"inf\""]),
            (json!({}), Some("scalingModifiers"), vec!["requires scalingModifiers.formula"]),
        ];
        for (modifiers, fallback, expected) in rows {
            let errors = parse(&spec(modifiers.clone(), fallback), sample_class_of).unwrap_err();
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts.len(), expected.len(), "{modifiers}: {texts:?}");
            for (text, part) in texts.iter().zip(expected) {
                assert!(text.contains(part), "{modifiers}: {text}");
            }
        }
    }
}
