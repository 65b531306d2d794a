//! Label selectors: their grammar, what they match, and the API server's error messages. `parse` reads the text form,
//! [`names`] checks label keys and values.

pub mod names;
mod parse;

use std::fmt;

use serde_json::Value;

/// How to write a selector, for messages about text that is not one.
pub const REMEDY: &str = "write it as for kubectl: team=a,tier!=test,env in (x,y),!old";

/// Why a text or an object is not a label selector, in the API server's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(String);

/// Requirements that all must hold; or none where nothing matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector {
    /// Ordered by their keys.
    requirements: Option<Vec<Requirement>>,
}

/// One condition on the labels of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
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
    /// Parses the text of a `labelSelector`; an empty one matches everything.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::parse_requirements(text).map(Self::new).map_err(SelectorError)
    }

    /// Parses `{matchLabels, matchExpressions}`. An empty object matches everything, null nothing.
    pub fn from_object(selector: &Value) -> Result<Self, SelectorError> {
        if selector.is_null() {
            return Ok(Self { requirements: None });
        }
        let labels = selector["matchLabels"].as_object().into_iter().flatten();
        let labels = labels.map(|(key, value)| Requirement::new(key, Operator::Equals, vec![text(value)]));
        let expressions = selector["matchExpressions"].as_array().into_iter().flatten().map(Requirement::from_object);
        let requirements: Result<_, _> = labels.chain(expressions).collect();
        requirements.map(Self::new).map_err(SelectorError)
    }

    fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        Self { requirements: Some(requirements) }
    }

    /// Whether labels match; `label` looks one up by its key.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        let holds = |requirement: &Requirement| requirement.matches(label(&requirement.key));
        self.requirements.as_ref().is_some_and(|all| all.iter().all(holds))
    }

    /// Whether the selector has no requirements, and so matches everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    /// The requirements, ordered by their keys.
    pub fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().flatten()
    }
}

/// As Kubernetes prints it, e.g. in the status of a scale: `a=b,c in (x,y)`.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements().enumerate() {
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
    /// Checked as Kubernetes does; an error lists everything that is invalid.
    fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self, String> {
        let mut errors = Vec::new();
        let invalid_key = names::check_key(key);
        if !invalid_key.is_empty() {
            errors.push(format!("key: Invalid value: {key:?}: {}", invalid_key.join("; ")));
        }
        errors.extend(check_values(operator, &values));
        for (index, value) in values.iter().enumerate() {
            let invalid = names::check_value(value);
            if !invalid.is_empty() {
                errors.push(format!("values[{index}][{key}]: Invalid value: {value:?}: {}", invalid.join("; ")));
            }
        }
        match &errors[..] {
            [] => Ok(Self { key: key.to_owned(), operator, values }),
            [error] => Err(error.clone()),
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

    pub fn key(&self) -> &str {
        &self.key
    }

    /// The one value of `key=value`; `None` for every other operator, `==` included.
    pub fn equal_to(&self) -> Option<&str> {
        match self.operator {
            Operator::Equals => self.values.first().map(String::as_str),
            _ => None,
        }
    }

    fn matches(&self, label: Option<&str>) -> bool {
        let is_listed = || label.is_some_and(|label| self.values.iter().any(|value| value == label));
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => is_listed(),
            Operator::NotIn | Operator::NotEquals => !is_listed(),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.as_numbers(label).is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self.as_numbers(label).is_some_and(|(label, bound)| label < bound),
        }
    }

    /// The label and the value that it is compared with, if both are numbers.
    fn as_numbers(&self, label: Option<&str>) -> Option<(i64, i64)> {
        Some((label?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

/// Whether an operator has the values it needs.
fn check_values(operator: Operator, values: &[String]) -> Option<String> {
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            Some("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".to_owned())
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            let values = serde_json::json!(values);
            Some(format!("values: Invalid value: {values}: values set must be empty for exists and does not exist"))
        }
        Operator::GreaterThan | Operator::LessThan => {
            let index = values.iter().position(|value| value.parse::<i64>().is_err())?;
            let invalid = format!("values[{index}]: Invalid value: {:?}", values[index]);
            Some(format!("{invalid}: for 'Gt', 'Lt' operators, the value must be an integer"))
        }
        _ => None,
    }
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

#[cfg(test)]
mod tests;
