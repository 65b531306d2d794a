//! From a call to the verb that answers it.

use std::sync::{Arc, Mutex};

use crate::aggregate;
use crate::answer::Answer;
use crate::call::{AsOf, Call, Verb};
use crate::error::ApiError;
use crate::plane::Plane;
use crate::prepare::Part;
use crate::resource::{Kept, Resource};
use crate::review;
use crate::subresource::{binding, scale, token};

pub(crate) mod apply;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod delete_collection;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod update;
pub(crate) mod watch;
pub(crate) mod write_options;

/// What the caller is warned of, each thing once.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    pub(crate) fn add(&self, text: String) {
        let mut texts = self.0.lock().expect("nobody panics while holding it");
        if !texts.contains(&text) {
            texts.push(text);
        }
    }

    pub(crate) fn into_texts(self) -> Vec<String> {
        self.0.into_inner().expect("nobody panics while holding it")
    }
}

/// One call to one resource, both known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) plane: &'a Plane,
    pub(crate) call: &'a Call,
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) warnings: &'a Warnings,
}

impl<'a> Ask<'a> {
    /// The namespace, if the resource has them.
    pub(crate) fn namespace(&self) -> Option<&'a str> {
        self.call.namespace.as_deref().filter(|_| self.resource.is_namespaced())
    }

    /// The name in the path.
    pub(crate) fn name(&self) -> &'a str {
        self.call.name.as_deref().unwrap_or("")
    }

    pub(crate) fn not_found(&self) -> ApiError {
        ApiError::not_found(&self.resource.group_resource(), self.name())
    }
}

/// Answers everything but watches.
pub(crate) async fn answer(plane: &Plane, call: &Call, as_of: AsOf, warnings: &Warnings) -> Result<Answer, ApiError> {
    if aggregate::is_remote(plane, &call.resource.group, &call.resource.version) {
        return aggregate::call(plane, call).await;
    }
    let resource = plane.state().resource(&call.resource).ok_or_else(ApiError::unknown_path)?;
    let ask = Ask { plane, call, resource: &resource, warnings };
    check_scope(&resource, call.namespace.as_deref(), call.verb)?;
    write_options::check(call)?;
    match call.subresource.as_deref() {
        None if resource.kept == Kept::Asked => review::answer(&ask),
        None => whole(&ask, as_of).await,
        Some("status") if resource.has_status => part(&ask, Part::Status, as_of).await,
        Some("finalize") if resource.is("", "namespaces") => part(&ask, Part::Finalize, as_of).await,
        Some("scale") if resource.scale.is_some() => scale::answer(&ask, as_of).await,
        Some("binding") if resource.is("", "pods") => binding::answer(&ask),
        Some("token") if resource.is("", "serviceaccounts") => token::answer(&ask),
        Some(_) if resource.is_custom() => Err(ask.not_found()),
        Some(_) => Err(ApiError::unknown_path()),
    }
}

/// Objects that live in namespaces are written in one; lists may go over all.
pub(crate) fn check_scope(resource: &Resource, namespace: Option<&str>, verb: Verb) -> Result<(), ApiError> {
    let across = resource.is_namespaced() && namespace.is_none();
    match across && !matches!(verb, Verb::List | Verb::Watch) {
        true => Err(ApiError::method_not_allowed()),
        false => Ok(()),
    }
}

async fn whole(ask: &Ask<'_>, as_of: AsOf) -> Result<Answer, ApiError> {
    match ask.call.verb {
        Verb::Get => get::answer(ask, as_of).await,
        Verb::List | Verb::Watch => list::answer(ask, as_of).await,
        Verb::Create => create::answer(ask).await,
        Verb::Update => update::answer(ask, Part::Main).await,
        Verb::Patch(kind) => patch::answer(ask, kind, Part::Main).await,
        Verb::Delete => delete::answer(ask).await,
        Verb::DeleteCollection => delete_collection::answer(ask).await,
    }
}

async fn part(ask: &Ask<'_>, part: Part, as_of: AsOf) -> Result<Answer, ApiError> {
    match ask.call.verb {
        Verb::Get if part == Part::Status => get::answer(ask, as_of).await,
        Verb::Update => update::answer(ask, part).await,
        Verb::Patch(kind) if part == Part::Status => patch::answer(ask, kind, part).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}
