//! PATCH: changes to an object, or to one of its parts.

use crate::answer::Answer;
use crate::call::PatchKind;
use crate::error::ApiError;
use crate::http::unknown_format;
use crate::patch;
use crate::prepare::Part;
use crate::verbs::{Ask, apply};
use crate::write::{self, UidRule};

pub(crate) async fn answer(ask: &Ask<'_>, kind: PatchKind, part: Part) -> Result<Answer, ApiError> {
    let body = ask.call.body.as_ref().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    if kind == PatchKind::Apply {
        return apply::answer(ask, part, body).await;
    }
    if kind == PatchKind::StrategicMerge && ask.resource.is_custom() {
        // Custom resources have no strategy.
        return Err(unknown_format(&[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ]));
    }
    let patched =
        write::rewrite(ask, part, UidRule::Immutable, |old| patch::apply(kind, &ask.resource.gvr, old, body)).await?;
    Ok(Answer::object(patched))
}
