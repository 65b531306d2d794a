//! DELETE of all objects that are selected. The answer is the list of them.

use crate::answer::{Answer, Content};
use crate::call::{AsOf, Call, Verb};
use crate::error::ApiError;
use crate::meta;
use crate::verbs::{Ask, delete, list};

/// What says which objects are meant, rather than how they are deleted.
const SELECTING: [&str; 6] =
    ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch"];

pub(crate) async fn answer(ask: &Ask<'_>) -> Result<Answer, ApiError> {
    if ask.resource.is("", "namespaces") {
        return Err(ApiError::method_not_allowed());
    }
    let chosen = list::answer(ask, AsOf::default()).await?;
    let Content::List(list) = &chosen.content else { return Ok(chosen) };
    for object in &list.items {
        let params = ask.call.params.iter().filter(|(key, _)| !SELECTING.contains(&key.as_str())).cloned().collect();
        let name = Some(meta::name(object).to_owned());
        let call = Call { verb: Verb::Delete, name, params, ..ask.call.clone() };
        match delete::answer(&Ask { call: &call, ..*ask }).await {
            Err(refusal) if refusal.code != 404 => return Err(refusal),
            _ => {}
        }
    }
    Ok(chosen)
}
