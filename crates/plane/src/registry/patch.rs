//! PATCH of an object or of a subresource.

use crate::api::error::ApiError;
use crate::api::request::PatchKind;
use crate::api::response::ApiResponse;
use crate::patch;
use crate::plane::RequestContext;
use crate::registry::apply;
use crate::registry::rewrite::{self, UidRule};
use crate::registry::strategy::Part;

pub(crate) async fn handle(context: &RequestContext<'_>, kind: PatchKind, part: Part) -> Result<ApiResponse, ApiError> {
    let body = context.call.body.as_ref().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    if kind == PatchKind::Apply {
        return apply::handle(context, part, body).await;
    }
    if kind == PatchKind::StrategicMerge && context.resource.is_custom() {
        // Custom resources have no strategic merge patch.
        return Err(ApiError::unknown_format(&[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ]));
    }
    let patched =
        rewrite::rewrite(context, part, UidRule::Immutable, |old| patch::apply(kind, &context.resource.gvr, old, body))
            .await?;
    Ok(ApiResponse::object(patched))
}
