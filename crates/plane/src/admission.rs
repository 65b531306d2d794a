//! Validating webhooks: which are called for a write, and what their responses mean. Namespaces and objects are selected by
//! labels; `matchConditions` are ignored.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::api::error::ApiError;
use crate::api::resource::{GroupResource, Resource};
use crate::api::selector::LabelSelector;
use crate::api::{labels, meta};
use crate::apiextensions::conversion;
use crate::builtin::{namespace, scale};
use crate::plane::RequestContext;
use crate::storage::state::State;

mod call;
pub(crate) mod namespace_lifecycle;
mod rule;

/// The operation of an admission request.
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

/// A webhook, and the review that it gets.
struct WebhookCall {
    webhook: Value,
    uid: String,
    review: Value,
}

/// Calls all webhooks that match; the first denial counts. Both objects are in the stored version.
pub(crate) async fn review(
    context: &RequestContext<'_>,
    operation: Operation,
    new: Option<&Value>,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    let webhook_calls = webhook_calls(context, operation, new, old)?;
    let answers = join_all(
        webhook_calls
            .iter()
            .map(|webhook_call| call::call_webhook(context.plane, webhook_call, context.call.is_dry_run())),
    )
    .await;
    answers.into_iter().collect()
}

fn collection() -> GroupResource {
    GroupResource::new("admissionregistration.k8s.io", "validatingwebhookconfigurations")
}

fn webhook_calls(
    context: &RequestContext<'_>,
    operation: Operation,
    new: Option<&Value>,
    old: Option<&Value>,
) -> Result<Vec<WebhookCall>, ApiError> {
    let mut state = context.plane.state();
    if context.resource.collection == collection() || state.store.collection(&collection()).is_empty() {
        return Ok(Vec::new());
    }
    let configurations: Vec<_> = state.store.collection(&collection()).values().cloned().collect();
    let mut webhook_calls = Vec::new();
    for webhook in
        configurations.iter().flat_map(|configuration| configuration["webhooks"].as_array().into_iter().flatten())
    {
        if !is_selected(&state, context, webhook, new, old)? {
            continue;
        }
        if let Some(resource) = rule::matched(&state, context, webhook, operation) {
            let uid = state.next_uid();
            let review = render_review(context, &resource, operation, &uid, new, old);
            webhook_calls.push(WebhookCall { webhook: webhook.clone(), uid, review });
        }
    }
    Ok(webhook_calls)
}

fn is_selected(
    state: &State,
    context: &RequestContext<'_>,
    webhook: &Value,
    new: Option<&Value>,
    old: Option<&Value>,
) -> Result<bool, ApiError> {
    let namespace = match context.resource.is("", "namespaces") {
        true => new.or(old).cloned(),
        false => context
            .namespace()
            .and_then(|name| state.store.get(&namespace::collection(), name))
            .map(|found| Value::clone(found)),
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

fn render_review(
    context: &RequestContext<'_>,
    resource: &Resource,
    operation: Operation,
    uid: &str,
    new: Option<&Value>,
    old: Option<&Value>,
) -> Value {
    let named = new.or(old).map_or_else(|| context.name(), meta::name);
    let mut request = json!({
        "uid": uid,
        "kind": kind(context, resource), "resource": plural(resource),
        "requestKind": kind(context, context.resource), "requestResource": plural(context.resource),
        "name": named,
        "operation": operation.name(),
        "userInfo": call::user(&context.call.user),
        "object": new.map(|object| shown(context, resource, object)),
        "oldObject": old.map(|object| shown(context, resource, object)),
        "dryRun": context.call.is_dry_run(),
        "options": options(context, operation),
    });
    let namespace = if context.resource.is("", "namespaces") { Some(named) } else { context.namespace() };
    let optional = [
        ("namespace", namespace),
        ("subResource", context.call.subresource.as_deref()),
        ("requestSubResource", context.call.subresource.as_deref()),
    ];
    for (field, text) in optional.into_iter().filter_map(|(field, text)| Some((field, text?))) {
        request[field] = json!(text);
    }
    json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request })
}

/// An object as the webhook's rule has it.
fn shown(context: &RequestContext<'_>, resource: &Resource, object: &Value) -> Value {
    let served = conversion::to_served(resource, &std::sync::Arc::new(object.clone()));
    match (&resource.scale, context.call.subresource.as_deref()) {
        (Some(paths), Some("scale")) => scale::render_scale(paths, &served),
        _ => Value::clone(&served),
    }
}

fn kind(context: &RequestContext<'_>, resource: &Resource) -> Value {
    match context.call.subresource.as_deref() {
        Some("scale") => json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" }),
        _ => json!({ "group": resource.gvr.group, "version": resource.gvr.version, "kind": resource.kind }),
    }
}

fn plural(resource: &Resource) -> Value {
    json!({ "group": resource.gvr.group, "version": resource.gvr.version, "resource": resource.gvr.plural })
}

fn options(context: &RequestContext<'_>, operation: Operation) -> Value {
    let kind = match (operation, context.call.verb) {
        (Operation::Delete, _) => "DeleteOptions",
        (_, crate::api::request::Verb::Patch(_)) => "PatchOptions",
        (Operation::Create, _) => "CreateOptions",
        (Operation::Update, _) => "UpdateOptions",
    };
    let mut options = json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" });
    for field in ["fieldManager", "fieldValidation"] {
        if let Some(text) = context.call.param(field) {
            options[field] = json!(text);
        }
    }
    if context.call.is_dry_run() {
        options["dryRun"] = json!(["All"]);
    }
    options
}
