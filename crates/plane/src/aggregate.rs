//! API services.

use chrono::{DateTime, Utc};

use crate::answer::Answer;
use crate::call::Call;
use crate::error::ApiError;
use crate::plane::Plane;
use crate::state::State;
use crate::store::Change;

pub(crate) fn is_remote(_plane: &Plane, _group: &str, _version: &str) -> bool {
    false
}

pub(crate) async fn call(_plane: &Plane, _call: &Call) -> Result<Answer, ApiError> {
    Err(ApiError::unknown_path())
}

pub(crate) fn follow(_state: &mut State, _change: &Change, _now: DateTime<Utc>) {}

pub(crate) fn group_versions(_plane: &Plane) -> Vec<(String, String)> {
    Vec::new()
}

pub(crate) async fn resource_list(_plane: &Plane, _group: &str, _version: &str) -> Option<serde_json::Value> {
    None
}

pub(crate) async fn forward(
    _plane: &Plane,
    _user: &str,
    _request: http::Request<kube::client::Body>,
) -> http::Response<crate::http::AnswerBody> {
    crate::http::refused(&ApiError::unknown_path())
}
