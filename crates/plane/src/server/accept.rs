//! Content negotiation by the `Accept` header.

use serde_json::json;

use crate::api::error::ApiError;
use crate::api::response::Projection;

/// The first of the accepted types that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Json,
    /// `as=PartialObjectMetadata` and its list.
    Metadata,
    /// `as=Table`.
    Table,
    /// `as=APIGroupDiscoveryList`, in `v2`.
    AggregatedDiscovery,
}

/// Whether the API server writes this at all, in whatever form.
fn is_written(entry: &str) -> bool {
    const WRITTEN: [&str; 5] =
        ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/*", "*/*"];
    WRITTEN.contains(&entry.split(';').next().unwrap_or("").trim())
}

impl Wants {
    pub(crate) fn parse(accept: &str) -> Result<Self, ApiError> {
        if accept.trim().is_empty() {
            return Ok(Self::Json);
        }
        accept.split(',').find_map(Self::one).ok_or_else(|| {
            if !accept.split(',').any(is_written) {
                let message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
                return ApiError { details: Some(json!({})), ..ApiError::new(406, "NotAcceptable", message) };
            }
            let message = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
            ApiError::new(406, "NotAcceptable", message)
        })
    }

    fn one(entry: &str) -> Option<Self> {
        let mut parts = entry.split(';').map(str::trim);
        if !matches!(parts.next()?, "application/json" | "application/*" | "*/*") {
            return None;
        }
        let params: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
        let param = |name: &str| params.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| *value);
        match (param("as"), param("g"), param("v")) {
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => Some(Self::Metadata),
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Some(Self::AggregatedDiscovery),
            ("Table", "meta.k8s.io", "v1") => Some(Self::Table),
            ("", ..) => Some(Self::Json),
            _ => None,
        }
    }

    pub(crate) fn projection(self) -> Projection {
        if self == Self::Metadata { Projection::Metadata } else { Projection::Full }
    }
}
