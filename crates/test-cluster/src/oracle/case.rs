//! A trigger with what it refers to, and KEDA's answer to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A trigger, as it is given to a scaler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub r#type: String,
    pub metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub auth: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pod_identity: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric_type: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub trigger_index: usize,
    /// Whether only a formula reads it.
    #[serde(skip_serializing_if = "is_false")]
    pub as_metric_source: bool,
    /// What the cluster has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<Object>,
    /// How many readings are taken; the last one counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub reads: usize,
}

/// A ConfigMap or a Secret, with its data as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    pub kind: String,
    pub name: String,
    pub data: BTreeMap<String, String>,
}

/// What KEDA's scaler answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Answer {
    #[serde(skip_serializing)]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub build_error: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
}

/// A reading: values as quantities, or an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reading {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub active: bool,
}

/// A line of a golden file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    pub case: Case,
    pub keda: Answer,
}

impl Case {
    /// A trigger without parameters, named after its type.
    pub fn new(trigger_type: &str) -> Self {
        Self { name: trigger_type.to_owned(), r#type: trigger_type.to_owned(), ..Self::default() }
    }

    /// The same with something behind its name.
    #[must_use]
    pub fn named(mut self, more: impl AsRef<str>) -> Self {
        self.name = format!("{} {}", self.name, more.as_ref());
        self
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.metadata.insert(name.to_owned(), value.to_owned());
        self
    }

    #[must_use]
    pub fn with_all(self, parameters: &[(&str, &str)]) -> Self {
        parameters.iter().fold(self, |case, (name, value)| case.with(name, value))
    }

    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.metadata.remove(name);
        self.auth.remove(name);
        self
    }

    #[must_use]
    pub fn auth(mut self, name: &str, value: &str) -> Self {
        self.auth.insert(name.to_owned(), value.to_owned());
        self
    }

    #[must_use]
    pub fn auth_all(self, parameters: &[(&str, &str)]) -> Self {
        parameters.iter().fold(self, |case, (name, value)| case.auth(name, value))
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    #[must_use]
    pub fn pod_identity(mut self, provider: &str) -> Self {
        self.pod_identity = provider.to_owned();
        self
    }

    #[must_use]
    pub fn metric_type(mut self, metric_type: &str) -> Self {
        self.metric_type = metric_type.to_owned();
        self
    }

    #[must_use]
    pub fn object(mut self, kind: &str, name: &str, data: &[(&str, &str)]) -> Self {
        let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        self.objects.push(Object { kind: kind.to_owned(), name: name.to_owned(), data });
        self
    }

    /// The same, read so many times.
    #[must_use]
    pub fn read(self, reads: usize) -> Self {
        Self { reads, ..self }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}
