//! Label selectors over JSON objects. [`kedge_core::selector`] parses and matches; its errors become those of the API.

use std::fmt;

use kedge_core::selector::{self, SelectorError};
use serde_json::Value;

use crate::api::error::ApiError;

/// Requirements on the labels of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelSelector(selector::LabelSelector);

impl LabelSelector {
    /// Parses the text of a `labelSelector`; an empty one matches everything.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        selector::LabelSelector::parse(text).map(Self).map_err(bad_request)
    }

    /// Parses `{matchLabels, matchExpressions}`. An empty object matches everything, null nothing.
    pub(crate) fn from_object(selector: &Value) -> Result<Self, ApiError> {
        selector::LabelSelector::from_object(selector).map(Self).map_err(bad_request)
    }

    /// Whether the labels of an object match.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.0.matches(|key| labels.get(key).map(|value| value.as_str().unwrap_or_default()))
    }

    /// Whether the selector has no requirements, and so matches everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn bad_request(error: SelectorError) -> ApiError {
    ApiError::bad_request(error.to_string())
}
