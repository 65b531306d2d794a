//! To be written.

use serde_json::Value;

use crate::error::ApiError;
use crate::resource::Gvr;

#[derive(Clone, Debug)]
pub struct LabelSelector(Vec<(String, String)>);

impl LabelSelector {
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        Ok(Self(pairs(text)))
    }
    pub fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|(k, v)| object["metadata"]["labels"][k] == v.as_str())
    }
}

#[derive(Clone, Debug)]
pub struct FieldSelector(Vec<(String, String)>);

impl FieldSelector {
    pub fn parse(text: &str, _resource: &Gvr) -> Result<Self, ApiError> {
        Ok(Self(pairs(text)))
    }
    pub fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|(k, v)| {
            object.pointer(&format!("/{}", k.replace('.', "/"))).and_then(Value::as_str).unwrap_or("") == v
        })
    }
}

fn pairs(text: &str) -> Vec<(String, String)> {
    text.split(',')
        .filter_map(|p| p.split_once('='))
        .map(|(k, v)| (k.to_owned(), v.trim_start_matches('=').to_owned()))
        .collect()
}
