//! Label selectors: what they hold, what matches, and how they are written.

use std::fmt;

use kedge_schema::names;
use serde_json::Value;

use super::parse;
use crate::api::error::ApiError;

/// Requirements that must all match; none where nothing matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    /// Ordered by their keys.
    requirements: Option<Vec<Requirement>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    In,
    NotIn,
    Equals,
    DoubleEquals,
    NotEquals,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// Reads the text of a `labelSelector`; an empty one matches everything.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        parse::requirements(text).map(Self::of).map_err(|message| ApiError::new(400, "BadRequest", message))
    }

    /// Reads `{matchLabels, matchExpressions}`. An empty object matches everything, null nothing.
    pub(crate) fn from_object(selector: &Value) -> Result<Self, ApiError> {
        if selector.is_null() {
            return Ok(Self { requirements: None });
        }
        let labels = selector["matchLabels"].as_object().into_iter().flatten();
        let labels = labels.map(|(key, value)| Requirement::new(key, Operator::Equals, vec![text(value)]));
        let expressions = selector["matchExpressions"].as_array().into_iter().flatten().map(Requirement::from_object);
        let requirements: Result<_, _> = labels.chain(expressions).collect();
        requirements.map(Self::of).map_err(|message| ApiError::new(400, "BadRequest", message))
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        Self { requirements: Some(requirements) }
    }

    /// Whether the labels of an object match.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.requirements.as_ref().is_some_and(|all| all.iter().all(|requirement| requirement.matches(labels)))
    }

    /// Whether it has no requirements, and so matches everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }
}

/// As Kubernetes writes it, e.g. in the status of a scale: `a=b,c in (x,y)`.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().flatten().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Requirement {
    /// Checked as Kubernetes does.
    pub(super) fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self, String> {
        let mut errors = Vec::new();
        let keys = names::qualified_name(key);
        if !keys.is_empty() {
            errors.push(format!("key: Invalid value: {key:?}: {}", keys.join("; ")));
        }
        errors.extend(bad_values(operator, &values));
        for (index, value) in values.iter().enumerate() {
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                errors.push(format!("values[{index}][{key}]: Invalid value: {value:?}: {}", wrong.join("; ")));
            }
        }
        match &errors[..] {
            [] => Ok(Self { key: key.to_owned(), operator, values }),
            [problem] => Err(problem.clone()),
            errors => Err(format!("[{}]", errors.join(", "))),
        }
    }

    fn from_object(expression: &Value) -> Result<Self, String> {
        let operator = match expression["operator"].as_str().unwrap_or_default() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => return Err(format!("{other:?} is not a valid label selector operator")),
        };
        let values = expression["values"].as_array().into_iter().flatten().map(text).collect();
        Self::new(&text(&expression["key"]), operator, values)
    }

    fn matches(&self, labels: &Value) -> bool {
        let value = labels.get(&self.key).map(text);
        let named = || value.as_ref().is_some_and(|value| self.values.contains(value));
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => named(),
            Operator::NotIn | Operator::NotEquals => !named(),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compared(value).is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self.compared(value).is_some_and(|(label, bound)| label < bound),
        }
    }

    /// The label and what it is compared with, if both are numbers.
    fn compared(&self, value: Option<String>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

/// Whether an operator has the values it needs.
fn bad_values(operator: Operator, values: &[String]) -> Vec<String> {
    let problem = match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".to_owned()
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            let values = serde_json::json!(values);
            format!("values: Invalid value: {values}: values set must be empty for exists and does not exist")
        }
        Operator::GreaterThan | Operator::LessThan => {
            let bad = values.iter().position(|value| value.parse::<i64>().is_err());
            let Some(index) = bad else { return Vec::new() };
            let value = &values[index];
            format!("values[{index}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
        }
        _ => return Vec::new(),
    };
    vec![problem]
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let mut values = self.values.clone();
        values.sort();
        let values = values.join(",");
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}
