//! DELETE of a collection. Returns the list of the deleted objects.

use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::request::{AsOf, Call, Verb};
use crate::api::response::{ApiResponse, Content};
use crate::plane::RequestContext;
use crate::registry::{delete, list};

/// Parameters that select objects, as opposed to options of the deletion.
const SELECTING: [&str; 6] =
    ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch"];

pub(crate) async fn handle(context: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    if context.resource.is("", "namespaces") {
        return Err(ApiError::method_not_allowed());
    }
    let chosen = list::handle(context, AsOf::default()).await?;
    let Content::List(list) = &chosen.content else { return Ok(chosen) };
    for object in &list.items {
        let params =
            context.call.params.iter().filter(|(key, _)| !SELECTING.contains(&key.as_str())).cloned().collect();
        let name = Some(meta::name(object).to_owned());
        let call = Call { verb: Verb::Delete, name, params, ..context.call.clone() };
        match delete::handle(&RequestContext { call: &call, ..*context }).await {
            Err(error) if error.code != 404 => return Err(error),
            _ => {}
        }
    }
    Ok(chosen)
}
