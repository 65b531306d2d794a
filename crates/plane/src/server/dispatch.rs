//! Dispatches a parsed call to the server of its API group.

use super::aggregation;
use crate::api::error::ApiError;
use crate::api::request::{AsOf, Call};
use crate::api::response::ApiResponse;
use crate::plane::{Plane, Warnings};
use crate::registry;

/// Handles everything but watches: by an aggregated API server or by the registry.
pub(crate) async fn handle(
    plane: &Plane,
    call: &Call,
    as_of: AsOf,
    warnings: &Warnings,
) -> Result<ApiResponse, ApiError> {
    if aggregation::is_remote(plane, &call.resource.group, &call.resource.version) {
        return aggregation::call(plane, call).await;
    }
    registry::handle(plane, call, as_of, warnings).await
}
