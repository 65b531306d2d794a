//! PUT of an object or of a subresource.

use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::request::AsOf;
use crate::api::response::ApiResponse;
use crate::plane::RequestContext;
use crate::registry::rewrite::{self, UidRule};
use crate::registry::strategy::Part;
use crate::registry::{create, get};

pub(crate) async fn handle(context: &RequestContext<'_>, part: Part) -> Result<ApiResponse, ApiError> {
    let body = context.call.body.as_ref().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    if part == Part::Main
        && context.resource.put.creates
        && get::find(&context.plane.state(), context, AsOf::default()).is_err()
    {
        rewrite::check_name(context, body)?;
        let mut object = body.clone();
        meta::metadata_mut(&mut object).remove("resourceVersion");
        return Ok(ApiResponse::created(create::create(context, object).await?));
    }
    Ok(ApiResponse::object(rewrite::rewrite(context, part, UidRule::Precondition, |_| Ok(body.clone())).await?))
}
