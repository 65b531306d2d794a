//! PUT: the whole object, or one of its parts.

use crate::answer::Answer;
use crate::call::AsOf;
use crate::error::ApiError;
use crate::meta;
use crate::prepare::Part;
use crate::verbs::{Ask, create, get};
use crate::write::{self, UidRule};

pub(crate) async fn answer(ask: &Ask<'_>, part: Part) -> Result<Answer, ApiError> {
    let body = ask.call.body.as_ref().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    if part == Part::Main && ask.resource.put.creates && get::find(&ask.plane.state(), ask, AsOf::default()).is_err() {
        write::check_name(ask, body)?;
        let mut object = body.clone();
        meta::of(&mut object).remove("resourceVersion");
        return Ok(Answer::created(create::create(ask, object).await?));
    }
    Ok(Answer::object(write::rewrite(ask, part, UidRule::Precondition, |_| Ok(body.clone())).await?))
}
