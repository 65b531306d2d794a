//! One object.

use std::sync::Arc;

use serde_json::Value;

use crate::api::error::ApiError;
use crate::api::request::AsOf;
use crate::api::response::ApiResponse;
use crate::apiextensions::conversion;
use crate::plane::RequestContext;
use crate::registry::list;
use crate::storage::state::State;
use crate::storage::store::key;

pub(crate) async fn handle(context: &RequestContext<'_>, as_of: AsOf) -> Result<ApiResponse, ApiError> {
    let wanted = list::version(context.call.param("resourceVersion"))?;
    list::wait_for(context.plane, wanted).await?;
    let found = find(&context.plane.state(), context, as_of)?;
    Ok(ApiResponse::object(conversion::to_served(context.resource, &found)))
}

/// The stored object.
pub(crate) fn find(state: &State, context: &RequestContext<'_>, as_of: AsOf) -> Result<Arc<Value>, ApiError> {
    let key = key(context.namespace(), context.name());
    let found = match as_of.revisions_behind {
        0 => state.store.get(&context.resource.collection, &key).cloned(),
        behind => {
            let revision = state.store.behind(behind);
            state.store.object_at(&context.resource.collection, &key, revision).flatten()
        }
    };
    found.ok_or_else(|| context.not_found())
}
