//! One object.

use std::sync::Arc;

use serde_json::Value;

use crate::answer::Answer;
use crate::call::AsOf;
use crate::convert;
use crate::error::ApiError;
use crate::state::State;
use crate::store::key;
use crate::verbs::{Ask, list};

pub(crate) async fn answer(ask: &Ask<'_>, as_of: AsOf) -> Result<Answer, ApiError> {
    let wanted = list::version(ask.call.param("resourceVersion"))?;
    list::wait_for(ask.plane, wanted).await?;
    let found = find(&ask.plane.state(), ask, as_of)?;
    Ok(Answer::object(convert::to_served(ask.resource, &found)))
}

/// The stored object.
pub(crate) fn find(state: &State, ask: &Ask<'_>, as_of: AsOf) -> Result<Arc<Value>, ApiError> {
    let key = key(ask.namespace(), ask.name());
    let found = match as_of.revisions_behind {
        0 => state.store.get(&ask.resource.shelf, &key).cloned(),
        behind => {
            let revision = state.store.behind(behind);
            state.store.object_at(&ask.resource.shelf, &key, revision).flatten()
        }
    };
    found.ok_or_else(|| ask.not_found())
}
