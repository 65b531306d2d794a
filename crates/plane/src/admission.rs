//! Validating webhooks: which are asked about a write, and what their answers mean. Namespaces and objects are selected by
//! labels; `matchConditions` are not looked at.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::convert;
use crate::error::ApiError;
use crate::labels;
use crate::meta;
use crate::namespace;
use crate::resource::{GroupResource, Resource};
use crate::selector::LabelSelector;
use crate::state::State;
use crate::subresource::scale;
use crate::verbs::Ask;

mod call;
mod rule;

/// What is about to happen to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A webhook that is asked, and the question.
struct Asked {
    webhook: Value,
    uid: String,
    review: Value,
}

/// Asks all webhooks that want to be asked; the first refusal counts. Both objects are as they are stored.
pub(crate) async fn review(
    ask: &Ask<'_>,
    operation: Operation,
    new: Option<&Value>,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    let asked = asked(ask, operation, new, old)?;
    let answers = join_all(asked.iter().map(|asked| call::ask(ask.plane, asked, ask.call.is_dry_run()))).await;
    answers.into_iter().collect()
}

fn shelf() -> GroupResource {
    GroupResource::new("admissionregistration.k8s.io", "validatingwebhookconfigurations")
}

fn asked(
    ask: &Ask<'_>,
    operation: Operation,
    new: Option<&Value>,
    old: Option<&Value>,
) -> Result<Vec<Asked>, ApiError> {
    let mut state = ask.plane.state();
    if ask.resource.shelf == shelf() || state.store.shelf(&shelf()).is_empty() {
        return Ok(Vec::new());
    }
    let configurations: Vec<_> = state.store.shelf(&shelf()).values().cloned().collect();
    let mut asked = Vec::new();
    for webhook in
        configurations.iter().flat_map(|configuration| configuration["webhooks"].as_array().into_iter().flatten())
    {
        if !is_selected(&state, ask, webhook, new, old)? {
            continue;
        }
        if let Some(resource) = rule::matched(&state, ask, webhook, operation) {
            let uid = state.next_uid();
            let review = question(ask, &resource, operation, &uid, new, old);
            asked.push(Asked { webhook: webhook.clone(), uid, review });
        }
    }
    Ok(asked)
}

fn is_selected(
    state: &State,
    ask: &Ask<'_>,
    webhook: &Value,
    new: Option<&Value>,
    old: Option<&Value>,
) -> Result<bool, ApiError> {
    let namespace = match ask.resource.is("", "namespaces") {
        true => new.or(old).cloned(),
        false => {
            ask.namespace().and_then(|name| state.store.get(&namespace::shelf(), name)).map(|found| Value::clone(found))
        }
    };
    let by_namespace = match namespace {
        Some(namespace) => matches(&webhook["namespaceSelector"], &[&namespace])?,
        None => true,
    };
    let objects: Vec<&Value> = new.into_iter().chain(old).collect();
    Ok(by_namespace && matches(&webhook["objectSelector"], &objects)?)
}

/// Whether a selector selects one of the objects. None selects everything.
fn matches(selector: &Value, objects: &[&Value]) -> Result<bool, ApiError> {
    let text = labels::text(selector);
    if text.is_empty() {
        return Ok(true);
    }
    let selector = LabelSelector::parse(&text)?;
    Ok(objects.iter().any(|object| selector.matches(object)))
}

fn question(
    ask: &Ask<'_>,
    resource: &Resource,
    operation: Operation,
    uid: &str,
    new: Option<&Value>,
    old: Option<&Value>,
) -> Value {
    let named = new.or(old).map_or_else(|| ask.name(), meta::name);
    let mut request = json!({
        "uid": uid,
        "kind": kind(ask, resource), "resource": plural(resource),
        "requestKind": kind(ask, ask.resource), "requestResource": plural(ask.resource),
        "name": named,
        "operation": operation.name(),
        "userInfo": call::user(&ask.call.user),
        "object": new.map(|object| shown(ask, resource, object)),
        "oldObject": old.map(|object| shown(ask, resource, object)),
        "dryRun": ask.call.is_dry_run(),
        "options": options(ask, operation),
    });
    let namespace = if ask.resource.is("", "namespaces") { Some(named) } else { ask.namespace() };
    let optional = [
        ("namespace", namespace),
        ("subResource", ask.call.subresource.as_deref()),
        ("requestSubResource", ask.call.subresource.as_deref()),
    ];
    for (field, text) in optional.into_iter().filter_map(|(field, text)| Some((field, text?))) {
        request[field] = json!(text);
    }
    json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request })
}

/// An object as the webhook's rule has it.
fn shown(ask: &Ask<'_>, resource: &Resource, object: &Value) -> Value {
    let served = convert::to_served(resource, &std::sync::Arc::new(object.clone()));
    match (&resource.scale, ask.call.subresource.as_deref()) {
        (Some(paths), Some("scale")) => scale::scale(paths, &served),
        _ => Value::clone(&served),
    }
}

fn kind(ask: &Ask<'_>, resource: &Resource) -> Value {
    match ask.call.subresource.as_deref() {
        Some("scale") => json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" }),
        _ => json!({ "group": resource.gvr.group, "version": resource.gvr.version, "kind": resource.kind }),
    }
}

fn plural(resource: &Resource) -> Value {
    json!({ "group": resource.gvr.group, "version": resource.gvr.version, "resource": resource.gvr.plural })
}

fn options(ask: &Ask<'_>, operation: Operation) -> Value {
    let kind = match (operation, ask.call.verb) {
        (Operation::Delete, _) => "DeleteOptions",
        (_, crate::Verb::Patch(_)) => "PatchOptions",
        (Operation::Create, _) => "CreateOptions",
        (Operation::Update, _) => "UpdateOptions",
    };
    let mut options = json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" });
    for field in ["fieldManager", "fieldValidation"] {
        if let Some(text) = ask.call.param(field) {
            options[field] = json!(text);
        }
    }
    if ask.call.is_dry_run() {
        options["dryRun"] = json!(["All"]);
    }
    options
}
